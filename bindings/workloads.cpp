// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "collective_names.hpp"
#include "rooms.hpp"
#include "schedule.hpp"
#include "workload_schedule.hpp"

extern "C" {
#include "comm_dry.h"
#include "list.h"
}

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Options = std::vector<std::int64_t>;

const workload &find(const std::string &name) {
    const workload *found = workload_find(name.c_str());
    if (!found) {
        throw nb::key_error(name.c_str());
    }
    return *found;
}

problem asked(const workload &chosen, char problem_class, int iterations, const Options &options) {
    if (options.size() != static_cast<std::size_t>(chosen.option_count)) {
        throw nb::value_error("options");
    }
    problem made = workload_problem(&chosen, problem_class);
    made.iterations = iterations;
    std::copy(options.begin(), options.end(), made.option);
    return made;
}

std::string refusal(const std::string &name, char problem_class, const Options &options, int ranks) {
    const workload &chosen = find(name);
    const problem made = asked(chosen, problem_class, 0, options);
    std::array<char, 256> why{};
    workload_accepts(&chosen, &made, ranks, why.data(), why.size());
    return why.data();
}

problem accepted(const workload &chosen, char problem_class, int iterations, const Options &options,
                 int ranks) {
    const problem made = asked(chosen, problem_class, iterations, options);
    std::array<char, 256> why{};
    if (iterations < 1 || !workload_accepts(&chosen, &made, ranks, why.data(), why.size())) {
        throw nb::value_error(why.data());
    }
    return made;
}

/// One rank's events, and what its alltoallv calls send and receive, one after the other.
struct Recorded {
    std::vector<comm_event> events;
    std::vector<std::int64_t> counts;
};

void record(void *state, int, const comm_event *event) {
    auto &recorded = *static_cast<Recorded *>(state);
    recorded.events.push_back(*event);
    if (event->kind == COMM_EVENT_ALLTOALLV) {
        recorded.events.back().n = static_cast<std::int64_t>(recorded.counts.size());
        recorded.counts.insert(recorded.counts.end(), event->to, event->to + event->m);
        recorded.counts.insert(recorded.counts.end(), event->from, event->from + event->m);
    }
}

Columns columns_of(Recorded &&recorded) {
    const auto &all = recorded.events;
    nb::dict columns;
    columns["kind"] = column<std::uint8_t>(all, [](const comm_event &e) { return e.kind; });
    columns["peer"] = column<std::int32_t>(all, [](const comm_event &e) { return e.peer; });
    columns["tag"] = column<std::int32_t>(all, [](const comm_event &e) { return e.tag; });
    columns["group"] = column<std::int32_t>(all, [](const comm_event &e) { return e.group; });
    columns["request"] = column<std::int64_t>(all, [](const comm_event &e) { return e.request; });
    columns["type_bytes"] = column<std::int32_t>(all, [](const comm_event &e) { return e.type_bytes; });
    columns["count"] = column<std::int64_t>(all, [](const comm_event &e) { return e.count; });
    columns["operations"] = column<double>(all, [](const comm_event &e) { return e.operations; });
    columns["m"] = column<std::int64_t>(all, [](const comm_event &e) { return e.m; });
    columns["n"] = column<std::int64_t>(all, [](const comm_event &e) { return e.n; });
    columns["k"] = column<std::int64_t>(all, [](const comm_event &e) { return e.k; });
    columns["counts"] = to_numpy(std::move(recorded.counts));
    return Columns(columns);
}

Columns events(const std::string &name, char problem_class, int iterations, const Options &options, int rank,
               int ranks) {
    const workload &chosen = find(name);
    const problem made = accepted(chosen, problem_class, iterations, options, ranks);
    if (rank < 0 || rank >= ranks) {
        throw nb::value_error("rank");
    }
    Recorded recorded;
    comm_dry_run(&chosen, &made, rank, ranks, record, &recorded);
    return columns_of(std::move(recorded));
}

/// One rank's messages as counts, and its collective calls, splits and dups as events.
struct Counted {
    using Message = std::pair<std::int64_t, std::int64_t>; ///< destination, bytes
    struct Hash {
        std::size_t operator()(const Message &message) const {
            const auto mixed = static_cast<std::uint64_t>(message.first) * 0x9e3779b97f4a7c15u ^
                               static_cast<std::uint64_t>(message.second) * 0xc2b2ae3d27d4eb4fu;
            return static_cast<std::size_t>(mixed ^ mixed >> 32);
        }
    };
    std::unordered_map<Message, std::int64_t, Hash> messages;
    Recorded others;
};

void count_event(void *state, int rank, const comm_event *event) {
    auto &counted = *static_cast<Counted *>(state);
    switch (event->kind) {
    case COMM_EVENT_SEND:
    case COMM_EVENT_ISEND:
    case COMM_EVENT_SSEND:
    case COMM_EVENT_ISSEND:
    case COMM_EVENT_RELAY_SEND:
        ++counted.messages[{event->peer, event->count * event->type_bytes}];
        return;
    case COMM_EVENT_BARRIER:
    case COMM_EVENT_BCAST:
    case COMM_EVENT_REDUCE:
    case COMM_EVENT_ALLREDUCE:
    case COMM_EVENT_ALLGATHER:
    case COMM_EVENT_ALLTOALL:
    case COMM_EVENT_ALLTOALLV:
    case COMM_EVENT_SPLIT:
    case COMM_EVENT_DUP:
        return record(&counted.others, rank, event);
    default:
        return;
    }
}

