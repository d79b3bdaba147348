// SPDX-License-Identifier: BSD-3-Clause
#include "events/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace rankwise::tune {

std::string json_quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string line = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            line += '\\';
            line += letter;
        } else if (byte < 0x20 || byte >= 0x7f) { // names of processes may be of any bytes
            line += "\\u00";
            line += digits[byte >> 4U];
            line += digits[byte & 15U];
        } else {
            line += letter;
        }
    }
    return line + '"';
}

std::string json_number(double value) {
    if (!std::isfinite(value)) {
        return "null";
    }
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

} // namespace rankwise::tune
