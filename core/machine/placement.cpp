// SPDX-License-Identifier: BSD-3-Clause
#include "machine/placement.hpp"

#include <string>

#include "error.hpp"
#include "machine/machine.hpp"

namespace rankwise::machine {

namespace {

template <class Values> bool all_below(const Values &values, std::size_t limit) {
    return std::all_of(values.begin(), values.end(), [&](std::size_t value) { return value < limit; });
}

bool all_below_or_none(const std::vector<std::uint32_t> &values, std::size_t limit) {
    return std::all_of(values.begin(), values.end(),
                       [&](std::uint32_t value) { return value == Placement::none || value < limit; });
}

} // namespace

void Placement::check(const Machine &machine, std::size_t ranks) const {
    const std::size_t links = machine.link_classes.size();
    if (node.size() != ranks || place.size() != ranks || processor.size() != ranks ||
        place_link.size() != std::size_t{places} * places || network_link >= links || self_link >= links ||
        !all_below(place_link, links) || !all_below(place, places) ||
        !all_below(processor, capacity.size()) ||
        (!machine.network.empty() && !all_below(node, machine.network.nodes())))
        throw Error("the placement does not fit the schedule of `" + std::to_string(ranks) + "` ranks");
    bool own = interface.size() == (machine.interfaces > 1 || !interface.empty() ? ranks : 0) &&
               (detour_link == 0 ||
                (is_detour.size() == ranks && all_below(is_detour, 2) && detour_link + 2u <= links));
    for (std::size_t rank = 0; own && rank < interface.size(); ++rank)
        own = interface[rank] / machine.interfaces == node[rank];
    if (!own)
        throw Error("the ranks' interfaces do not fit the placement");
    bool fits = domain.size() == machine.bandwidths.size() &&
                (domain.empty() || memory_bound.size() == ranks) &&
                std::all_of(domain.begin(), domain.end(), [&](const auto &of_rank) {
                    return of_rank.size() == ranks && all_below_or_none(of_rank, ranks);
                });
    if (machine.interrupts.exists)
        fits = fits && interrupt_core.size() >= nodes() && far.size() == ranks &&
               all_below(interrupt_core, interrupt_processor.size()) &&
               all_below_or_none(interrupt_processor, capacity.size());
    if (!fits)
        throw Error("what ranks share does not fit the placement");
}

Placement Placement::in_order(std::span<const std::uint32_t> position) const {
    if (position.size() != node.size() || !all_below(position, node.size()))
        throw Error("the order is not one of the placement's `" + std::to_string(node.size()) + "` ranks");
    const auto moved = [&](auto values) {
        auto out = values;
        for (std::size_t rank = 0; rank < values.size(); ++rank)
            out[position[rank]] = values[rank];
        return out;
    };
    Placement out = *this;
    out.node = moved(node);
    out.place = moved(place);
    out.processor = moved(processor);
    out.memory_bound = moved(memory_bound);
    out.far = moved(far);
    out.is_detour = moved(is_detour);
    out.interface = moved(interface);
    for (auto &of_rank : out.domain)
        of_rank = moved(of_rank);
    return out;
}

} // namespace rankwise::machine
