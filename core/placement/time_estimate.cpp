// SPDX-License-Identifier: BSD-3-Clause
#include "placement/time_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace rankwise::placement {

TimeEstimate::TimeEstimate(const Hierarchy &hierarchy, const CommMatrix &matrix, const Loads &loads,
                           Placement placement)
    : hierarchy_(hierarchy), matrix_(matrix), loads_(loads), placement_(std::move(placement)) {
    const auto nodes =
        hierarchy_.node.empty() ? 0 : *std::max_element(hierarchy_.node.begin(), hierarchy_.node.end()) + 1;
    out_.assign(static_cast<std::size_t>(nodes), 0);
    in_.assign(static_cast<std::size_t>(nodes), 0);
    const auto width = static_cast<std::size_t>(hierarchy_.levels) + 1;
    double total = 0;
    for (Rank r = 0; r < matrix_.ranks; ++r) {
        const Slot here = placement_.slot[static_cast<std::size_t>(r)];
        for (auto e = matrix_.offsets[static_cast<std::size_t>(r)];
             e < matrix_.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
            const auto i = static_cast<std::size_t>(e);
            const Slot there = placement_.slot[static_cast<std::size_t>(matrix_.neighbour[i])];
            const auto level = hierarchy_.level(here, there);
            cost_ += 0.5 * slower(here, there) *
                     static_cast<double>(matrix_.cost[i * width + static_cast<std::size_t>(level)]);
            total += static_cast<double>(matrix_.nic_out[i]);
            if (level == 0) {
                out_[static_cast<std::size_t>(hierarchy_.node[static_cast<std::size_t>(here)])] +=
                    static_cast<double>(matrix_.nic_out[i]);
                in_[static_cast<std::size_t>(hierarchy_.node[static_cast<std::size_t>(here)])] +=
                    static_cast<double>(matrix_.nic_in[i]);
            }
        }
    }
    interfaces_ = LoadNorm(nodes > 0 ? total / nodes : 0);
    if (!loads_.interface.empty())
        several_.emplace(hierarchy_, matrix_, loads_, placement_);
    interrupts_ = LoadNorm(nodes > 0 ? total * loads_.interrupts / nodes : 0);
    for (std::size_t node = 0; node < out_.size(); ++node) {
        interfaces_.apply(interfaces_.change(0, out_[node]) + interfaces_.change(0, in_[node]));
        if (!loads_.interrupt_core.empty())
            if (const Slot busy_core = loads_.interrupt_core[node]; busy_core >= 0)
                interrupts_.apply(interrupts_.change(
                    0, interrupts(static_cast<std::int32_t>(node),
                                  placement_.rank[static_cast<std::size_t>(busy_core)], 0)));
    }
    if (!loads_.capability.empty())
        processors_.emplace(loads_, placement_);
    if (loads_.memory.empty() || loads_.demand.empty())
        return;
    memory_.assign(
        static_cast<std::size_t>(*std::max_element(loads_.memory.begin(), loads_.memory.end())) + 1, 0);
    double demanded = 0;
    for (Rank r = 0; r < matrix_.ranks; ++r)
        if (const auto memory =
                loads_.memory[static_cast<std::size_t>(placement_.slot[static_cast<std::size_t>(r)])];
            memory >= 0) {
            memory_[static_cast<std::size_t>(memory)] += demand(r);
            demanded += demand(r);
        }
    memories_ = LoadNorm(memory_.empty() ? 0 : demanded / static_cast<double>(memory_.size()));
    for (const double load : memory_)
        memories_.apply(memories_.change(0, load));
}

double TimeEstimate::demand(Rank rank) const noexcept {
    return rank == no_rank ? 0 : loads_.demand[static_cast<std::size_t>(rank)];
}

double TimeEstimate::slower(Slot a, Slot b) const noexcept {
    return loads_.capability.empty() ? 1
                                     : 1 / std::min(loads_.capability[static_cast<std::size_t>(a)],
                                                    loads_.capability[static_cast<std::size_t>(b)]);
}

