// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "arrays.hpp"
#include "collective_names.hpp"
#include "collectives/count.hpp"
#include "collectives/creation.hpp"
#include "collectives/node_partition.hpp"
#include "collectives/registry.hpp"
#include "collectives/select.hpp"
#include "error.hpp"
#include "rooms.hpp"

namespace nb = nanobind;
namespace coll = rankwise::collectives;
using namespace nb::literals;

coll::Collective collective_of(const std::string &name) {
    for (int i = 0; i <= static_cast<int>(coll::Collective::neighbor_alltoallw); ++i) {
        if (rankwise::trace::collective_name(static_cast<coll::Collective>(i)) == name) {
            return static_cast<coll::Collective>(i);
        }
    }
    throw rankwise::Error("no collective operation `" + name + "`", "write it in lower case, as `allreduce`");
}

coll::Library library_of(const std::string &name) {
    if (name == "mpich") {
        return coll::Library::mpich;
    }
    if (name == "mpich2") {
        return coll::Library::mpich2;
    }
    if (name == "cray") {
        return coll::Library::cray;
    }
    if (name == "openmpi") {
        return coll::Library::openmpi;
    }
    if (name == "openmpi-4") {
        return coll::Library::openmpi_4;
    }
    throw rankwise::Error("no collective algorithms known of `" + name + "`",
                          "known are `mpich`, `mpich2`, `cray`, `openmpi` and `openmpi-4`");
}

namespace {

template <class T> std::span<const T> view(const Array<T> &column) {
    return {column.data(), column.size()};
}

coll::Operation operation_of(const std::string &collective, std::uint32_t rank, std::uint32_t size,
                             std::uint32_t root, std::uint64_t bytes, std::uint32_t element_bytes,
                             std::uint64_t total_bytes) {
    if (rank >= size || root >= size) {
        throw rankwise::Error("rank `" + std::to_string(rank) + "` or root `" + std::to_string(root) +
                              "` is not below the size `" + std::to_string(size) + "`");
    }
    coll::Operation operation;
    operation.collective = collective_of(collective);
    operation.rank = rank;
    operation.size = size;
    operation.root = root;
    operation.bytes = bytes;
    operation.element_bytes = element_bytes;
    operation.total_bytes = total_bytes;
    return operation;
}

// (kind, peer, round, bytes, offset); kinds are 0 send, 1 receive, 2 receive and reduce; offset -1 where
// there is none.
nb::list steps(const std::string &collective, const std::string &algorithm, std::uint32_t rank,
               std::uint32_t size, std::uint32_t root, std::uint64_t bytes, std::uint32_t element_bytes,
               std::uint64_t total_bytes, const std::vector<std::uint64_t> &sizes,
               const std::vector<std::uint64_t> &receive_sizes, const std::vector<std::uint32_t> &nodes) {
    if (!nodes.empty() && nodes.size() != size) {
        throw rankwise::Error("nodes of `" + std::to_string(nodes.size()) + "` ranks for `" +
                              std::to_string(size) + "`");
    }
    const coll::NodePartition partition(nodes);
    auto operation = operation_of(collective, rank, size, root, bytes, element_bytes, total_bytes);
    operation.sizes = sizes;
    operation.receive_sizes = receive_sizes;
    operation.nodes = nodes.empty() ? nullptr : &partition;
    std::vector<coll::CollectiveStep> out;
    coll::expand(coll::find_algorithm(operation.collective, algorithm), operation, out);
    nb::list list;
    for (const auto &step : out) {
        list.append(nb::make_tuple(static_cast<int>(step.kind), step.peer, step.round, step.bytes,
                                   static_cast<std::int64_t>(step.offset)));
    }
    return list;
}

Columns count_messages(const std::string &library, const Array<std::uint32_t> &rank,
                       const Array<std::uint32_t> &group, const Array<std::uint16_t> &call,
                       const Array<std::uint16_t> &flags, const Array<std::int32_t> &root,
                       const Array<std::uint32_t> &datatype_bytes, const Array<std::uint64_t> &bytes,
                       const Array<std::uint64_t> &total_bytes, const Array<std::uint64_t> &count,
                       const Array<std::uint64_t> &group_offsets, const Array<std::uint32_t> &group_members,
                       const Array<std::uint32_t> &node) {
    std::vector<coll::CollectiveCalls> calls;
    calls.reserve(rank.size());
    for (std::size_t i = 0; i < rank.size(); ++i) {
        if (group.data()[i] + std::size_t{1} >= group_offsets.size()) {
            throw std::out_of_range("group");
        }
        calls.push_back({rank.data()[i], group.data()[i], call.data()[i], flags.data()[i], root.data()[i],
                         datatype_bytes.data()[i], bytes.data()[i], total_bytes.data()[i], count.data()[i]});
    }
    const auto members = view(group_members);
    if (node.size() > 0 &&
        std::any_of(members.begin(), members.end(), [&](auto member) { return member >= node.size(); })) {
        throw std::out_of_range("node");
    }
    coll::MessageRows rows;
    {
        nb::gil_scoped_release release;
        rows = coll::count_messages(library_of(library), calls, {view(group_offsets), view(group_members)},
                                    view(node));
    }
    nb::dict dict;
    dict["source"] = to_numpy(std::move(rows.source));
    dict["destination"] = to_numpy(std::move(rows.destination));
    dict["call"] = to_numpy(std::move(rows.call));
    dict["bin"] = to_numpy(std::move(rows.bin));
    dict["algorithm"] = to_numpy(std::move(rows.algorithm));
    dict["messages"] = to_numpy(std::move(rows.messages));
    dict["bytes"] = to_numpy(std::move(rows.bytes));
    dict["chosen"] = to_numpy(std::move(rows.chosen));
    return Columns(dict);
}

} // namespace

