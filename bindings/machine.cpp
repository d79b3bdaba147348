// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <string>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "error.hpp"
#include "network.hpp"
#include "rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using rankwise::machine::Network;

namespace {

using Nodes = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = std::vector<std::uint32_t>;

Network shaped(const nb::dict &from) {
    const auto number = [&](const char *key) { return nb::cast<std::uint32_t>(from[key]); };
    const auto numbers = [&](const char *key) { return nb::cast<Numbers>(from[key]); };
    const auto shape = nb::cast<std::string>(from["shape"]);
    if (shape == "fat-tree")
        return Network::fat_tree(numbers("down"), numbers("up"), numbers("cables"));
    if (shape == "torus")
        return Network::torus(numbers("dimensions"), number("nodes_per_router"));
    return Network::dragonfly(number("groups"), number("routers"), number("nodes_per_router"),
                              number("global_links"));
}

void check_node(const Network &network, std::uint32_t node) {
    if (node >= network.nodes())
        throw rankwise::Error("node `" + std::to_string(node) + "` is not one of the network's `" +
                              std::to_string(network.nodes()) + "`");
}

} // namespace

Network network_from(const nb::object &from) {
    if (from.is_none())
        return {};
    const auto keys = nb::cast<nb::dict>(from);
    Network network = shaped(keys);
    network.slot_of = nb::cast<Numbers>(keys["slots"]);
    network.hop = std::llround(nb::cast<double>(keys["hop_s"]) * 1e12);
    for (const nb::handle item : nb::cast<nb::list>(keys["ports"])) {
        const auto cost = nb::cast<nb::dict>(item);
        network.cost.push_back({std::llround(nb::cast<double>(cost["per_message_s"]) * 1e12),
                                std::round(nb::cast<double>(cost["s_per_byte"]) * 1e18) / 1e6});
    }
    if (network.cost.size() != network.kinds())
        throw rankwise::Error("a network with `" + std::to_string(network.kinds()) +
                              "` kinds of cables has costs of `" + std::to_string(network.cost.size()) + "`");
    for (const std::uint32_t slot : network.slot_of)
        if (slot >= network.slots())
            throw rankwise::Error("slot `" + std::to_string(slot) + "` is not one of the network's `" +
                                  std::to_string(network.slots()) + "`");
    return network;
}

void bind_machine(nb::module_ &module) {
    auto room = module.def_submodule("machine");
    nb::class_<Network>(room, "Network")
        .def(nb::new_([](const nb::dict &from) { return network_from(from); }), "plain"_a)
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
        .def(
            "hops",
            [](const Network &network, Nodes from, Nodes to) {
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
            },
            "from_nodes"_a, "to_nodes"_a);
}
