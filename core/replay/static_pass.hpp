// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "replay/matching.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief What a replay did one after the other, without the times: the order in which a static pass goes
/// through a schedule.
///
/// Entries are an operation's number times 4, plus the part.
struct ServiceOrder {
    enum Part : std::uint32_t { job = 0, data = 1, post = 2 };
    static constexpr unsigned part_bits = 2;
    std::vector<std::uint32_t> entries;
};

/// @brief Makespans of many placements at once, in one pass without a queue.
///
/// Links, interfaces and processors serve in the order of `order`, which some placement's replay had, and not
/// in the order of arrival under each placement; ranks on one core slow each other down for all of their
/// time; answers to a rendezvous do not wait for a receiver that computes; memories, caches and interrupt
/// cores hold up nobody. So this is a screen, which says
/// which placements a replay should look at. For the placement that `order` is from it errs by these
/// simplifications only.
///
/// @return of each layout
std::vector<Picoseconds> static_pass(const Schedule &schedule, const LargeArray<Step> &steps,
                                     const ServiceOrder &order, const machine::Machine &machine,
                                     std::span<const machine::Layout> layouts);

} // namespace rankwise::replay
