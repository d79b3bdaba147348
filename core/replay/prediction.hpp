// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// How one rank spends its time; the parts add up to `finish` times the processors it uses.
struct RankTime {
    Picoseconds finish = 0;
    Picoseconds computation = 0;
    Picoseconds overhead = 0;     ///< processor time of its messages
    Picoseconds core_sharing = 0; ///< longer than alone, because other ranks use the same core
    Picoseconds memory = 0;       ///< longer, because others move bytes through the same memory or cache
    Picoseconds interrupted = 0;  ///< longer, because the core did the node's protocol work
    Picoseconds waiting = 0;
};

/// What a rank's time consists of, for those who show all of it.
struct RankPart {
    const char *name;
    Picoseconds RankTime::*time;
};
inline constexpr RankPart rank_parts[] = {
    {"computation", &RankTime::computation},   {"overhead", &RankTime::overhead},
    {"core_sharing", &RankTime::core_sharing}, {"memory", &RankTime::memory},
    {"interrupts", &RankTime::interrupted},    {"waiting", &RankTime::waiting}};

/// What passed one direction of one node's network interface, or a switch port.
struct InterfaceLoad {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    Picoseconds busy = 0;
    Picoseconds queued = 0; ///< sum over messages of what each waited for others

    InterfaceLoad &operator+=(const InterfaceLoad &other) {
        messages += other.messages;
        bytes += other.bytes;
        busy += other.busy;
        queued += other.queued;
        return *this;
    }
};

/// How one memory, cache or interrupt core was used.
struct SharedLoad {
    std::uint32_t resource = 0; ///< index into `Machine::bandwidths`; one beyond these: the interrupt cores
    std::uint32_t number = 0;   ///< which of them
    Picoseconds busy = 0;       ///< while any job used it
    Picoseconds saturated = 0;  ///< while jobs asked for more than it has; 0 of an interrupt core
};

/// What passed one channel.
struct ChannelLoad {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
};

/// The outcome of one replay.
struct Prediction {
    std::vector<RankTime> ranks;
    std::vector<InterfaceLoad> tx, rx; ///< of each node; empty without a machine
    std::vector<InterfaceLoad> ports;  ///< of each switch port; empty without switches
    std::vector<ChannelLoad> channels; ///< of each link class; empty without a machine
    std::vector<SharedLoad> shared;    ///< of memories, caches and interrupt cores that ranks use
    std::vector<Picoseconds> alone;    ///< of each operation: what a computation would have taken alone; only
                                       ///< with `Machine::computation_is_as_recorded`
    std::uint64_t ended_sends =
        0;                    ///< sends of a recording that did not wait for their receive, see `Standstills`
    std::uint32_t queues = 1; ///< of events that the nodes had, see `Lookahead`
    std::vector<std::uint32_t> partner; ///< with wildcards: for each send its receive and the other way round

    Picoseconds makespan() const {
        Picoseconds last = 0;
        for (const RankTime &rank : ranks)
            last = rank.finish > last ? rank.finish : last;
        return last;
    }
};

} // namespace rankwise::replay
