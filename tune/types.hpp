// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mask.hpp"
#include "pu_set.hpp"

namespace rankwise::tune {

using Seconds = double; ///< moments are of CLOCK_MONOTONIC

/// @brief A processing unit and what it is part of. Numbers of parts are unique on the node; -1 where hwloc
/// knows of none.
struct Pu {
    std::int32_t os = 0;
    std::int32_t core = -1, l2 = -1, l3 = -1, numa = -1, package = -1;
};

/// @brief What a node is: from hwloc and, where there is one, a machine file.
struct Node {
    std::vector<Pu> pus; ///< in logical order
    /// What a message costs by what two ranks have in common: nothing (network), node, package, NUMA node,
    /// L3, L2, core.
    struct Link {
        double s_per_message = 0, s_per_byte = 0;
    };
    std::vector<Link> links;
    double memory_bytes_per_s = 0;      ///< of one NUMA node; 0: not known
    double core_memory_bytes_per_s = 0; ///< what one core can move; 0: not known
    std::vector<double>
        memory_slowdown; ///< measured: how many times longer each of 1, 2, ... such cores takes; may be empty
    std::string costs_from; ///< a machine file's name, or "assumed"
};

/// @brief Tells a process or thread from a later one with its number.
struct TaskId {
    std::int32_t number = 0;
    std::uint64_t start = 0; ///< field 22 of /proc/N/stat, clock ticks since boot
    auto operator<=>(const TaskId &) const = default;
};

/// @brief Counts of a thread since it was born.
struct ThreadSample {
    TaskId id;
    char state = '?';               ///< of /proc: R, S, D, T, ...
    Seconds run = 0;                ///< on a processor
    Seconds queued = 0;             ///< ready, and waiting for one
    std::int32_t pu = -1;           ///< it ran on last
    Mask mask;                      ///< that it has now
    std::uint64_t major_faults = 0; ///< pages that had to come from a disk
    std::uint64_t migrations =
        0; ///< seen on another unit than at the look before: it moved at least so often
    /// What of `run` counts for each unit that it was seen on: for the one of a look, what it ran since the
    /// look before, in the order in which it came to them. Empty if it was always seen on one, or nobody
    /// looks.
    std::vector<std::pair<std::int32_t, Seconds>> run_on{};
    int run_on_number = 0; ///< changes where it begins anew: the first unit has all that was run before
};

/// @brief What a rank's page says, in seconds; counts since MPI_Init.
struct Progress {
    std::int32_t rank = -1, ranks = 0;
    std::uint64_t calls = 0, iterations = 0;
    Seconds mpi = 0, wait = 0; ///< the call under way counts up to now
    Seconds iteration_end = 0; ///< moment, CLOCK_MONOTONIC; 0 before the first
    std::uint64_t anchor = 0;  ///< changes where counts of iterations become those of something else
    int known_by = 0;          ///< rw_tune_known_by
    bool ended = false;
    std::uint64_t messages = 0, bytes = 0;
    struct Peer {
        std::int32_t rank;
        std::uint64_t messages, bytes;
    };
    std::vector<Peer> peers;
};

/// @brief A process' own pages, of 4 KiB each.
struct NumaPages {
    std::vector<std::uint64_t> on;       ///< by NUMA node; empty: not looked at
    std::uint64_t bound = 0;             ///< of these, all that their memory policy binds to some nodes, ...
    std::vector<std::uint64_t> bound_to; ///< ... and by NUMA node those that it lets be there

