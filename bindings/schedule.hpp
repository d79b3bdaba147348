// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "placement/estimates/many_placements.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

/// A schedule with its messages matched, which all replays of it share.
struct MatchedSchedule {
    explicit MatchedSchedule(rankwise::replay::Schedule &&from)
        : schedule(std::move(from)), matching(rankwise::replay::match(schedule)) {}
    explicit MatchedSchedule(std::pair<rankwise::replay::Schedule, rankwise::replay::Matching> &&both)
        : schedule(std::move(both.first)), matching(std::move(both.second)) {}
    rankwise::replay::Schedule schedule;
    rankwise::replay::Matching matching;
    mutable rankwise::replay::Estimates estimates; ///< of this schedule
};