double TimeEstimate::interrupts(std::int32_t node, Rank rank, double more) const noexcept {
    const auto n = static_cast<std::size_t>(node);
    return rank == no_rank
               ? 0
               : loads_.interrupts * (out_[n] + in_[n] + more) * loads_.busy[static_cast<std::size_t>(rank)];
}

double TimeEstimate::value() const noexcept {
    return cost_ / std::max<Rank>(matrix_.ranks, 1) + (several_ ? several_->value() : interfaces_.value()) +
           memories_.value() + interrupts_.value() + (processors_ ? processors_->value() : 0);
}

double TimeEstimate::busiest_interface() const noexcept {
    if (several_)
        return several_->busiest();
    double most = 0;
    for (std::size_t node = 0; node < out_.size(); ++node)
        most = std::max({most, out_[node], in_[node]});
    return most;
}

void TimeEstimate::move(Rank rank, Slot from, Slot to, Rank partner, bool from_is_a,
                        Change &change) const noexcept {
    const auto width = static_cast<std::size_t>(hierarchy_.levels) + 1;
    for (auto e = matrix_.offsets[static_cast<std::size_t>(rank)];
         e < matrix_.offsets[static_cast<std::size_t>(rank) + 1]; ++e) {
        const auto i = static_cast<std::size_t>(e);
        const auto out = static_cast<double>(matrix_.nic_out[i]);
        const auto in = static_cast<double>(matrix_.nic_in[i]);
        double &from_out = from_is_a ? change.out_a : change.out_b,
               &from_in = from_is_a ? change.in_a : change.in_b;
        double &to_out = from_is_a ? change.out_b : change.out_a,
               &to_in = from_is_a ? change.in_b : change.in_a;
        if (matrix_.neighbour[i] == partner) {
            // The pair's distance stays, but what it sends each way now leaves the other node.
            if (hierarchy_.level(from, to) == 0) {
                from_out -= out;
                from_in -= in;
                to_out += out;
                to_in += in;
            }
            continue;
        }
        const Slot other = placement_.slot[static_cast<std::size_t>(matrix_.neighbour[i])];
        const auto before = hierarchy_.level(from, other);
        const auto after = hierarchy_.level(to, other);
        const float *cost = &matrix_.cost[i * width];
        change.cost += static_cast<double>(cost[after]) * slower(to, other) -
                       static_cast<double>(cost[before]) * slower(from, other);
        if (before == 0) {
            from_out -= out;
            from_in -= in;
            if (after != 0) { // the neighbour is on the node the rank moves to
                to_out -= in;
                to_in -= out;
            }
        }
        if (after == 0) {
            to_out += out;
            to_in += in;
            if (before != 0) { // the neighbour stays behind
                from_out += in;
                from_in += out;
            }
        }
    }
}

TimeEstimate::Change TimeEstimate::change(Slot a, Slot b) const noexcept {
    Change result;
    const Rank rank_a = placement_.rank[static_cast<std::size_t>(a)];
    const Rank rank_b = placement_.rank[static_cast<std::size_t>(b)];
    if (rank_a != no_rank)
        move(rank_a, a, b, rank_b, true, result);
    if (rank_b != no_rank)
        move(rank_b, b, a, rank_a, false, result);
    return result;
}

