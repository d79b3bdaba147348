// SPDX-License-Identifier: BSD-3-Clause
#include "decide/memories.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwise::tune {

namespace {

constexpr int most_rounds = 100;
constexpr double settled = 1e-6;

/// Of each NUMA node, how many times longer computations take as far as they wait for it.
std::vector<double> stretches(const Memories &memories, const std::vector<std::int32_t> &homes) {
    std::vector<double> cores(memories.others.size()), waiting(cores.size()), found;
    for (std::size_t rank = 0; rank < homes.size(); ++rank)
        if (homes[rank] >= 0) {
            const auto at = static_cast<std::size_t>(homes[rank]);
            cores[at] += memories.at_work[rank];
            waiting[at] += memories.at_work[rank] * memories.waits[rank];
        }
    for (std::size_t at = 0; at < cores.size(); ++at)
        found.push_back(memories.of_node.stretches(memories.others[at], cores[at], waiting[at]).computing);
    return found;
}

/// Of each rank, the NUMA node whose count has what it moved.
std::vector<std::int32_t> counted_on(const Observation &observation, const std::vector<std::int32_t> &runs_on,
                                     const std::vector<std::int32_t> &homes) {
    std::vector<std::int32_t> on = runs_on;
    for (std::size_t rank = 0; observation.counted_at_memory && rank < homes.size(); ++rank)
        if (homes[rank] >= 0)
            on[rank] = homes[rank];
    return on;
}

/// Of each rank, bytes a second that were counted and are taken to be its own; what is nobody's is others'.
/// @param[in] on whose count has what a rank moved
std::vector<double> shares(Memories &memories, const Observation &observation, const Node &node,
                           const std::vector<std::int32_t> &on) {
    std::vector<double> by_others(memories.others.size()), used;
    for (const Pu &pu : node.pus)
        if (const auto load = observation.pus.find(pu.os); pu.numa >= 0 && load != observation.pus.end())
            by_others[static_cast<std::size_t>(pu.numa)] += load->second.others;
    used = by_others;
    for (std::size_t rank = 0; rank < on.size(); ++rank)
        if (on[rank] >= 0)
            used[static_cast<std::size_t>(on[rank])] += memories.at_work[rank];
    std::vector<double> bytes(on.size());
    for (std::size_t at = 0; at < observation.memory_bytes_per_s.size(); ++at) {
        const double counted = observation.memory_bytes_per_s[at];
        memories.others[at] = used[at] > 0 ? counted * by_others[at] / used[at] : counted;
        for (std::size_t rank = 0; rank < on.size(); ++rank)
            if (on[rank] == static_cast<std::int32_t>(at) && used[at] > 0)
                bytes[rank] = counted * memories.at_work[rank] / used[at];
    }
    return bytes;
}

} // namespace

Memories memories_of(const Observation &observation, const Node &node,
                     const std::vector<std::int32_t> &runs_on, const std::vector<std::int32_t> &homes,
                     std::vector<double> at_work) {
    Memories memories;
    const double per_core = node.core_memory_bytes_per_s;
    if (node.memory_bytes_per_s <= 0 || per_core <= 0 || observation.memory_bytes_per_s.empty())
        return memories;
    memories.of_node.capacity = node.memory_bytes_per_s;
    memories.of_node.per_core = per_core;
    memories.of_node.slowdown = node.memory_slowdown;
    memories.at_work = std::move(at_work);
    memories.waits.resize(homes.size());
    auto last = static_cast<std::int32_t>(observation.memory_bytes_per_s.size()) - 1;
    for (const Pu &pu : node.pus)
        last = std::max(last, pu.numa);
    for (const std::int32_t home : homes)
        last = std::max(last, home);
    memories.others.resize(static_cast<std::size_t>(last) + 1);
    const std::vector<std::int32_t> on = counted_on(observation, runs_on, homes);
    const std::vector<double> bytes = shares(memories, observation, node, on);
    for (std::size_t rank = 0; rank < homes.size(); ++rank)
        if (homes[rank] < 0 && on[rank] >= 0)
            memories.others[static_cast<std::size_t>(on[rank])] += bytes[rank];
    // The more a rank waits, the more it was held up while it moved these bytes, so that it would move more
    // alone. From nothing upwards this ends at the least part that fits.
    memories.now.assign(homes.size(), 1);
    for (int round = 0; round < most_rounds; ++round) {
        double change = 0;
        for (std::size_t rank = 0; rank < homes.size(); ++rank) {
            const double most = memories.at_work[rank] * per_core;
            if (homes[rank] < 0 || most <= 0)
                continue;
            const double waits = std::min(bytes[rank] / most * memories.now[rank], 1.0);
            change = std::max(change, std::abs(waits - std::exchange(memories.waits[rank], waits)));
        }
        memories.now = slowed_by_memory(memories, homes);
        if (change < settled)
            break;
    }
    return memories;
}

std::vector<double> slowed_by_memory(const Memories &memories, const std::vector<std::int32_t> &homes) {
    const std::vector<double> longer = stretches(memories, homes);
    std::vector<double> slowed(homes.size(), 1);
    for (std::size_t rank = 0; rank < homes.size(); ++rank)
        if (homes[rank] >= 0)
            slowed[rank] += memories.waits[rank] * (longer[static_cast<std::size_t>(homes[rank])] - 1);
    return slowed;
}

} // namespace rankwise::tune
