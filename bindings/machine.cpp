// SPDX-License-Identifier: BSD-3-Clause
#include "machine/machine.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "error.hpp"
#include "machine/network.hpp"
#include "machine/placement.hpp"
#include "rooms.hpp"
#include "seconds.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::machine;

Picoseconds picoseconds(double seconds) {
    if (!(seconds * 1e12 <= static_cast<double>(longest)))
        throw rankwise::Error("a parameter of more than 13 days", "look for a wrong unit");
    return std::llround(seconds * 1e12);
}

double picoseconds_per_byte(double seconds) {
    // Rounded far below one, so that 6 ns/byte, which is no binary fraction, is exactly 6000.
    return std::round(seconds * 1e18) / 1e6;
}

namespace {

using Numbers = std::vector<std::uint32_t>;
using Bytes = std::optional<std::uint64_t>;

Network finished(Network network, const Numbers &slots, double hop_s, const std::vector<Interface> &ports) {
    network.slot_of = slots;
    network.hop = picoseconds(hop_s);
    network.cost = ports;
    if (network.cost.size() != network.kinds())
        throw rankwise::Error("a network with `" + std::to_string(network.kinds()) +
                              "` kinds of cables has costs of `" + std::to_string(network.cost.size()) + "`");
    for (const std::uint32_t slot : network.slot_of)
        if (slot >= network.slots())
            throw rankwise::Error("slot `" + std::to_string(slot) + "` is not one of the network's `" +
                                  std::to_string(network.slots()) + "`");
    return network;
}

void check_node(const Network &network, std::uint32_t node) {
    if (node >= network.nodes())
        throw rankwise::Error("node `" + std::to_string(node) + "` is not one of the network's `" +
                              std::to_string(network.nodes()) + "`");
}

NumpyArray<std::uint32_t> hops(const Network &network, const Array<std::uint32_t> &from,
                               const Array<std::uint32_t> &to) {
    if (from.size() != to.size())
        throw rankwise::Error("arrays of nodes differ in length");
    Numbers hops;
    hops.reserve(from.size());
    for (std::size_t k = 0; k < from.size(); ++k) {
        check_node(network, from(k));
        check_node(network, to(k));
        hops.push_back(network.hops(from(k), to(k)));
    }
    return to_numpy(std::move(hops));
}

void bind_network(nb::module_ &room) {
    nb::class_<Network>(room, "Network")
        .def_static(
            "fat_tree",
            [](const Numbers &down, const Numbers &up, const Numbers &cables, const Numbers &slots,
               double hop_s, const std::vector<Interface> &ports) {
                return finished(Network::fat_tree(down, up, cables), slots, hop_s, ports);
            },
            "down"_a, "up"_a, "cables"_a, nb::kw_only(), "slots"_a, "hop_s"_a, "ports"_a)
        .def_static(
            "torus",
            [](const Numbers &dimensions, std::uint32_t nodes_per_router, const Numbers &slots, double hop_s,
               const std::vector<Interface> &ports) {
                return finished(Network::torus(dimensions, nodes_per_router), slots, hop_s, ports);
            },
            "dimensions"_a, "nodes_per_router"_a, nb::kw_only(), "slots"_a, "hop_s"_a, "ports"_a)
        .def_static(
            "dragonfly",
            [](std::uint32_t groups, std::uint32_t routers, std::uint32_t global_links,
               std::uint32_t nodes_per_router, const Numbers &slots, double hop_s,
               const std::vector<Interface> &ports) {
                return finished(Network::dragonfly(groups, routers, nodes_per_router, global_links), slots,
                                hop_s, ports);
            },
            "groups"_a, "routers"_a, "global_links"_a, "nodes_per_router"_a, nb::kw_only(), "slots"_a,
            "hop_s"_a, "ports"_a)
        .def_prop_ro("slots", &Network::slots)
        .def_prop_ro("ports", &Network::ports)
        .def("describe", &Network::describe, "port"_a)
        .def(
            "way",
            [](const Network &network, std::uint32_t from, std::uint32_t to) {
                check_node(network, from);
                check_node(network, to);
                Numbers ports;
                network.way(from, to, ports);
                return ports;
            },
            "from_node"_a, "to_node"_a)
        .def("hops", &hops, "from_nodes"_a, "to_nodes"_a);
}

void bind_resources(nb::module_ &room) {
    nb::class_<Interface>(room, "Interface")
        .def(
            "__init__",
            [](Interface *self, double per_message_s, double s_per_byte) {
                new (self) Interface{picoseconds(per_message_s), picoseconds_per_byte(s_per_byte)};
            },
            "per_message_s"_a = 0.0, "s_per_byte"_a = 0.0);
    nb::class_<Bandwidth>(room, "Bandwidth")
        .def(
            "__init__",
            [](Bandwidth *self, std::optional<double> capacity, double per_core,
               const std::vector<double> &slowdown, double passes, const std::vector<bool> &copies,
               bool computation) {
                new (self) Bandwidth{capacity.value_or(Bandwidth{}.capacity), per_core,   slowdown, passes,
                                     {copies.begin(), copies.end()},          computation};
            },
            nb::kw_only(), "capacity_bytes_per_s"_a.none(), "per_core_bytes_per_s"_a, "slowdown"_a,
            "passes"_a, "copies"_a, "computation"_a);
    nb::class_<InterruptCore>(room, "InterruptCore")
        .def(
            "__init__",
            [](InterruptCore *self, double per_message_s, double s_per_byte, double far_factor) {
                new (self) InterruptCore{true, picoseconds(per_message_s), picoseconds_per_byte(s_per_byte),
                                         far_factor};
            },
            nb::kw_only(), "per_message_s"_a, "s_per_byte"_a, "far_factor"_a);
}

void bind_links(nb::module_ &room) {
    nb::class_<Segment>(room, "Segment")
        .def(
            "__init__",
            [](Segment *self, Bytes up_to_bytes, double L, double o, double o_receive, double g, double G,
               double O) {
                new (self) Segment{up_to_bytes.value_or(Segment{}.up_to_bytes),
                                   picoseconds(L),
                                   picoseconds(o),
                                   picoseconds(o_receive),
                                   picoseconds(g),
                                   picoseconds_per_byte(G),
                                   picoseconds_per_byte(O)};
            },
            nb::kw_only(), "up_to_bytes"_a.none(), "L_s"_a, "o_s"_a, "o_receive_s"_a, "g_s"_a,
            "G_s_per_byte"_a, "O_s_per_byte"_a);
    nb::class_<LinkClass>(room, "LinkClass")
        .def(
            "__init__",
            [](LinkClass *self, const std::vector<Segment> &segments, Bytes eager_limit, Bytes socket_buffer,
               Bytes send_buffer, Bytes unexpected_buffer, double connect_s, bool in_call, bool overlap,
               bool network, bool interrupts) {
                if (segments.empty())
                    throw rankwise::Error("a link class without segments");
                const LinkClass unlimited;
                new (self) LinkClass{segments,
                                     eager_limit.value_or(unlimited.eager_limit),
                                     socket_buffer.value_or(unlimited.socket_buffer),
                                     send_buffer.value_or(unlimited.send_buffer),
                                     unexpected_buffer.value_or(unlimited.unexpected_buffer),
                                     picoseconds(connect_s),
                                     in_call,
                                     overlap,
                                     network,
                                     interrupts};
            },
            "segments"_a, nb::kw_only(), "eager_limit_bytes"_a = nb::none(),
            "socket_buffer_bytes"_a = nb::none(), "send_buffer_bytes"_a = nb::none(),
            "unexpected_buffer_bytes"_a = nb::none(), "connect_s"_a = 0.0, "in_call"_a, "overlap"_a,
            "network"_a, "interrupts"_a = false);
}

CoreSharing core_sharing_of(const std::string &name) {
    if (name == "none")
        return CoreSharing::none;
    if (name == "yield")
        return CoreSharing::yield;
    if (name == "spin")
        return CoreSharing::spin;
    throw rankwise::Error("ranks on one core do not share it by `" + name + "`",
                          "known are `none`, `yield` and `spin`");
}

/// The network's link class again, with one and with two interfaces that are far from their ranks.
void add_detours(Machine &machine, Picoseconds detour) {
    const auto network = static_cast<std::size_t>(
        std::ranges::find_if(machine.link_classes, &LinkClass::network) - machine.link_classes.begin());
    if (network == machine.link_classes.size())
        return;
    for (int detours = 1; detours <= 2; ++detours) {
        machine.link_classes.push_back(machine.link_classes[network]);
        machine.link_classes.back().detour = detours * detour;
        for (Bandwidth &each : machine.bandwidths)
            each.copies.push_back(each.copies[network]);
    }
}

Machine machine_of(const std::vector<LinkClass> &link_classes, const Interface &tx, const Interface &rx,
                   const std::string &core_sharing, bool progress, bool handshake,
                   const std::vector<Bandwidth> &bandwidths, const std::optional<InterruptCore> &interrupts,
                   const Network *network, std::uint32_t interfaces, const Bytes &striped_from,
                   const std::optional<std::uint32_t> &striped_over, double detour_s, bool half_duplex) {
    Machine machine;
    machine.interfaces = std::max(interfaces, 1u);
    machine.striped_from = striped_from.value_or(machine.striped_from);
    machine.striped_over = striped_from ? std::min(striped_over.value_or(interfaces), machine.interfaces) : 1;
    machine.link_classes = link_classes;
    machine.tx = tx;
    machine.rx = rx;
    machine.half_duplex = half_duplex;
    machine.core_sharing = core_sharing_of(core_sharing);
    machine.progress = progress;
    machine.handshake = handshake;
    machine.bandwidths = bandwidths;
    machine.interrupts = interrupts.value_or(InterruptCore{});
    for (LinkClass &link : machine.link_classes)
        link.interrupts = link.interrupts && link.network && machine.interrupts.exists;
    for (const Bandwidth &each : bandwidths)
        if (each.copies.size() != link_classes.size())
            throw rankwise::Error("a resource does not say of each link class whether its messages use it");
    if (network != nullptr)
        machine.network = *network;
    if (detour_s > 0)
        add_detours(machine, picoseconds(detour_s));
    return machine;
}

Placement placement_of(const Array<std::uint32_t> &node, const Array<std::uint32_t> &place,
                       std::uint32_t places, const Array<std::uint32_t> &processor,
                       const Array<std::uint32_t> &capacity, const Array<std::uint8_t> &place_link,
                       std::uint8_t network_link, std::uint8_t self_link,
                       const std::vector<Array<std::uint32_t>> &domain,
                       const std::optional<Array<double>> &memory_bound,
                       const std::optional<Array<std::uint32_t>> &interrupt_core,
                       const std::optional<Array<std::uint32_t>> &interrupt_processor,
                       const std::optional<Array<std::uint8_t>> &far,
                       const std::optional<Array<std::uint32_t>> &interface,
                       const std::optional<Array<std::uint8_t>> &is_detour, std::uint8_t detour_link) {
    const auto given = [](const auto &array) {
        return array ? to_vector(*array) : decltype(to_vector(*array)){};
    };
    Placement out;
    out.node = to_vector(node);
    out.place = to_vector(place);
    out.places = places;
    out.processor = to_vector(processor);
    out.capacity = to_vector(capacity);
    out.place_link = to_vector(place_link);
    out.network_link = network_link;
    out.self_link = self_link;
    for (const auto &of_rank : domain)
        out.domain.push_back(to_vector(of_rank));
    out.memory_bound = given(memory_bound);
    out.interrupt_core = given(interrupt_core);
    out.interrupt_processor = given(interrupt_processor);
    out.far = given(far);
    out.interface = given(interface);
    out.is_detour = given(is_detour);
    out.detour_link = detour_link;
    return out;
}

NumpyArray<std::uint8_t> links(const Placement &placement, const Array<std::uint32_t> &from,
                               const Array<std::uint32_t> &to) {
    const std::size_t ranks = placement.node.size();
    if (from.size() != to.size())
        throw rankwise::Error("arrays of ranks differ in length");
    std::vector<std::uint8_t> out;
    out.reserve(from.size());
    for (std::size_t k = 0; k < from.size(); ++k) {
        if (from(k) >= ranks || to(k) >= ranks)
            throw rankwise::Error("the placement has `" + std::to_string(ranks) + "` ranks");
        const bool between = placement.node[from(k)] != placement.node[to(k)]; // with a detour or without
        out.push_back(between ? placement.network_link : placement.link(from(k), to(k)));
    }
    return to_numpy(std::move(out));
}

} // namespace

