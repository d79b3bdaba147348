// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "replay/matching.hpp"
#include "replay/schedule.hpp"

/// A schedule with its messages matched, which all replays of it share.
struct MatchedSchedule {
    explicit MatchedSchedule(rankwise::replay::Schedule &&from)
        : schedule(std::move(from)), matching(rankwise::replay::match(schedule)) {}
    rankwise::replay::Schedule schedule;
    rankwise::replay::Matching matching;
};
