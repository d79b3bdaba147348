// SPDX-License-Identifier: BSD-3-Clause
#include "placement/surrogate.hpp"

#include <algorithm>
#include <cmath>

namespace rankwise::placement {
namespace {

double power(double load) {
    const double square = load * load;
    const double fourth = square * square;
    return fourth * fourth;
}

} // namespace

Surrogate::Surrogate(const Slots &slots, const Traffic &traffic, Assignment assignment)
    : slots_(slots), traffic_(traffic), assignment_(std::move(assignment)) {
    const auto nodes = slots_.node.empty() ? 0 : *std::max_element(slots_.node.begin(), slots_.node.end()) + 1;
    out_.assign(static_cast<std::size_t>(nodes), 0);
    in_.assign(static_cast<std::size_t>(nodes), 0);
    const auto width = static_cast<std::size_t>(slots_.levels) + 1;
    double total = 0;
    for (Rank r = 0; r < traffic_.ranks; ++r) {
        const Slot here = assignment_.slot[static_cast<std::size_t>(r)];
        for (auto e = traffic_.offsets[static_cast<std::size_t>(r)]; e < traffic_.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
            const auto i = static_cast<std::size_t>(e);
            const Slot there = assignment_.slot[static_cast<std::size_t>(traffic_.neighbour[i])];
            const auto level = slots_.level(here, there);
            cost_ += 0.5 * static_cast<double>(traffic_.cost[i * width + static_cast<std::size_t>(level)]);
            total += static_cast<double>(traffic_.nic_out[i]);
            if (level == 0) {
                out_[static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(here)])] += static_cast<double>(traffic_.nic_out[i]);
                in_[static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(here)])] += static_cast<double>(traffic_.nic_in[i]);
            }
        }
    }
    if (total > 0)
        scale_ = static_cast<double>(nodes) / total;
    for (std::size_t node = 0; node < out_.size(); ++node)
        power_sum_ += power(out_[node] * scale_) + power(in_[node] * scale_);
}

double Surrogate::interface_term(double power_sum) const noexcept {
    return std::pow(std::max(power_sum, 0.0), 1.0 / 8.0) / scale_;
}

double Surrogate::value() const noexcept {
    return cost_ / std::max<Rank>(traffic_.ranks, 1) + interface_term(power_sum_);
}

double Surrogate::busiest_interface() const noexcept {
    double most = 0;
    for (std::size_t node = 0; node < out_.size(); ++node)
        most = std::max({most, out_[node], in_[node]});
    return most;
}

void Surrogate::move(Rank rank, Slot from, Slot to, Rank partner, bool from_is_a, Change &change) const noexcept {
    const auto width = static_cast<std::size_t>(slots_.levels) + 1;
    for (auto e = traffic_.offsets[static_cast<std::size_t>(rank)]; e < traffic_.offsets[static_cast<std::size_t>(rank) + 1]; ++e) {
        const auto i = static_cast<std::size_t>(e);
        const auto out = static_cast<double>(traffic_.nic_out[i]);
        const auto in = static_cast<double>(traffic_.nic_in[i]);
        double &from_out = from_is_a ? change.out_a : change.out_b, &from_in = from_is_a ? change.in_a : change.in_b;
        double &to_out = from_is_a ? change.out_b : change.out_a, &to_in = from_is_a ? change.in_b : change.in_a;
        if (traffic_.neighbour[i] == partner) {
            // The pair's distance stays, but what it sends each way now leaves the other node.
            if (slots_.level(from, to) == 0) {
                from_out -= out;
                from_in -= in;
                to_out += out;
                to_in += in;
            }
            continue;
        }
        const Slot other = assignment_.slot[static_cast<std::size_t>(traffic_.neighbour[i])];
        const auto before = slots_.level(from, other);
        const auto after = slots_.level(to, other);
        const float *cost = &traffic_.cost[i * width];
        change.cost += static_cast<double>(cost[after]) - static_cast<double>(cost[before]);
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

Surrogate::Change Surrogate::change(Slot a, Slot b) const noexcept {
    Change result;
    const Rank rank_a = assignment_.rank[static_cast<std::size_t>(a)];
    const Rank rank_b = assignment_.rank[static_cast<std::size_t>(b)];
    if (rank_a != no_rank)
        move(rank_a, a, b, rank_b, true, result);
    if (rank_b != no_rank)
        move(rank_b, b, a, rank_a, false, result);
    return result;
}

double Surrogate::power_sum_change(Slot a, Slot b, const Change &change) const noexcept {
    const auto x = static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(a)]);
    const auto y = static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(b)]);
    if (x == y)
        return 0;
    return power((out_[x] + change.out_a) * scale_) - power(out_[x] * scale_) +
           power((in_[x] + change.in_a) * scale_) - power(in_[x] * scale_) +
           power((out_[y] + change.out_b) * scale_) - power(out_[y] * scale_) +
           power((in_[y] + change.in_b) * scale_) - power(in_[y] * scale_);
}

double Surrogate::swap_change(Slot a, Slot b) const noexcept {
    const Change result = change(a, b);
    double interfaces = 0;
    if (const double delta = power_sum_change(a, b, result); delta != 0)
        interfaces = interface_term(power_sum_ + delta) - interface_term(power_sum_);
    return result.cost / std::max<Rank>(traffic_.ranks, 1) + interfaces;
}

void Surrogate::swap(Slot a, Slot b) noexcept {
    const Change result = change(a, b);
    const auto x = static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(a)]);
    const auto y = static_cast<std::size_t>(slots_.node[static_cast<std::size_t>(b)]);
    power_sum_ += power_sum_change(a, b, result);
    cost_ += result.cost;
    if (x != y) {
        out_[x] += result.out_a;
        in_[x] += result.in_a;
        out_[y] += result.out_b;
        in_[y] += result.in_b;
    }
    Rank &rank_a = assignment_.rank[static_cast<std::size_t>(a)], &rank_b = assignment_.rank[static_cast<std::size_t>(b)];
    std::swap(rank_a, rank_b);
    if (rank_a != no_rank)
        assignment_.slot[static_cast<std::size_t>(rank_a)] = a;
    if (rank_b != no_rank)
        assignment_.slot[static_cast<std::size_t>(rank_b)] = b;
}

} // namespace rankwise::placement
