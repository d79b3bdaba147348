// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/prediction.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief The cores that do the asynchronous part of host-processed protocols, message after message in order
/// of arrival (Narayanaswamy, Balaji, Feng: An Analysis of 10-Gigabit Ethernet Protocol Stacks in Multicore
/// Environments, 2007, section 3.1).
class InterruptCores {
  public:
    InterruptCores(const machine::Machine &machine, const machine::Placement &placement)
        : costs_(machine.interrupts), placement_(placement), cores_(placement.interrupt_processor.size()) {}

    std::uint32_t of_node(std::uint32_t node) const noexcept { return placement_.interrupt_core[node]; }
    std::uint32_t processor(std::uint32_t core) const noexcept {
        return placement_.interrupt_processor[core];
    }
    bool is_busy(std::uint32_t core) const noexcept { return cores_[core].is_busy; }

    struct Job {
        Picoseconds begin, end;
        bool begins_work; ///< the core was idle
    };
    /// @brief The first byte of a message, or of a part of one, is there.
    Job serve(Picoseconds now, std::uint32_t number, std::uint64_t bytes, bool first_part = true) {
        Core &core = cores_[number];
        const Job job{std::max(now, core.free),
                      std::max(now, core.free) + (first_part ? costs_.per_message : 0) +
                          machine::time_of_bytes(static_cast<double>(bytes), costs_.per_byte),
                      !core.is_busy};
        if (!core.is_busy)
            core.periods.push_back({now, machine::never, core.busy(now)});
        core.is_busy = true;
        core.free = job.end;
        return job;
    }
    /// @return when a core is done with all that has come, if that is not now
    Picoseconds done(std::uint32_t core) const noexcept { return cores_[core].free; }
    void rest(Picoseconds now, std::uint32_t number) {
        Core &core = cores_[number];
        core.periods.back().end = now;
        core.is_busy = false;
    }

    /// @return how long a core has been busy up to a time, which is not after now
    Picoseconds busy(Picoseconds until, std::uint32_t number) const { return cores_[number].busy(until); }

  private:
    /// From `begin` to `end` the core was busy, and `before` in all earlier ones.
    struct Period {
        Picoseconds begin, end, before;
    };
    struct Core {
        Picoseconds free = 0;
        bool is_busy = false;
        std::vector<Period> periods; ///< one after the other

        Picoseconds busy(Picoseconds until) const {
            const auto after =
                std::upper_bound(periods.begin(), periods.end(), until,
                                 [](Picoseconds time, const Period &p) { return time < p.begin; });
            if (after == periods.begin())
                return 0;
            const Period &last = *std::prev(after);
            return last.before + std::min(until, last.end) - last.begin;
        }
    };
    machine::InterruptCore costs_;
    const machine::Placement &placement_;
    std::vector<Core> cores_;
};

} // namespace rankwise::replay
