// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "types.hpp"

namespace rankwise::tune::simulated {

/// @brief A processing unit as it is, which a tuner only sees through times.
struct Core {
    const Pu *pu = nullptr;
    std::vector<std::int32_t> beside;                         ///< the other units of its core
    double interrupts = 0, others = 0, stolen = 0, clock = 1; ///< shares of its time; by its highest
    double capacity = 1;     ///< at its highest clock, by the node's most capable
    double used = 0;         ///< share of the last chunk
    bool steered_to = false; ///< packets that others take in are handed on to it (RPS)
    bool isolated = false;   ///< kept from what others do
    Seconds busy = 0, interrupt = 0, stole = 0;
    std::vector<std::pair<std::size_t, std::size_t>> ranks; ///< that run on it: job, rank
};

/// @brief An interrupt of a device.
struct Line {
    std::int32_t unit, original;
    double takes;         ///< share of a unit's time
    bool fixed = false;   ///< the kernel does not let it be moved
    bool steered = false; ///< packets of its interface are handed on to other units (RPS)
    std::int32_t numa = -1;
};

struct Rank {
    TaskId process;
    PuSet mask;             ///< in force: what was asked for, cut by the cpuset and what is offline
    PuSet asked;            ///< for last, by whoever it was: the kernel keeps it (Linux 6.2)
    PuSet original;         ///< asked for by somebody other than the tuner last
    bool is_tuners = false; ///< the tuner asked last
    PuSet was;              ///< in force before its last change
    PuSet seen;             ///< in force when a full sample was taken last
    bool is_stuck = false;  ///< its mask cannot be given back, ...
    bool is_fixed = false;  ///< ... nor can the tuner set another one
    bool is_bound = false;  ///< to one unit
    std::int32_t pu = -1;
    std::vector<std::int32_t> pus;                        ///< of all its threads; `pu` is the first
    std::vector<std::pair<std::int32_t, Seconds>> run_on; ///< as in a sample of its main thread
    Seconds looked_at = 0;                                ///< what it had run at the last look
    bool alive = true;
    bool left = false;   ///< it has ended, and the others go on without it
    double computes = 1; ///< share of the time, of the last chunk
    Seconds run = 0, queued = 0, mpi = 0, wait = 0;
    std::int32_t home = -1;      ///< NUMA node that has its pages
    std::int32_t seen_home = -1; ///< as it was when somebody looked last
    std::int32_t bound_to = -1;  ///< NUMA node that its memory policy keeps them on; -1: it may be any
    /// What it does instead of the job's iterations: the others do without it.
    enum { takes_part, sleeps, waits, works } does = takes_part;
    bool page = true;
    double position = 0; ///< iterations that it took part in
    Seconds iteration_end = 0;
};

/// @brief A bulk-synchronous program: each iteration every rank computes, exchanges messages with its
/// partners, and waits for the slowest.
struct Job {
    std::string name;
    std::vector<Rank> ranks;
    std::vector<double> computation; ///< seconds of an iteration, by rank, on a whole core
    double bytes = 0;                ///< of an iteration, to each partner
    /// Bytes a second that each rank's computation would exchange with memory alone; none: nothing.
    std::vector<double> moves;
    std::string pattern = "none"; ///< none, ring, pairs, halves
    double noise = 0.005;         ///< standard deviation of an iteration's slowly changing factor
    double bytes_of_rank = 4e8;   ///< of its pages
    double away = 0;              ///< by how much computation is slower whose pages are elsewhere
    /// What a rank waits for its partner's computation where the two cores are unequal (S-lammps).
    double out_of_phase = 0;
    bool page = true, iterations = true, spins = true;
    bool sampled = false; ///< its time in MPI is told by samples of its instruction pointer
    int threads = 1;      ///< of a rank, that compute as long
    double wanders = 0;   ///< times a second that the kernel lets a rank change places that is not bound
    /// Which threads of a rank its runtime has bound to a unit each: all but the first, or all.
    enum { nothing, others, all } pinned = nothing;

    bool running = false, suspended = false;
    double position = 0; ///< iterations done, with the part of the one under way
    Seconds stalled = 0, alive_for = 0;
    double factor = 0; ///< of noise, at the moment
    std::mt19937_64 random;

    std::vector<std::int32_t> partners(std::int32_t rank) const;
};

} // namespace rankwise::tune::simulated
