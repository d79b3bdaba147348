// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "large_array.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/message_costs.hpp"
#include "replay/resources/interrupt_cores.hpp"
#include "replay/resources/message_paths.hpp"
#include "replay/resources/shared_rates.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// The plain model: nothing is shared but interfaces and cores.
struct NoMoreResources {
    static constexpr bool any = false;
    NoMoreResources(const Schedule &, const machine::Machine &, const machine::Placement &, std::uint32_t) {}
};

/// @brief State of all Resources beyond interfaces and cores during one replay.
///
/// The Engine asks it where jobs start and end, and on a message's way: where it leaves its rank, enters and
/// leaves the network, and is at its receiver.
struct MoreResources {
    static constexpr bool any = true;

    /// @param[in] lanes processors of each rank
    MoreResources(const Schedule &schedule, const machine::Machine &machine,
                  const machine::Placement &placement, std::uint32_t lanes)
        : rates(schedule, machine, placement), interrupts(machine, placement),
          paths(schedule, machine, placement, std::size_t{schedule.ranks()} * lanes),
          group_of(std::size_t{schedule.ranks()} * lanes, replay::any), bytes_left(group_of.size()),
          longer(schedule.ranks()), far(placement.far), far_factor(machine.interrupts.far_factor),
          interrupted_by(schedule.ranks(), replay::any) {
        if (machine.computation_is_as_recorded)
            alone.resize(schedule.operations.size());
        if (!machine.interrupts.exists)
            return;
        for (std::uint32_t core = 0; core < placement.interrupt_processor.size(); ++core)
            for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
                if (placement.processor[r] == placement.interrupt_processor[core] &&
                    placement.capacity[placement.processor[r]] == 1)
                    interrupted_by[r] = core;
    }

    /// @return a cost of a receiver, which is larger if its core is far from the one that has the data
    Picoseconds at_receiver(std::uint32_t rank, const MessageCost &cost, Picoseconds work) const {
        if (!cost.interrupts || far[rank] == 0)
            return work;
        return std::llround(static_cast<double>(work) * far_factor);
    }

    /// @param[in] since when its processor had no job any more
    /// @return how long a rank had nothing to do up to now; interrupts are not nothing
    Picoseconds idle(Picoseconds now, std::uint32_t rank, Picoseconds since) const {
        const std::uint32_t core = interrupted_by[rank];
        const Picoseconds interrupted =
            core == replay::any ? 0 : interrupts.busy(now, core) - interrupts.busy(since, core);
        return now - since - interrupted;
    }

    struct Longer {
        Picoseconds shared = 0, memory = 0, interrupted = 0;
    };

    SharedRates rates;
    InterruptCores interrupts;
    MessagePaths paths;
    std::vector<std::uint32_t> group_of; ///< of the job on each processor; `any`: nothing slows it
    std::vector<Picoseconds> bytes_left; ///< of each processor: copying that comes after the job
    std::vector<Longer> longer;          ///< of each rank: time beside its work
    std::vector<Picoseconds> alone;      ///< see `Prediction::alone`
    const std::vector<std::uint8_t> &far;
    double far_factor;
    std::vector<std::uint32_t> interrupted_by; ///< of each rank: the interrupt core that is its only core
};

} // namespace rankwise::replay
