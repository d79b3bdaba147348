// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief A thread or rank that uses as much of a processor is busy.
inline constexpr double busy_share = 0.1;

/// @brief What a rank did between two samples. Shares are of the time between them.
struct RankLoad {
    TaskId process;
    std::int32_t rank = -1;                              ///< world rank; -1 without a page
    PuSet mask;                                          ///< as `units_of` says
    std::int32_t pu = -1;                                ///< that it ran on most, as far as was seen
    std::vector<std::pair<std::int32_t, double>> ran_on; ///< of its main thread: parts of what it ran
    double outside_mpi = 1; ///< of its main thread; without a page as far as it ran
    double computes = 1;    ///< of this, what it has use for a processor: the rest it sleeps
    double waits = 0;       ///< in MPI calls that wait for others
    double queued = 0;      ///< ready, without a processor
    double runs = 0;        ///< of all threads: processors it used
    double ready = 0;       ///< threads that ran or waited for a processor, on average
    int busy_threads = 0;   ///< that used more than a tenth of one
    bool pinned = false;    ///< some of its threads are bound to a part of these
    bool rebound = false;   ///< one of them has another mask than at the begin
    bool stays = false;     ///< it is busy, but nothing tells how it gets on: it is not to be moved
    bool mpi_known = false; ///< `outside_mpi` and `waits` are told by its page or samples
    std::int32_t home = -1; ///< NUMA node with most of its pages; -1 if not looked at
    NumaPages pages;
    std::vector<Progress::Peer> sent; ///< between the samples

    void set_pages(NumaPages own);
    /// Threads that have use for a unit of their own.
    int threads() const;
};

/// @brief What a processing unit did between two samples.
struct PuLoad {
    double interrupts = 0; ///< share of its time in interrupts and softirqs
    double others = 0;     ///< used by neither the group's ranks nor interrupts
    double stolen = 0;     ///< by the hypervisor, for other machines
    double clock = 1;      ///< by its highest; where it is hardly used, the mean of those that are
    double capacity = 1;   ///< at its highest clock, by the most capable unit of the node
    bool online = true;
    std::int32_t line = -1;      ///< the device's interrupt that comes here most
    double line_share = 1;       ///< its part of devices' interrupts here
    std::int32_t line_numa = -1; ///< NUMA node of its device; -1 if not known
    bool line_steered = false;   ///< packets of its interface are handed on to other units
    bool steered_to = false;     ///< packets are handed on to this one
    bool isolated = false;       ///< kept from what others do (isolcpus, nohz_full)

    /// What ranks get of it, by the node's most capable core at its highest clock that nobody else uses.
    double capability() const;
};

/// @brief The ranks of one group and the node between two full samples.
struct Observation {
    std::string group;
    Seconds length = 0;
    std::vector<RankLoad> ranks; ///< in order of their world rank, then process
    std::map<std::int32_t, PuLoad> pus;
    std::vector<double> memory_bytes_per_s; ///< by NUMA node; empty without counters
    bool counted_at_memory = false; ///< of that memory, by whomever; else of the node's caches, of any memory
    std::string unusable;           ///< why nothing follows from it: a rank was born, is suspended, ...

    /// Whether a unit did not have its highest clock.
    bool has_low_clock() const;
};

/// @brief Units that a rank was given: those of its main thread. If its runtime has bound that, too, as
/// OpenMP does with OMP_PROC_BIND, those of all threads together that are bound.
/// @param[in] threads main thread first, at least one
PuSet units_of(const std::vector<ThreadSample> &threads);

/// @brief What happened to each group between two full samples.
///
/// A unit's time that is neither the group's ranks' nor interrupts' is others'; a thread's time counts for
/// the units that looks found it on. Where no rank wanted the unit, others have at most half of it for what a
/// rank would get: the kernel shares it then, or moves them away.
std::vector<Observation> observe(const Sample &before, const Sample &after);

/// @brief How much each rank computes for the others' one: relative computation, which does not depend on
/// where ranks are. For telling phases of a program apart.
/// @param[in] capability of each rank's cores, in the order of ranks
std::vector<double> signature(const std::vector<double> &outside_mpi, const std::vector<double> &capability);

/// @return the difference of the rank that differs most; 1 if they are of different numbers of ranks
double difference(const std::vector<double> &a, const std::vector<double> &b);

} // namespace rankwise::tune
