// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "types.hpp"

namespace rankwise::tune {

/// @brief An event as a line of JSON (schema `rankwise.tune.event/1`), without a newline. Processing units
/// are lists as Linux writes them, what is not known is null.
/// @param[in] clock_offset_s seconds since 1970 minus CLOCK_MONOTONIC
std::string event_line(const Event &event, Seconds clock_offset_s);

/// @brief An event as a line of a log for people, without a newline.
std::string event_text(const Event &event);

} // namespace rankwise::tune