void bind_machine(nb::module_ &module) {
    auto room = module.def_submodule("machine");
    bind_resources(room);
    bind_network(room);
    bind_links(room);
    nb::class_<Machine>(
        room, "Machine",
        "The numbers of a machine that a replay uses, in seconds and bytes; `formats/machine.md`.")
        .def(nb::new_(&machine_of), nb::kw_only(), "link_classes"_a, "tx"_a, "rx"_a,
             "core_sharing"_a = "none", "progress"_a = true, "handshake"_a = true,
             "bandwidths"_a = std::vector<Bandwidth>{}, "interrupts"_a = nb::none(), "network"_a = nb::none(),
             "interfaces"_a = 1, "striped_from_bytes"_a = nb::none(), "striped_over"_a = nb::none(),
             "detour_s"_a = 0.0, "half_duplex"_a = false,
             "With `detour_s` there are two more link classes, behind those given: the network's with one "
             "detour, and "
             "with two.")
        .def_ro("tx", &Machine::tx)
        .def_ro("rx", &Machine::rx);
    nb::class_<Placement>(
        room, "Placement",
        "Ranks on the nodes of a machine, as a replay indexes with them; `machine/placement.hpp`.")
        .def(nb::new_(&placement_of), nb::kw_only(), "node"_a, "place"_a, "places"_a, "processor"_a,
             "capacity"_a, "place_link"_a, "network_link"_a, "self_link"_a,
             "domain"_a = std::vector<Array<std::uint32_t>>{}, "memory_bound"_a = nb::none(),
             "interrupt_core"_a = nb::none(), "interrupt_processor"_a = nb::none(), "far"_a = nb::none(),
             "interface"_a = nb::none(), "is_detour"_a = nb::none(), "detour_link"_a = 0)
        .def(
            "in_order",
            [](const Placement &placement, const Array<std::uint32_t> &position) {
                return placement.in_order({position.data(), position.size()});
            },
            "position"_a, "The same ranks in another order: the new number of each.")
        .def("links", &links, "from_ranks"_a, "to_ranks"_a, "Link class of each pair of ranks, by index.")
        .def_prop_ro("processor", [](const Placement &p) { return to_numpy(Numbers(p.processor)); })
        .def_prop_ro("capacity", [](const Placement &p) { return to_numpy(Numbers(p.capacity)); });
}
