// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace rankwise::tune {

/// @return the text between quotes, in ASCII: each byte that is none stands for the character of its number
std::string json_quoted(std::string_view text);

/// @return the shortest text that is read as this number again; `null` if it is not finite
std::string json_number(double value);

} // namespace rankwise::tune
