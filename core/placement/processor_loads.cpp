// SPDX-License-Identifier: BSD-3-Clause
#include "placement/processor_loads.hpp"

#include <algorithm>

namespace rankwise::placement {

ProcessorLoads::ProcessorLoads(const Loads &loads, const Placement &placement) : loads_(loads) {
    double total = 0;
    for (const double each : loads_.computation)
        total += each;
    const auto ranks = static_cast<double>(loads_.computation.size());
    norm_ = LoadNorm(ranks > 0 ? total / ranks : 0);
    if (!loads_.core.empty()) {
        const auto cores =
            static_cast<std::size_t>(*std::max_element(loads_.core.begin(), loads_.core.end())) + 1;
        core_.assign(cores, 0);
        ranks_on_core_.assign(cores, 0);
    }
    for (std::size_t rank = 0; rank < loads_.computation.size(); ++rank) {
        const Slot slot = placement.slot[rank];
        norm_.apply(norm_.change(0, load(static_cast<Rank>(rank), slot)));
        if (const std::int32_t core = core_of(slot); core >= 0) {
            norm_.apply(core_change(core, loads_.computation[rank], 1));
            core_[static_cast<std::size_t>(core)] += loads_.computation[rank];
            ++ranks_on_core_[static_cast<std::size_t>(core)];
        }
    }
    for (std::size_t rank = 0; rank < loads_.in_step.size(); ++rank)
        for (const Rank other : loads_.in_step[rank])
            if (static_cast<Rank>(rank) < other)
                norm_.apply(out_of_phase(static_cast<Rank>(rank), placement.slot[rank], other,
                                         placement.slot[static_cast<std::size_t>(other)]));
}

double ProcessorLoads::computation(Rank rank) const noexcept {
    return rank == no_rank ? 0 : loads_.computation[static_cast<std::size_t>(rank)];
}

double ProcessorLoads::load(Rank rank, Slot slot) const noexcept {
    if (rank == no_rank)
        return 0;
    double by = 1 / loads_.capability[static_cast<std::size_t>(slot)];
    if (!loads_.home.empty() && !loads_.memory.empty()) {
        const std::int32_t home = loads_.home[static_cast<std::size_t>(rank)];
        if (home >= 0 && home != loads_.memory[static_cast<std::size_t>(slot)])
            by += loads_.away;
    }
    return computation(rank) * by;
}

double ProcessorLoads::out_of_phase(Rank x, Slot of_x, Rank y, Slot of_y) const noexcept {
    const double here = loads_.capability[static_cast<std::size_t>(of_x)],
                 there = loads_.capability[static_cast<std::size_t>(of_y)];
    const double unequal = 1 - std::min(here, there) / std::max(here, there);
    const double slower = std::max(load(x, of_x), load(y, of_y));
    return norm_.change(slower, slower + unequal * std::min(computation(x), computation(y)));
}

double ProcessorLoads::phase_change(const Placement &placement, Rank rank, Slot from, Slot to,
                                    Rank partner) const noexcept {
    double change = 0;
    if (rank == no_rank || loads_.in_step.empty())
        return change;
    for (const Rank other : loads_.in_step[static_cast<std::size_t>(rank)]) {
        const Slot there = placement.slot[static_cast<std::size_t>(other)];
        if (other != partner)
            change += out_of_phase(rank, to, other, there) - out_of_phase(rank, from, other, there);
        else if (rank < other) // once for the two that change places
            change += out_of_phase(rank, to, other, from) - out_of_phase(rank, from, other, to);
    }
    return change;
}

std::int32_t ProcessorLoads::core_of(Slot slot) const noexcept {
    return core_.empty() ? -1 : loads_.core[static_cast<std::size_t>(slot)];
}

double ProcessorLoads::core_change(std::int32_t core, double more, int ranks) const noexcept {
    const double before = core_[static_cast<std::size_t>(core)];
    const int there = ranks_on_core_[static_cast<std::size_t>(core)];
    // A core with one rank has that rank's own load only.
    const auto counted = [&](double computation, int count) {
        return count > 1 ? computation / loads_.core_yield : 0.0;
    };
    return norm_.change(counted(before, there), counted(before + more, there + ranks));
}

double ProcessorLoads::swap_change(const Placement &placement, Slot a, Slot b) const noexcept {
    const Rank x = placement.rank[static_cast<std::size_t>(a)],
               y = placement.rank[static_cast<std::size_t>(b)];
    double change = norm_.change(load(x, a), load(x, b)) + norm_.change(load(y, b), load(y, a));
    change += phase_change(placement, x, a, b, y) + phase_change(placement, y, b, a, x);
    if (const std::int32_t m = core_of(a), n = core_of(b); m != n) {
        const double more = computation(y) - computation(x);
        const int ranks = (y != no_rank) - (x != no_rank);
        if (m >= 0)
            change += core_change(m, more, ranks);
        if (n >= 0)
            change += core_change(n, -more, -ranks);
    }
    return change;
}

void ProcessorLoads::swap(const Placement &placement, Slot a, Slot b) noexcept {
    norm_.apply(swap_change(placement, a, b));
    const Rank x = placement.rank[static_cast<std::size_t>(a)],
               y = placement.rank[static_cast<std::size_t>(b)];
    if (const std::int32_t m = core_of(a), n = core_of(b); m != n) {
        const double more = computation(y) - computation(x);
        const int ranks = (y != no_rank) - (x != no_rank);
        if (m >= 0) {
            core_[static_cast<std::size_t>(m)] += more;
            ranks_on_core_[static_cast<std::size_t>(m)] += ranks;
        }
        if (n >= 0) {
            core_[static_cast<std::size_t>(n)] -= more;
            ranks_on_core_[static_cast<std::size_t>(n)] -= ranks;
        }
    }
}

} // namespace rankwise::placement