TimeEstimate::Powers TimeEstimate::powers(Slot a, Slot b, const Change &change) const noexcept {
    const auto node_a = hierarchy_.node[static_cast<std::size_t>(a)],
               node_b = hierarchy_.node[static_cast<std::size_t>(b)];
    const auto x = static_cast<std::size_t>(node_a), y = static_cast<std::size_t>(node_b);
    const Rank rank_a = placement_.rank[static_cast<std::size_t>(a)];
    const Rank rank_b = placement_.rank[static_cast<std::size_t>(b)];
    Powers result;
    if (several_)
        result.interfaces = several_->swap_change(placement_, a, b);
    else if (x != y)
        result.interfaces = interfaces_.change(out_[x], out_[x] + change.out_a) +
                            interfaces_.change(in_[x], in_[x] + change.in_a) +
                            interfaces_.change(out_[y], out_[y] + change.out_b) +
                            interfaces_.change(in_[y], in_[y] + change.in_b);
    if (!memory_.empty())
        if (const auto m = loads_.memory[static_cast<std::size_t>(a)],
            n = loads_.memory[static_cast<std::size_t>(b)];
            m != n) {
            const double more = demand(rank_b) - demand(rank_a); // in the memory of slot a
            if (m >= 0)
                result.memories += memories_.change(memory_[static_cast<std::size_t>(m)],
                                                    memory_[static_cast<std::size_t>(m)] + more);
            if (n >= 0)
                result.memories += memories_.change(memory_[static_cast<std::size_t>(n)],
                                                    memory_[static_cast<std::size_t>(n)] - more);
        }
    if (processors_)
        result.processors = processors_->swap_change(placement_, a, b);
    if (loads_.interrupt_core.empty())
        return result;
    const auto at = [&](std::int32_t node, double more) {
        const Slot core = loads_.interrupt_core[static_cast<std::size_t>(node)];
        if (core < 0)
            return;
        const Rank before = placement_.rank[static_cast<std::size_t>(core)];
        const Rank after = core == a ? rank_b : core == b ? rank_a : before;
        result.interrupts += interrupts_.change(interrupts(node, before, 0), interrupts(node, after, more));
    };
    at(node_a, x == y ? 0 : change.out_a + change.in_a);
    if (x != y)
        at(node_b, change.out_b + change.in_b);
    return result;
}

double TimeEstimate::swap_change(Slot a, Slot b) const noexcept {
    const Change result = change(a, b);
    const Powers power = powers(a, b, result);
    double sum = result.cost / std::max<Rank>(matrix_.ranks, 1);
    if (power.interfaces != 0)
        sum += several_ ? several_->value(power.interfaces) - several_->value()
                        : interfaces_.value(power.interfaces) - interfaces_.value();
    if (power.memories != 0)
        sum += memories_.value(power.memories) - memories_.value();
    if (power.interrupts != 0)
        sum += interrupts_.value(power.interrupts) - interrupts_.value();
    if (power.processors != 0)
        sum += processors_->value(power.processors) - processors_->value();
    return sum;
}

void TimeEstimate::swap(Slot a, Slot b) noexcept {
    const Change result = change(a, b);
    const Powers power = powers(a, b, result);
    const auto x = static_cast<std::size_t>(hierarchy_.node[static_cast<std::size_t>(a)]);
    const auto y = static_cast<std::size_t>(hierarchy_.node[static_cast<std::size_t>(b)]);
    if (several_)
        several_->swap(placement_, a, b);
    else
        interfaces_.apply(power.interfaces);
    if (processors_)
        processors_->swap(placement_, a, b);
    memories_.apply(power.memories);
    interrupts_.apply(power.interrupts);
    cost_ += result.cost;
    if (x != y) {
        out_[x] += result.out_a;
        in_[x] += result.in_a;
        out_[y] += result.out_b;
        in_[y] += result.in_b;
    }
    Rank &rank_a = placement_.rank[static_cast<std::size_t>(a)],
         &rank_b = placement_.rank[static_cast<std::size_t>(b)];
    if (!memory_.empty()) {
        const double more = demand(rank_b) - demand(rank_a);
        if (const auto m = loads_.memory[static_cast<std::size_t>(a)]; m >= 0)
            memory_[static_cast<std::size_t>(m)] += more;
        if (const auto n = loads_.memory[static_cast<std::size_t>(b)]; n >= 0)
            memory_[static_cast<std::size_t>(n)] -= more;
    }
    std::swap(rank_a, rank_b);
    if (rank_a != no_rank)
        placement_.slot[static_cast<std::size_t>(rank_a)] = a;
    if (rank_b != no_rank)
        placement_.slot[static_cast<std::size_t>(rank_b)] = b;
}

} // namespace rankwise::placement
