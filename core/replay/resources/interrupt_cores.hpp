// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/message_costs.hpp"
#include "replay/prediction.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief The cores that do the asynchronous part of host-processed protocols, message after message in order
/// of arrival (Narayanaswamy, Balaji, Feng: An Analysis of 10-Gigabit Ethernet Protocol Stacks in Multicore
/// Environments, 2007, section 3.1).
class InterruptCores {
  public:
    InterruptCores(const machine::Machine &machine, const machine::Placement &placement)
        : costs_(machine.interrupts), placement_(placement), cores_(placement.interrupt_processor.size()) {
        if (!costs_.exists)
            return;
        only_core_.assign(placement.node.size(), any);
        for (std::uint32_t core = 0; core < cores_.size(); ++core)
            for (std::uint32_t r = 0; r < placement.node.size(); ++r)
                if (placement.processor[r] == placement.interrupt_processor[core] &&
                    placement.capacity[placement.processor[r]] == 1)
                    only_core_[r] = core;
    }

    std::uint32_t of_node(std::uint32_t node) const noexcept { return placement_.interrupt_core[node]; }
    std::uint32_t processor(std::uint32_t core) const noexcept {
        return placement_.interrupt_processor[core];
    }
    std::size_t count() const noexcept { return cores_.size(); }

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

    /// @return a receiver's cost of a message, which is larger if its core is far from the one that has the
    /// data
    Picoseconds at_receiver(std::uint32_t rank, const MessageCost &cost, Picoseconds work) const {
        if (!cost.interrupts || placement_.far[rank] == 0)
            return work;
        return std::llround(static_cast<double>(work) * costs_.far_factor);
    }

    /// @param[in] since when its processor had no job any more
    /// @return how long a rank had nothing to do up to now; interrupts are not nothing
    Picoseconds idle_time(Picoseconds now, std::uint32_t rank, Picoseconds since) const {
        const std::uint32_t core = only_core_.empty() ? any : only_core_[rank];
        return now - since - (core == any ? 0 : busy(now, core) - busy(since, core));
    }

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
    std::vector<std::uint32_t> only_core_; ///< of each rank: the interrupt core that it computes on, alone
};

} // namespace rankwise::replay
