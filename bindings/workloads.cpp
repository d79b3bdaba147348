// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "rooms.hpp"

extern "C" {
#include "comm_dry.h"
#include "list.h"
}

namespace nb = nanobind;
using namespace nb::literals;

namespace {

const workload &find(const std::string &name) {
    const workload *found = workload_find(name.c_str());
    if (!found) {
        throw nb::key_error(name.c_str());
    }
    return *found;
}

template <typename T, typename Field> nb::object column(const std::vector<comm_event> &events, Field field) {
    auto *values = new std::vector<T>(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        (*values)[i] = static_cast<T>(field(events[i]));
    }
    nb::capsule owner(values, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values->data(), {values->size()}, owner));
}

nb::dict events(const std::string &name, char problem_class, int iterations, int rank, int ranks) {
    const workload &chosen = find(name);
    std::array<char, 256> why{};
    if (!workload_accepts(&chosen, problem_class, ranks, why.data(), why.size())) {
        throw nb::value_error(why.data());
    }
    std::vector<comm_event> recorded;
    comm_dry_run(
        &chosen, problem_class, iterations, rank, ranks,
        [](void *state, int, const comm_event *event) {
            static_cast<std::vector<comm_event> *>(state)->push_back(*event);
        },
        &recorded);
    nb::dict columns;
    columns["kind"] = column<std::uint8_t>(recorded, [](const comm_event &e) { return e.kind; });
    columns["peer"] = column<std::int32_t>(recorded, [](const comm_event &e) { return e.peer; });
    columns["tag"] = column<std::int32_t>(recorded, [](const comm_event &e) { return e.tag; });
    columns["group"] = column<std::int32_t>(recorded, [](const comm_event &e) { return e.group; });
    columns["request"] = column<std::int64_t>(recorded, [](const comm_event &e) { return e.request; });
    columns["type_bytes"] = column<std::int32_t>(recorded, [](const comm_event &e) { return e.type_bytes; });
    columns["count"] = column<std::int64_t>(recorded, [](const comm_event &e) { return e.count; });
    columns["operations"] = column<double>(recorded, [](const comm_event &e) { return e.operations; });
    return columns;
}

std::string refusal(const std::string &name, char problem_class, int ranks) {
    std::array<char, 256> why{};
    workload_accepts(&find(name), problem_class, ranks, why.data(), why.size());
    return why.data();
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (std::size_t i = 0; const workload *one = workload_at(i); ++i) {
        all.emplace_back(one->name);
    }
    return all;
}

} // namespace

void bind_workloads(nb::module_ &module) {
    auto room = module.def_submodule("workloads");
    room.def("names", &names);
    room.def("title", [](const std::string &name) { return std::string(find(name).title); }, "name"_a);
    room.def("pattern", [](const std::string &name) { return std::string(find(name).pattern); }, "name"_a);
    room.def("classes", [](const std::string &name) { return std::string(find(name).classes); }, "name"_a);
    room.def("refusal", &refusal, "name"_a, "problem_class"_a, "ranks"_a);
    room.def(
        "iterations",
        [](const std::string &name, char problem_class) { return find(name).iterations(problem_class); },
        "name"_a, "problem_class"_a);
    room.def(
        "grid",
        [](const std::string &name, char problem_class, int ranks) {
            std::array<int, 3> grid{};
            find(name).grid(problem_class, ranks, grid.data());
            return std::tuple(grid[0], grid[1], grid[2]);
        },
        "name"_a, "problem_class"_a, "ranks"_a);
    room.def("events", &events, "name"_a, "problem_class"_a, "iterations"_a, "rank"_a, "ranks"_a);
}