std::tuple<Columns, Columns> counts(const std::string &name, char problem_class, int iterations,
                                    const Options &options, int rank, int ranks) {
    const workload &chosen = find(name);
    const problem made = accepted(chosen, problem_class, iterations, options, ranks);
    if (rank < 0 || rank >= ranks) {
        throw nb::value_error("rank");
    }
    Counted counted;
    comm_dry_run(&chosen, &made, rank, ranks, count_event, &counted);
    std::vector<std::pair<Counted::Message, std::int64_t>> rows(counted.messages.begin(),
                                                                counted.messages.end());
    std::sort(rows.begin(), rows.end());
    nb::dict messages;
    messages["destination"] = column<std::int64_t>(rows, [](const auto &row) { return row.first.first; });
    messages["bytes"] = column<std::int64_t>(rows, [](const auto &row) { return row.first.second; });
    messages["messages"] = column<std::int64_t>(rows, [](const auto &row) { return row.second; });
    return {Columns(messages), columns_of(std::move(counted.others))};
}

std::shared_ptr<MatchedSchedule> schedule(const std::string &name, char problem_class, int iterations,
                                          const Options &options, int ranks, const std::string &library,
                                          double seconds_per_operation,
                                          const std::map<std::string, std::vector<KernelTerms>> &kernels,
                                          const std::vector<double> &start) {
    const workload &chosen = find(name);
    const problem made = accepted(chosen, problem_class, iterations, options, ranks);
    if (!start.empty() && start.size() != static_cast<std::size_t>(ranks)) {
        throw nb::value_error("start");
    }
    ComputationCost cost{seconds_per_operation, {}, start};
    for (const auto &[kernel, terms] : kernels) {
        int number = 0;
        while (number < COMM_KERNELS && kernel != comm_kernel_name(number)) {
            ++number;
        }
        if (number == COMM_KERNELS ||
            (terms.size() != 1 && terms.size() != static_cast<std::size_t>(ranks))) {
            throw nb::value_error(kernel.c_str());
        }
        cost.kernels[number] = terms;
    }
    return std::make_shared<MatchedSchedule>(
        workload_schedule(chosen, made, ranks, library_of(library), cost));
}

using OptionRow =
    std::tuple<std::string, std::string, std::vector<std::string>, std::int64_t, std::int64_t, std::int64_t>;

std::vector<OptionRow> options(const std::string &name) {
    const workload &chosen = find(name);
    std::vector<OptionRow> rows;
    for (int i = 0; i < chosen.option_count; ++i) {
        const workload_option &option = chosen.options[i];
        std::vector<std::string> choices;
        for (int c = 0; option.choices && option.choices[c]; ++c) {
            choices.emplace_back(option.choices[c]);
        }
        rows.emplace_back(option.name, option.help, choices, option.least, option.most, option.usual);
    }
    return rows;
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (std::size_t i = 0; const workload *one = workload_at(i); ++i) {
        all.emplace_back(one->name);
    }
    return all;
}

std::vector<std::string> kernels() {
    std::vector<std::string> all;
    all.reserve(COMM_KERNELS);
    for (int i = 0; i < COMM_KERNELS; ++i) {
        all.emplace_back(comm_kernel_name(i));
    }
    return all;
}

} // namespace

void bind_workloads(nb::module_ &module) {
    auto room = module.def_submodule("workloads");
    room.def("names", &names);
    room.def("kernels", &kernels, "Names of computing kernels, by number.");
    room.def("title", [](const std::string &name) { return std::string(find(name).title); }, "name"_a);
    room.def("pattern", [](const std::string &name) { return std::string(find(name).pattern); }, "name"_a);
    room.def("classes", [](const std::string &name) { return std::string(find(name).classes); }, "name"_a);
    room.def("options", &options, "name"_a, "Name, help, choices, least, most and usual value of each.");
    room.def("refusal", &refusal, "name"_a, "problem_class"_a, "options"_a, "ranks"_a);
    room.def(
        "iterations",
        [](const std::string &name, char problem_class, const Options &given) {
            const workload &chosen = find(name);
            const problem made = asked(chosen, problem_class, 0, given);
            return chosen.iterations(&made);
        },
        "name"_a, "problem_class"_a, "options"_a);
    room.def(
        "grid",
        [](const std::string &name, char problem_class, const Options &given, int ranks) {
            const workload &chosen = find(name);
            const problem made = asked(chosen, problem_class, 0, given);
            std::array<int, 3> grid{};
            chosen.grid(&made, ranks, grid.data());
            return std::tuple(grid[0], grid[1], grid[2]);
        },
        "name"_a, "problem_class"_a, "options"_a, "ranks"_a);
    room.def("events", &events, "name"_a, "problem_class"_a, "iterations"_a, "options"_a, "rank"_a,
             "ranks"_a);
    room.def("counts", &counts, "name"_a, "problem_class"_a, "iterations"_a, "options"_a, "rank"_a, "ranks"_a,
             "Messages of one rank (destination, bytes, messages), and the events that are none.");
    room.def("schedule", &schedule, "name"_a, "problem_class"_a, "iterations"_a, "options"_a, "ranks"_a,
             nb::kw_only(), "library"_a, "seconds_per_operation"_a, "kernels"_a,
             "start"_a = std::vector<double>{});
}
