// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/lookahead.hpp"
#include "replay/prediction.hpp"
#include "replay/resources/contacts.hpp"
#include "replay/resources/interfaces.hpp"
#include "replay/resources/interrupt_cores.hpp"
#include "replay/resources/message_paths.hpp"
#include "replay/resources/shared_rates.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// How much longer than alone a processor's jobs took.
struct Longer {
    Picoseconds shared = 0, memory = 0, interrupted = 0;
};

/// A processor's job, as far as others can slow it.
struct alignas(64) RunningJob {
    Picoseconds started = 0, work = 0;
    std::uint32_t group = any;  ///< of SharedRates; `any`: nothing slows it
    Picoseconds bytes_left = 0; ///< of a receive: copying that comes after the job
    Longer longer;              ///< up to now
};

/// @brief What ranks share, beyond the interfaces of their nodes.
///
/// A resource is one file of this folder. It knows no events, no engine and no other resource: the engine
/// asks it at the moments below, `now` being the time, and makes events of the times that it answers with.
/// All that a resource keeps is of one engine; engines that work side by side each have their own and use
/// different parts of them. A moment that a machine's resource has no part in costs one comparison.
///
/// - The first job for a message begins: `Contacts::begin` says how much longer it takes.
/// - A job begins or ends: `SharedRates::start`, `finish`. A rank has ended all it does: `finished`. When all
///   of one time is done, `settle`; then `next` is the next job that ends.
/// - A first byte leaves, or reaches a node: `Passage::pass` of `Interfaces` says when it begins to pass.
/// - A part of a message reaches a switch port: `MessagePaths::pass_port` says when it is at the next stage;
///   it is taken from a buffer, or given to one: `MessagePaths::connection`.
/// - A message reaches its node's host: `InterruptCores::serve`, `done`, `rest`; `SharedRates::interrupt`.
/// - Bytes are copied that came meanwhile: `IdleCapacity::take` and `InterruptCores::idle_time` say what of
///   them was done before.
/// - Operations get other numbers: `renumber`. At the end, `loads` says how it all was used.
struct Resources {
    Resources(const Schedule &schedule, const machine::Machine &machine, const machine::Placement &placement,
              const Lookahead &ahead, std::uint32_t lanes)
        : rates(schedule, machine, placement, ahead, std::size_t{schedule.ranks()} * lanes),
          interrupts(machine, placement),
          paths(schedule, machine, placement, std::size_t{schedule.ranks()} * lanes),
          running(std::size_t{schedule.ranks()} * lanes), unfinished(rates.empty() ? 0 : schedule.ranks()) {
        if (machine.computation_is_as_recorded)
            alone.resize(schedule.operations.size());
        for (std::uint32_t r = 0; r < unfinished.size(); ++r)
            unfinished[r] = schedule.first[r + 1] - schedule.first[r];
    }

    /// @return how each memory and cache was used, then each interrupt core
    std::vector<SharedLoad> loads(Picoseconds now) const {
        std::vector<SharedLoad> out = rates.loads(now);
        for (std::uint32_t core = 0; core < interrupts.count(); ++core)
            out.push_back({rates.bandwidths(), core, interrupts.busy(now, core), 0});
        return out;
    }

    SharedRates rates;
    InterruptCores interrupts;
    MessagePaths paths;
    std::vector<RunningJob> running;       ///< of each processor
    std::vector<std::uint32_t> unfinished; ///< operations of each rank; empty if no rate depends on it
    std::vector<Picoseconds> alone;        ///< see `Prediction::alone`
};

/// Of the plain machine.
struct NoResources {
    NoResources(const Schedule &, const machine::Machine &, const machine::Placement &, const Lookahead &,
                std::uint32_t) {}
};

} // namespace rankwise::replay
