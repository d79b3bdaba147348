// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "replay/schedule.hpp"

namespace rankwise::replay {

/// How one rank spends its time; the parts add up to `finish` times the processors it uses.
struct RankTime {
    Picoseconds finish = 0;
    Picoseconds computation = 0;
    Picoseconds overhead = 0;     ///< processor time of its messages
    Picoseconds core_sharing = 0; ///< longer than alone, because other ranks use the same core
    Picoseconds waiting = 0;
};

/// What a rank's time consists of, for those who show all of it.
struct RankPart {
    const char *name;
    Picoseconds RankTime::*time;
};
inline constexpr RankPart rank_parts[] = {{"computation", &RankTime::computation},
                                          {"overhead", &RankTime::overhead},
                                          {"core_sharing", &RankTime::core_sharing},
                                          {"waiting", &RankTime::waiting}};

/// What passed one direction of one node's network interface, or a switch port.
struct InterfaceLoad {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    Picoseconds busy = 0;
    Picoseconds queued = 0; ///< sum over messages of what each waited for others
};

/// What passed one channel.
struct ChannelLoad {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
};

/// The outcome of one replay.
struct Prediction {
    std::vector<RankTime> ranks;
    std::vector<InterfaceLoad> tx, rx;  ///< of each node; empty without a machine
    std::vector<InterfaceLoad> ports;   ///< of each switch port; empty without switches
    std::vector<ChannelLoad> channels;  ///< of each link class; empty without a machine
    std::vector<std::uint32_t> partner; ///< with wildcards: for each send its receive and the other way round

    Picoseconds makespan() const {
        Picoseconds last = 0;
        for (const RankTime &rank : ranks)
            last = rank.finish > last ? rank.finish : last;
        return last;
    }
};

} // namespace rankwise::replay