    /// @return whether their memory policy lets most of them be on a NUMA node
    bool may_be_on(std::int32_t numa) const;
};

/// @brief A rank as it is at one moment.
struct RankSample {
    TaskId process;
    std::string group;                 ///< ranks that may change places: one job on one (emulated) node
    bool stopped = false;              ///< suspended (SIGSTOP, cgroup freezer); a light sample does not say
    std::vector<ThreadSample> threads; ///< main thread first; empty in a light sample
    std::optional<Progress> progress;  ///< none without a page
    /// Seconds inside MPI as samples of its instruction pointer say, where there is no page.
    std::optional<Seconds> sampled_mpi;
    NumaPages pages;
    bool has_dlb = false; ///< DLB (BSC) is part of it, and binds its threads
};

/// @brief Times of a processing unit since boot.
struct PuSample {
    std::int32_t os = 0;
    bool online = true;
    Seconds busy = 0;      ///< all but idle, iowait, steal
    Seconds interrupt = 0; ///< of this, irq and softirq
    Seconds stolen = 0;    ///< that the hypervisor gave to others while the unit had work
    std::uint64_t interrupts = 0;
    std::int32_t line =
        -1; ///< the device's interrupt that came here most since the last look; -1 if none came
    double line_share = 1;                    ///< of all such interrupts since then, its part
    std::int32_t line_numa = -1;              ///< NUMA node of its device; -1 if not known
    bool line_steered = false;                ///< packets of its interface are handed on to other units (RPS)
    bool steered_to = false;                  ///< packets are handed on to this one
    bool isolated = false;                    ///< kept from what others do (isolcpus, nohz_full)
    double clock = 1;                         ///< current clock by its highest, 1 where it cannot be read
    double capacity = 1;                      ///< at its highest clock, by the most capable unit of the node
    std::optional<double> clock_limit{};      ///< highest clock allowed by highest there is
    std::optional<std::uint64_t> throttled{}; ///< times that heat held its core or package back, since boot
};

/// @brief What holds the node's processing units back; none, and why, where the kernel does not say.
struct Limits {
    std::optional<double> clock; ///< lowest of the units' highest clocks allowed, by highest there is
    std::optional<std::uint64_t>
        throttled; ///< times that heat held back the unit that it did most, since the first look
    struct Power {
        std::string zone;
        double watts;
    };
    std::vector<Power> power;         ///< that packages may take over a long time
    std::vector<std::string> queues;  ///< who serves network interfaces: a sentence each
    std::vector<std::string> unknown; ///< what is not known, and why
};

/// @brief A node at one moment. A light sample has pages only.
struct Sample {
    Seconds at = 0;
    bool light = false;
    std::vector<RankSample> ranks;
    std::vector<PuSample> pus;
    Seconds clocks_at = 0; ///< when their clocks were read
    /// Moved since some moment, by NUMA node; empty without counters.
    std::vector<std::uint64_t> memory_bytes;
    /// They were counted at the memory itself, not at the caches of those who use it.
    bool counted_at_memory = false;
    std::vector<std::string>
        movers; ///< others that move processes or interrupts of all jobs: "irqbalance", "AutoNUMA", ...
    bool movers_hidden = false; ///< there may be more: other users' processes cannot be seen
    std::string no_journal;     ///< why nothing may stay changed, and be changed; empty: it may
};

/// @brief Put all threads of a rank on other processing units.
struct RankMove {
    TaskId process;
    PuSet from, to; ///< of equal size: the n-th of `from` becomes the n-th of `to` in each thread's mask;
                    ///< else each thread gets all of `to`
};

/// @brief One change of a mapping: ranks whose cores are exchanged, or one that moves to cores nobody has; or
/// pages; or an interrupt.
struct Change {
    std::vector<RankMove> moves;
    struct Pages {
        TaskId process;
        std::int32_t from_numa; ///< that has most of them
        std::int32_t to_numa;
    };
    std::vector<Pages> pages;
    struct Interrupt {
        std::int32_t number;
        PuSet from, to; ///< none: what it had before the first change
    };
    std::vector<Interrupt> interrupts;
    bool empty() const { return moves.empty() && pages.empty() && interrupts.empty(); }
};

/// @brief A line of the log: what was seen, estimated, done, measured, and what became of it.
struct Event {
    enum What {
        started,
        rank_found,
        rank_gone,
        seen,
        proposed,
        refused,
        applied,
        measured,
        kept,
        undone,
        stood_back, ///< another mover was found, or no journal can be written
        resumed,    ///< none is left
        restored,
        failed,
        stopped
    };
    Seconds at = 0;
    What what = seen;
    std::string group;
    std::string why;                                          ///< a sentence
    Change change;                                            ///< of proposed, applied, kept, undone
    std::vector<std::int32_t> ranks;                          ///< world ranks that it concerns
    std::optional<double> estimated_gain;                     ///< part of the time an iteration takes
    std::optional<double> measured_gain, gain_low, gain_high; ///< with its interval at 95 %
    std::optional<double> rate;                               ///< iterations (or MPI calls) a second
    std::string rate_of;                                      ///< iterations, calls
};

inline constexpr std::size_t kinds_of_events = Event::stopped + 1;
inline constexpr std::array<std::string_view, kinds_of_events> event_names{
    "started", "rank_found", "rank_gone",  "seen",    "proposed", "refused", "applied", "measured",
    "kept",    "undone",     "stood_back", "resumed", "restored", "failed",  "stopped"};
static_assert(!event_names.back().empty());

} // namespace rankwise::tune
