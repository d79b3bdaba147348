// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief How many ranks that have jobs would slow each other down as much as these do.
///
/// A rank that waits takes its share of a core, as far as that is not more than it would get if it had a job.
/// @param[in] cores what they have together
inline double as_many_jobs(double cores, std::uint32_t jobs, std::uint32_t waiting, double waiting_share) {
    const double all = static_cast<double>(jobs) + waiting;
    if (all * waiting_share >= cores)
        return all;
    return jobs * cores / (cores - waiting * waiting_share);
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
    }

    void start(Picoseconds now, std::uint32_t processor, Picoseconds work) {
        advance(now);
        jobs_.push_back({virtual_ + static_cast<double>(work), processor});
        std::push_heap(jobs_.begin(), jobs_.end(), later);
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
        jobs_.pop_back();
        return processor;
    }

    Picoseconds expected = machine::never; ///< time of the event that is under way for `next_end`

  private:
    struct Job {
        double end; ///< virtual
        std::uint32_t processor;
    };
    static bool later(const Job &a, const Job &b) {
        return a.end > b.end || (a.end == b.end && a.processor > b.processor);
    }
    double shares() const {
        const auto jobs = static_cast<std::uint32_t>(jobs_.size());
        const std::uint32_t waiting = unfinished_ > jobs ? unfinished_ - jobs : 0;
        return std::max(1.0, as_many_jobs(cores_, jobs, waiting, waiting_share_) / cores_);
    }
    void advance(Picoseconds now) {
        virtual_ += static_cast<double>(now - last_) / shares();
        last_ = now;
    }

    std::vector<Job> jobs_;
    double virtual_ = 0;
    Picoseconds last_ = 0;
    std::uint32_t unfinished_ = 0;
    std::uint32_t cores_;
    double waiting_share_;
};

} // namespace rankwise::replay
