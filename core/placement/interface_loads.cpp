// SPDX-License-Identifier: BSD-3-Clause
#include "placement/interface_loads.hpp"

#include <algorithm>

namespace rankwise::placement {

InterfaceLoads::InterfaceLoads(const Hierarchy &hierarchy, const CommMatrix &matrix, const Loads &loads,
                               const Placement &placement)
    : hierarchy_(hierarchy), matrix_(matrix), loads_(loads), load_(loads.interface_share.size()) {
    double total = 0, interfaces = 0;
    for (Rank r = 0; r < matrix_.ranks; ++r) {
        const Slot here = placement.slot[static_cast<std::size_t>(r)];
        Load &load = load_[group_of(here)];
        const double share = loads_.interface_share[group_of(here)];
        for (auto e = matrix_.offsets[static_cast<std::size_t>(r)];
             e < matrix_.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
            const auto i = static_cast<std::size_t>(e);
            total += static_cast<double>(matrix_.nic_out[i]);
            if (hierarchy_.level(here, placement.slot[static_cast<std::size_t>(matrix_.neighbour[i])]) != 0)
                continue;
            load.out += share * static_cast<double>(matrix_.nic_out[i]);
            load.in += share * static_cast<double>(matrix_.nic_in[i]);
        }
    }
    for (const double share : loads_.interface_share)
        interfaces += 1 / share;
    norm_ = LoadNorm(interfaces > 0 ? total / interfaces : 0);
    for (std::size_t group = 0; group < load_.size(); ++group) {
        const Load all = load_[group];
        load_[group] = {};
        norm_.apply(change(group, all));
        load_[group] = all;
    }
}

double InterfaceLoads::busiest() const noexcept {
    double most = 0;
    for (const Load &load : load_)
        most = std::max({most, load.out, load.in});
    return most;
}

double InterfaceLoads::change(std::size_t group, const Load &more) const noexcept {
    const Load &now = load_[group];
    return (norm_.change(now.out, now.out + more.out) + norm_.change(now.in, now.in + more.in)) /
           loads_.interface_share[group];
}

void InterfaceLoads::add(Slot slot, double out, double in) noexcept {
    const std::size_t group = group_of(slot);
    const double share = loads_.interface_share[group];
    auto found = std::find_if(changes_.begin(), changes_.end(),
                              [&](const Change &each) { return each.group == group; });
    if (found == changes_.end())
        found = changes_.insert(found, {group, {}});
    found->more.out += share * out;
    found->more.in += share * in;
}

void InterfaceLoads::move(const Placement &placement, Rank rank, Slot from, Slot to, Rank partner) noexcept {
    double from_out = 0, from_in = 0, to_out = 0, to_in = 0;
    for (auto e = matrix_.offsets[static_cast<std::size_t>(rank)];
         e < matrix_.offsets[static_cast<std::size_t>(rank) + 1]; ++e) {
        const auto i = static_cast<std::size_t>(e);
        const auto out = static_cast<double>(matrix_.nic_out[i]), in = static_cast<double>(matrix_.nic_in[i]);
        const Rank neighbour = matrix_.neighbour[i];
        const Slot other = placement.slot[static_cast<std::size_t>(neighbour)];
        const bool moves_too = neighbour == partner;
        const bool crossed = hierarchy_.level(from, other) == 0;
        const bool crosses = moves_too ? crossed : hierarchy_.level(to, other) == 0;
        if (crossed) {
            from_out -= out;
            from_in -= in;
        }
        if (crosses) {
            to_out += out;
            to_in += in;
        }
        if (crossed != crosses)
            add(other, crosses ? in : -in, crosses ? out : -out);
    }
    add(from, from_out, from_in);
    add(to, to_out, to_in);
}

void InterfaceLoads::find_changes(const Placement &placement, Slot a, Slot b) noexcept {
    changes_.clear();
    const Rank rank_a = placement.rank[static_cast<std::size_t>(a)];
    const Rank rank_b = placement.rank[static_cast<std::size_t>(b)];
    if (rank_a != no_rank)
        move(placement, rank_a, a, b, rank_b);
    if (rank_b != no_rank)
        move(placement, rank_b, b, a, rank_a);
}

double InterfaceLoads::swap_change(const Placement &placement, Slot a, Slot b) noexcept {
    if (group_of(a) == group_of(b))
        return 0;
    find_changes(placement, a, b);
    double sum = 0;
    for (const Change &each : changes_)
        sum += change(each.group, each.more);
    return sum;
}

void InterfaceLoads::swap(const Placement &placement, Slot a, Slot b) noexcept {
    norm_.apply(swap_change(placement, a, b));
    if (group_of(a) == group_of(b))
        return;
    for (const Change &each : changes_) {
        load_[each.group].out += each.more.out;
        load_[each.group].in += each.more.in;
    }
}

} // namespace rankwise::placement