void bind_collectives(nb::module_ &module) {
    auto room = module.def_submodule("collectives");
    room.def(
        "algorithms",
        [] {
            nb::list list;
            for (const auto &algorithm : coll::algorithms()) {
                list.append(
                    nb::make_tuple(rankwise::trace::collective_name(algorithm.collective), algorithm.name));
            }
            return list;
        },
        "Operation and name of every algorithm, in order of their indices.");
    room.def("steps", &steps, "collective"_a, "algorithm"_a, nb::kw_only(), "rank"_a, "size"_a, "root"_a = 0,
             "bytes"_a = 0, "element_bytes"_a = 1, "total_bytes"_a = 0,
             "sizes"_a = std::vector<std::uint64_t>{}, "receive_sizes"_a = std::vector<std::uint64_t>{},
             "nodes"_a = std::vector<std::uint32_t>{},
             "One rank's messages: (kind, peer, round, bytes, offset), kind 0 send, 1 receive, 2 receive and "
             "reduce.");
    room.def(
        "select",
        [](const std::string &library, const std::string &collective, std::uint32_t size, std::uint64_t bytes,
           std::uint32_t element_bytes, bool commutative, bool nonblocking, std::uint64_t total_bytes,
           const std::vector<std::uint32_t> &nodes) {
            const coll::NodePartition partition(nodes);
            auto operation = operation_of(collective, 0, size, 0, bytes, element_bytes, total_bytes);
            operation.commutative = commutative;
            operation.nonblocking = nonblocking;
            operation.nodes = nodes.empty() ? nullptr : &partition;
            return coll::select(library_of(library), operation).name;
        },
        "library"_a, "collective"_a, nb::kw_only(), "size"_a, "bytes"_a = 0, "element_bytes"_a = 1,
        "commutative"_a = true, "nonblocking"_a = false, "total_bytes"_a = 0,
        "nodes"_a = std::vector<std::uint32_t>{}, "Name of the algorithm the library takes by default.");
    room.def(
        "creation",
        [](const std::string &library, const std::string &function, bool reorder) {
            nb::list list;
            for (const auto &each : coll::creation_of(library_of(library), function, reorder)) {
                list.append(nb::make_tuple(rankwise::trace::collective_name(each.collective), each.bytes,
                                           each.nonblocking));
            }
            return list;
        },
        "library"_a, "function"_a, nb::kw_only(), "reorder"_a = false,
        "Collectives of the communicator that another one is made of: (operation, bytes, nonblocking).");
    room.def("count_messages", &count_messages, "library"_a, nb::kw_only(), "rank"_a, "group"_a, "call"_a,
             "flags"_a, "root"_a, "datatype_bytes"_a, "bytes"_a, "total_bytes"_a, "count"_a,
             "group_offsets"_a, "group_members"_a, "node"_a,
             "Messages of collective calls by source, destination, call, algorithm and size bin.");
}
