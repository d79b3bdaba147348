// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "types.hpp"

namespace rankwise::tune {

/// @brief Read a list as Linux writes it: `0-3,8`.
/// @return none if it is not one, or names a unit that there cannot be; an empty text is an empty set
std::optional<PuSet> parse_pu_list(std::string_view text);

/// @return the set as Linux writes it
std::string format_pu_list(const PuSet &set);

} // namespace rankwise::tune
