// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rankwise::replay {

/// What a trace holds that its schedule does not. `rankwise.schedule.omitted` has the sentence of each kind.
struct Omission {
    enum class Kind : std::uint8_t {
        cancelled,        ///< a request other than a receive, replayed as if it was not
        freed,            ///< a request before its end: nobody waits for it
        lost,             ///< events that were not recorded
        partly_traced,    ///< a rank
        timeless,         ///< `call` of `rank` takes no time
        truncated,        ///< a trace: `problem`
        unknown_partners, ///< of the collective `call`
        unknown_peer,     ///< of a message
        unsynchronised,   ///< `call` of `rank`: ranks do not wait for each other
    };
    static constexpr std::array<std::string_view, 9> names{
        "cancelled",        "freed",        "lost",          "partly_traced", "timeless", "truncated",
        "unknown_partners", "unknown_peer", "unsynchronised"};
    Kind kind;
    std::uint32_t rank = 0;
    std::string call = {};
    std::string problem = {};

    const char *name() const { return names[static_cast<std::size_t>(kind)].data(); }
    auto operator<=>(const Omission &) const = default;
};

/// How often each; nothing is left out silently.
using Omissions = std::map<Omission, std::uint64_t>;

} // namespace rankwise::replay
