// SPDX-License-Identifier: BSD-3-Clause
#include "resources.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "error.hpp"
#include "network.hpp"

namespace nb = nanobind;
using rankwise::machine::Placement;

namespace {

template <class T> std::vector<T> numbers(const nb::handle &from) {
    const auto array = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(from);
    return {array.data(), array.data() + array.size()};
}

std::vector<std::uint8_t> by_link(const nb::handle &from, std::size_t links) {
    const auto flags = nb::cast<std::vector<bool>>(from);
    if (flags.size() != links)
        throw rankwise::Error("a resource does not say of each link class whether its messages use it");
    return {flags.begin(), flags.end()};
}

} // namespace

void add_resources(rankwise::machine::Machine &machine, const nb::dict &from) {
    const std::size_t links = machine.link_classes.size();
    if (from.contains("bandwidths"))
        for (const nb::handle item : nb::cast<nb::list>(from["bandwidths"])) {
            const auto each = nb::cast<nb::dict>(item);
            rankwise::machine::Bandwidth memory;
            if (!each["capacity_bytes_per_s"].is_none())
                memory.capacity = nb::cast<double>(each["capacity_bytes_per_s"]);
            memory.per_core = nb::cast<double>(each["per_core_bytes_per_s"]);
            memory.slowdown = nb::cast<std::vector<double>>(each["slowdown"]);
            memory.passes = nb::cast<double>(each["passes"]);
            memory.copies = by_link(each["copies"], links);
            memory.computation = nb::cast<bool>(each["computation"]);
            machine.bandwidths.push_back(std::move(memory));
        }
    if (from.contains("network"))
        machine.network = network_from(from["network"]);
    if (from.contains("interrupts") && !from["interrupts"].is_none()) {
        const auto each = nb::cast<nb::dict>(from["interrupts"]);
        machine.interrupts.exists = true;
        machine.interrupts.per_message = std::llround(nb::cast<double>(each["per_message_s"]) * 1e12);
        machine.interrupts.per_byte = std::round(nb::cast<double>(each["s_per_byte"]) * 1e18) / 1e6;
        machine.interrupts.far_factor = nb::cast<double>(each["far_factor"]);
        const auto uses = by_link(each["links"], links);
        for (std::size_t link = 0; link < links; ++link)
            machine.link_classes[link].interrupts = machine.link_classes[link].network && uses[link] != 0;
    }
}

void add_resources(Placement &placement, const nb::dict &from, std::uint32_t ranks,
                   const rankwise::machine::Machine &machine) {
    const auto check = [](bool fits) {
        if (!fits)
            throw rankwise::Error("what ranks share does not fit the placement");
    };
    const auto all_below = [](const std::vector<std::uint32_t> &values, std::size_t limit) {
        return std::all_of(values.begin(), values.end(),
                           [&](std::uint32_t value) { return value == Placement::none || value < limit; });
    };
    if (!machine.bandwidths.empty()) {
        for (const nb::handle item : nb::cast<nb::list>(from["domain"]))
            placement.domain.push_back(numbers<std::uint32_t>(item));
        placement.memory_bound = numbers<double>(from["memory_bound"]);
        check(placement.domain.size() == machine.bandwidths.size() && placement.memory_bound.size() == ranks);
        for (const auto &domain : placement.domain)
            check(domain.size() == ranks && all_below(domain, ranks));
    }
    if (machine.interrupts.exists) {
        placement.interrupt_core = numbers<std::uint32_t>(from["interrupt_core"]);
        placement.interrupt_processor = numbers<std::uint32_t>(from["interrupt_processor"]);
        placement.far = numbers<std::uint8_t>(from["far"]);
        const std::size_t cores = placement.interrupt_processor.size();
        check(placement.interrupt_core.size() >= placement.nodes() && placement.far.size() == ranks &&
              all_below(placement.interrupt_processor, placement.capacity.size()) &&
              std::all_of(placement.interrupt_core.begin(), placement.interrupt_core.end(),
                          [&](std::uint32_t core) { return core < cores; }));
    }
}
