// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "replay/schedule.hpp"
#include "replay/spare_time.hpp"

namespace rankwise::replay {

/// @brief Who uses a shared core: `ranks` have not finished, `jobs` of them have something to do, and
/// `computing` of these compute; all others are inside MPI.
struct CoreUsers {
    std::uint32_t ranks = 0, jobs = 0, computing = 0;
};

/// @brief How many jobs at equal parts would slow each other down as much as these do.
///
/// A rank inside MPI looks for messages, whether it has one to deal with or not, and takes that share of a core. What
/// these leave to the jobs is at least the jobs' equal parts, or half of the cores if that is less.
/// @param[in] cores what they have together
inline double as_many_jobs(double cores, const CoreUsers &users, double waiting_share) {
    if (users.ranks <= cores)
        return users.jobs;
    if (users.ranks * waiting_share >= cores)
        return users.ranks;
    const double looking = users.ranks - users.computing;
    const double least = std::min(users.jobs * cores / users.ranks, cores / 2);
    return users.jobs * cores / std::max(cores - looking * waiting_share, least);
}

/// @return how fast the ranks that wait could work together beside those that have jobs without slowing them down
inline double spare_rate(double cores, const CoreUsers &users, double waiting_share) {
    if (users.jobs >= cores || users.ranks == users.jobs)
        return 0;
    const CoreUsers with_it{users.ranks, users.jobs + 1, users.computing};
    const double at_once = std::min<double>(users.ranks - users.jobs, cores - users.jobs);
    return at_once * std::min(1.0, cores / as_many_jobs(cores, with_it, waiting_share));
}

/// @brief A core (or several) that more ranks use: processor sharing, all jobs advance at the same part of
/// full speed.
///
/// Kept in virtual time, the work that one job would have got since the beginning: a job that starts at
/// virtual time v with work w ends at v + w, whatever comes and goes (Kleinrock, Queueing Systems II,
/// processor-sharing).
class SharedCore {
  public:
    /// @param[in] cores         how many jobs run at full speed at once
    /// @param[in] waiting_share what a waiting rank takes of a core that it has to itself
    SharedCore(std::uint32_t cores, double waiting_share) : cores_(cores), waiting_share_(waiting_share) {}

    /// @param[in] unfinished ranks: those of them that have no job wait
    void set_unfinished(Picoseconds now, std::uint32_t unfinished) {
        advance(now);
        unfinished_ = unfinished;
        set_spare(now);
    }

    void start(Picoseconds now, std::uint32_t processor, Picoseconds work, bool computes) {
        advance(now);
        jobs_.push_back({virtual_ + static_cast<double>(work), processor, computes});
        computing_ += computes;
        std::push_heap(jobs_.begin(), jobs_.end(), later);
        set_spare(now);
    }

    /// @return when the next job ends if nothing else happens, `never` without jobs
    Picoseconds next_end(Picoseconds now) {
        advance(now);
        if (jobs_.empty())
            return machine::never;
        return now + std::max<Picoseconds>(0, std::llround((jobs_.front().end - virtual_) * shares()));
    }

    /// @return the processor whose job ends next, which is taken off
    std::uint32_t finish(Picoseconds now) {
        advance(now);
        std::pop_heap(jobs_.begin(), jobs_.end(), later);
        const std::uint32_t processor = jobs_.back().processor;
        computing_ -= jobs_.back().computes;
        jobs_.pop_back();
        set_spare(now);
        return processor;
    }

    Picoseconds expected = machine::never; ///< time of the event that is under way for `next_end`
    SpareTime spare;

  private:
    struct Job {
        double end; ///< virtual
        std::uint32_t processor;
        bool computes;
    };
    static bool later(const Job &a, const Job &b) {
        return a.end > b.end || (a.end == b.end && a.processor > b.processor);
    }
    CoreUsers users() const {
        const auto jobs = static_cast<std::uint32_t>(jobs_.size());
        return {std::max(unfinished_, jobs), jobs, computing_};
    }
    double shares() const { return std::max(1.0, as_many_jobs(cores_, users(), waiting_share_) / cores_); }
    void set_spare(Picoseconds now) { spare.set_rate(now, spare_rate(cores_, users(), waiting_share_)); }
    void advance(Picoseconds now) {
        virtual_ += static_cast<double>(now - last_) / shares();
        last_ = now;
    }

    std::vector<Job> jobs_;
    double virtual_ = 0;
    Picoseconds last_ = 0;
    std::uint32_t unfinished_ = 0, computing_ = 0;
    std::uint32_t cores_;
    double waiting_share_;
};

} // namespace rankwise::replay
