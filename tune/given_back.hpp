// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

namespace rankwise::tune {

/// @brief What became of masks and interrupts that were to be given back.
struct GivenBack {
    std::size_t threads = 0, interrupts = 0; ///< that have what they had again
    std::size_t changed_since = 0;           ///< by somebody else: left as they are
    std::size_t failed = 0;
};

/// @return it as a sentence; empty if there was nothing to give back
inline std::string given_back_text(const GivenBack &given) {
    std::string text;
    const auto say = [&](const std::string &part) { text.append(text.empty() ? "" : "; ").append(part); };
    if (given.threads + given.interrupts > 0) {
        say(std::to_string(given.threads) + " threads and " + std::to_string(given.interrupts) +
            " interrupts were given back what they had");
    }
    if (given.changed_since > 0) {
        say(std::to_string(given.changed_since) +
            " threads or interrupts stay as another process has set them since");
    }
    if (given.failed > 0) {
        say(std::to_string(given.failed) + " threads or interrupts could not be given back what they had");
    }
    return text;
}

} // namespace rankwise::tune
