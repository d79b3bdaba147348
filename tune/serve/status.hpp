// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief What a tuner is, for whoever asks.
struct Identity {
    bool daemon = false, act = false;
    std::string costs_from;
};

/// @brief What a tuner says of itself: numbers built from its events.
struct Status {
    Identity identity;
    Seconds began = 0, began_unix = 0; ///< of the first event; seconds since 1970 as well
    Seconds last_change = 0;           ///< when the last one was carried out or taken back; 0: none yet
    std::uint64_t moved_ranks = 0, moved_interrupts = 0, moved_pages = 0; ///< pages: of a rank each
    std::int32_t guard = -1;                                              ///< process of the guard
    struct Group {
        std::int64_t ranks = 0;
        double rate = 0; ///< as last measured, by `rate_of`
        std::string rate_of;
        std::uint64_t major_faults = 0, migrations = 0; ///< of its ranks' threads that live
    };
    std::map<std::string, Group> groups; ///< that have ranks
    std::array<std::uint64_t, kinds_of_events> counts{};
    Limits limits;
    std::string stands_back; ///< why, while it does
    struct Line {
        Event::What what;
        std::string json;
    };
    std::deque<Line> recent; ///< events of the last decisions

    /// @brief Count an event.
    /// @param[in] line the event as JSON; empty: not kept
    void add(const Event &event, std::string line);

    /// @brief Sum up what threads did.
    void see(const std::vector<RankSample> &ranks);

    std::int64_t ranks() const;

  private:
    void drop_first_decision();
};

/// @brief What the tuner has taken of its node.
struct OwnCost {
    Seconds cpu = 0;             ///< with its guards
    std::uint64_t rss_bytes = 0; ///< without them: they share most of it
};
OwnCost own_cost(std::int32_t guard);

} // namespace rankwise::tune
