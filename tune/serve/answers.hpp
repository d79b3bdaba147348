// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "serve/status.hpp"

namespace rankwise::tune {

/// @brief JSON, one line: `Status` of python/rankwise/tune/document.py.
std::string status_json(const Status &status, Seconds now);

/// @brief JSON, one line: `Stopped` of python/rankwise/tune/document.py.
std::string stopped_json(std::size_t left, const std::string &said);

/// @brief Prometheus' text format, version 0.0.4.
std::string metrics_text(const Status &status, Seconds now);

} // namespace rankwise::tune
