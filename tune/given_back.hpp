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
    const auto counted = [](std::size_t count, const std::string &one) {
        return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
    };
    std::string back, text;
    if (given.threads > 0) {
        back = counted(given.threads, "thread");
    }
    if (given.interrupts > 0) {
        back.append(back.empty() ? "" : ", ").append(counted(given.interrupts, "interrupt"));
    }
    const auto say = [&](const std::string &what, const std::string &how_many) {
        text.append(text.empty() ? "" : "; ").append(what).append(": ").append(how_many);
    };
    if (!back.empty()) {
        say("given back", back);
    }
    if (given.changed_since > 0) {
        say("left as another process has set them since", std::to_string(given.changed_since));
    }
    if (given.failed > 0) {
        say("could not be given back", std::to_string(given.failed));
    }
    return text;
}

} // namespace rankwise::tune
