// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "replay/resources/spare_time.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Who uses a shared core: `ranks` have not finished, and `jobs` of them have something to do.
struct CoreUsers {
    std::uint32_t ranks = 0, jobs = 0;

    /// @return among how many the core is divided
    std::uint32_t sharing(bool spin) const { return spin ? ranks : jobs; }
};

/// @param[in] cores what they have together
/// @param[in] spin  ranks that wait use the core like those that have jobs
/// @return how fast the ranks that wait could work together beside those that have jobs without slowing them
/// down
inline double spare_rate(double cores, const CoreUsers &users, bool spin) {
    if (users.jobs >= cores || users.ranks == users.jobs)
        return 0;
    const CoreUsers with_one_more{users.ranks, users.jobs + 1};
    const double at_once = std::min<double>(users.ranks - users.jobs, cores - users.jobs);
    return at_once * std::min(1.0, cores / with_one_more.sharing(spin));
}

/// @brief A core (or several) that more ranks use: processor sharing, all jobs advance at the same part of
/// full speed.
///
/// Kept in virtual time, the work that one job would have got since the beginning: a job that starts at
/// virtual time v with work w ends at v + w, whatever comes and goes (Kleinrock, Queueing Systems II,
/// processor-sharing).
class SharedCore {
  public:
    /// @param[in] cores how many jobs run at full speed at once
    /// @param[in] spin  ranks that wait use the core like those that have jobs
    SharedCore(std::uint32_t cores, bool spin) : cores_(cores), spin_(spin) {}

    /// @param[in] unfinished ranks: those of them that have no job wait
    void set_unfinished(Picoseconds now, std::uint32_t unfinished) {
        advance(now);
        unfinished_ = unfinished;
        set_spare(now);
    }

    void start(Picoseconds now, std::uint32_t processor, Picoseconds work) {
        advance(now);
        jobs_.push_back({virtual_ + static_cast<double>(work), processor});
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
    };
    static bool later(const Job &a, const Job &b) {
        return a.end > b.end || (a.end == b.end && a.processor > b.processor);
    }
    CoreUsers users() const {
        const auto jobs = static_cast<std::uint32_t>(jobs_.size());
        return {std::max(unfinished_, jobs), jobs};
    }
    double shares() const { return std::max(1.0, static_cast<double>(users().sharing(spin_)) / cores_); }
    void set_spare(Picoseconds now) { spare.set_rate(now, spare_rate(cores_, users(), spin_)); }
    void advance(Picoseconds now) {
        virtual_ += static_cast<double>(now - last_) / shares();
        last_ = now;
    }

    std::vector<Job> jobs_;
    double virtual_ = 0;
    Picoseconds last_ = 0;
    std::uint32_t unfinished_ = 0;
    std::uint32_t cores_;
    bool spin_;
};

} // namespace rankwise::replay
