// SPDX-License-Identifier: BSD-3-Clause
#include "schedule.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "collective_names.hpp"
#include "collectives/registry.hpp"
#include "error.hpp"
#include "replay/streamed_trace.hpp"
#include "rooms.hpp"
#include "schedule/calls/program_builder.hpp"
#include "schedule/goal/goal.hpp"
#include "schedule/tie_order.hpp"
#include "schedule/trace_schedule.hpp"
#include "trace/node_file.hpp"

namespace nb = nanobind;
namespace coll = rankwise::collectives;
using namespace nb::literals;
using namespace rankwise::replay;

namespace {

using Numbers = std::vector<std::uint32_t>;
using Sizes = std::vector<std::uint64_t>;

std::shared_ptr<MatchedSchedule> from_arrays(Array<std::uint32_t> operations_of_rank,
                                             Array<std::uint8_t> kind, Array<std::uint64_t> value,
                                             Array<std::uint32_t> peer, Array<std::uint32_t> tag,
                                             Array<std::uint32_t> later, Array<std::uint32_t> earlier,
                                             Array<std::uint8_t> at_start) {
    const std::size_t size = kind.size();
    std::size_t total = 0;
    for (std::size_t r = 0; r < operations_of_rank.size(); ++r)
        total += operations_of_rank(r);
    if (value.size() != size || peer.size() != size || tag.size() != size || total != size ||
        earlier.size() != later.size() || at_start.size() != later.size())
        throw rankwise::Error("arrays of a schedule differ in length");
    ScheduleBuilder builder(static_cast<std::uint32_t>(operations_of_rank.size()));
    std::vector<std::uint32_t> rank_of;
    rank_of.reserve(size);
    std::vector<std::uint32_t> first{0};
    for (std::size_t r = 0, i = 0; r < operations_of_rank.size(); ++r) {
        for (std::uint32_t k = 0; k < operations_of_rank(r); ++k, ++i) {
            const Operation op = kind(i) == 1   ? Operation::send(peer(i), value(i), tag(i))
                                 : kind(i) == 2 ? Operation::receive(peer(i), value(i), tag(i))
                                                : Operation::calc(static_cast<Picoseconds>(value(i)),
                                                                  (tag(i) & Operation::whole) + 1, peer(i),
                                                                  Operation::whole - (tag(i) >> 16));
            builder.add(static_cast<std::uint32_t>(r), op, {0, 0}, k);
            rank_of.push_back(static_cast<std::uint32_t>(r));
        }
        first.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t e = 0; e < later.size(); ++e) {
        if (later(e) >= size || earlier(e) >= size || rank_of[later(e)] != rank_of[earlier(e)])
            throw rankwise::Error("edge `" + std::to_string(e) + "` leaves its rank");
        const std::uint32_t rank = rank_of[later(e)];
        builder.order(rank, later(e) - first[rank], earlier(e) - first[rank], at_start(e) != 0);
    }
    return std::make_shared<MatchedSchedule>(builder.finish());
}

Numbers collective(ProgramBuilder &builder, std::uint32_t rank, const std::string &name, std::uint32_t comm,
                   std::uint32_t root, std::uint64_t bytes, std::uint32_t element_bytes,
                   std::uint64_t total_bytes, const Sizes &sizes, const Sizes &receive_sizes,
                   bool nonblocking, const std::string &algorithm, double combine_s_per_byte) {
    coll::Operation operation;
    operation.collective = collective_of(name);
    operation.root = root;
    operation.bytes = bytes;
    operation.element_bytes = element_bytes;
    operation.total_bytes = total_bytes;
    operation.sizes = sizes;
    operation.receive_sizes = receive_sizes;
    operation.nonblocking = nonblocking;
    return builder.collective(rank, comm, operation,
                              algorithm.empty() ? nullptr
                                                : &coll::find_algorithm(operation.collective, algorithm),
                              combine_s_per_byte * 1e12);
}

void bind_program_builder(nb::module_ &room) {
    nb::class_<ProgramBuilder>(room, "ProgramBuilder")
        .def(
            "__init__",
            [](ProgramBuilder *self, std::uint32_t ranks, const std::string &library,
               const std::string &origin) {
                if (ranks == 0 || ranks >= (1u << 30))
                    throw rankwise::Error("a program of `" + std::to_string(ranks) + "` ranks");
                new (self) ProgramBuilder(ranks, library_of(library), origin);
            },
            "ranks"_a, "library"_a, "origin_word"_a)
        .def("communicator", &ProgramBuilder::communicator, "members"_a)
        .def("at", &ProgramBuilder::at, "rank"_a, "origin"_a)
        .def("compute", &ProgramBuilder::compute, "rank"_a, "picoseconds"_a)
        .def("send", &ProgramBuilder::send, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a,
             "synchronous"_a = false)
        .def("receive", &ProgramBuilder::receive, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a)
        .def("isend", &ProgramBuilder::isend, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a,
             "synchronous"_a = false)
        .def("ireceive", &ProgramBuilder::ireceive, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a)
        .def("resolve", &ProgramBuilder::resolve, "rank"_a, "request"_a, "peer"_a, "comm"_a, "tag"_a)
        .def(
            "wait",
            [](ProgramBuilder &self, std::uint32_t rank, const std::vector<std::uint32_t> &requests) {
                self.wait(rank, requests);
            },
            "rank"_a, "requests"_a)
        .def("collective", &collective, "rank"_a, "name"_a, nb::kw_only(), "comm"_a = 0, "root"_a = 0,
             "bytes"_a = 0, "element_bytes"_a = 1, "total_bytes"_a = 0, "sizes"_a = Sizes{},
             "receive_sizes"_a = Sizes{}, "nonblocking"_a = false, "algorithm"_a = "",
             "combine_s_per_byte"_a = 0.0,
             "`algorithm` instead of what the library chooses; a reduction's combining takes processor time.")
        .def(
            "place", [](ProgramBuilder &self, const Numbers &node) { self.place(node); }, "node"_a)
        .def("finish", [](ProgramBuilder &self) { return std::make_shared<MatchedSchedule>(self.finish()); });
}

/// With how often.
using Omitted = std::vector<std::pair<Omission, std::uint64_t>>;

Omitted listed(const Omissions &omitted) {
    return {omitted.begin(), omitted.end()};
}

/// A traced run, and its replay in windows; both keep the records alive.
void bind_traced_run(nb::module_ &room) {
    nb::class_<Omission>(room, "Omission",
                         "What a trace holds that its schedule does not; `core/schedule/omission.hpp`.")
        .def(
            "__init__",
            [](Omission *self, const std::string &kind, std::uint32_t rank, const std::string &call,
               const std::string &problem) {
                const auto known = std::find(Omission::names.begin(), Omission::names.end(), kind);
                if (known == Omission::names.end())
                    throw rankwise::Error("there is no omission `" + kind + "`");
                new (self) Omission{static_cast<Omission::Kind>(known - Omission::names.begin()), rank, call,
                                    problem};
            },
            "kind"_a, "rank"_a = 0, "call"_a = "", "problem"_a = "")
        .def_prop_ro("kind", &Omission::name)
        .def_ro("rank", &Omission::rank)
        .def_ro("call", &Omission::call)
        .def_ro("problem", &Omission::problem);
    nb::class_<TracedRun>(room, "TracedRun")
        .def_static(
            "read",
            [](const std::vector<const rankwise::trace::ThreadRecord *> &ranks, const std::string &library) {
                nb::gil_scoped_release unlocked;
                return std::make_shared<TracedRun>(ranks, library_of(library));
            },
            "ranks"_a, "library"_a, nb::keep_alive<0, 1>())
        .def_prop_ro("operations_about", [](const TracedRun &run) { return run.surveyed.operations; })
        .def_prop_ro("goes_by_nodes", [](const TracedRun &run) { return run.surveyed.goes_by_nodes; })
        .def(
            "schedule",
            [](const TracedRun &run, const std::vector<std::uint32_t> &node) {
                nb::gil_scoped_release unlocked;
                Omissions omitted;
                const CommunicatorNodes nodes(run.communicators, node);
                auto schedule = std::make_shared<MatchedSchedule>(schedule_from_trace(run, nodes, omitted));
                return std::pair(std::move(schedule), listed(omitted));
            },
            "node"_a = std::vector<std::uint32_t>{})
        .def(
            "in_windows",
            [](std::shared_ptr<const TracedRun> run, std::size_t window,
               const std::vector<std::uint32_t> &node) {
                nb::gil_scoped_release unlocked;
                return std::make_unique<StreamedTrace>(std::move(run), node, window);
            },
            "window"_a = 0, "node"_a = std::vector<std::uint32_t>{}, nb::keep_alive<0, 1>());
    nb::class_<StreamedTrace>(room, "StreamedTrace")
        .def_prop_ro("ranks", &StreamedTrace::ranks)
        .def_prop_ro("operations", &StreamedTrace::operations)
        .def_prop_ro("messages", &StreamedTrace::messages)
        .def_prop_ro("bytes", &StreamedTrace::bytes)
        .def_prop_ro("omitted", [](const StreamedTrace &s) { return listed(s.omitted()); });
}

} // namespace

void bind_schedule(nb::module_ &module) {
    auto room = module.def_submodule("schedule");
    nb::class_<MatchedSchedule>(room, "Schedule")
        .def_static(
            "read_goal",
            [](const std::string &text, const std::string &name) {
                nb::gil_scoped_release unlocked;
                return std::make_shared<MatchedSchedule>(read_goal(text, name));
            },
            "text"_a, "name"_a)
        .def_static("is_goal_binary",
                    [](const nb::bytes &data) { return is_goal_binary({data.c_str(), data.size()}); })
        .def_static(
            "read_goal_binary",
            [](const nb::bytes &data, const std::string &name) {
                const std::string_view view(data.c_str(), data.size());
                nb::gil_scoped_release unlocked;
                return std::make_shared<MatchedSchedule>(read_goal_binary(view, name));
            },
            "data"_a, "name"_a)
        .def_static(
            "read_goal_binary",
            [](Array<std::uint8_t> data, const std::string &name) {
                const std::string_view view(reinterpret_cast<const char *>(data.data()), data.size());
                nb::gil_scoped_release unlocked;
                return std::make_shared<MatchedSchedule>(read_goal_binary(view, name));
            },
            "data"_a, "name"_a)
        .def_static("from_arrays", &from_arrays, "operations_of_rank"_a, "kind"_a, "value"_a, "peer"_a,
                    "tag"_a, "later"_a, "earlier"_a, "at_start"_a)
        .def("write_goal", [](const MatchedSchedule &s) { return write_goal(s.schedule); })
        .def("write_goal_binary",
             [](const MatchedSchedule &s) {
                 const std::string data = write_goal_binary(s.schedule);
                 return nb::bytes(data.data(), data.size());
             })
        .def_prop_ro("ranks", [](const MatchedSchedule &s) { return s.schedule.ranks(); })
        .def_prop_ro("operations", [](const MatchedSchedule &s) { return s.schedule.operations.size(); })
        .def_prop_ro("messages", [](const MatchedSchedule &s) { return s.schedule.messages().first; })
        .def_prop_ro("synchronous",
                     [](const MatchedSchedule &s) {
                         const auto &all = s.schedule.operations;
                         return std::count_if(all.begin(), all.end(),
                                              [](const Operation &op) { return op.synchronous(); });
                     })
        .def_prop_ro("bytes", [](const MatchedSchedule &s) { return s.schedule.messages().second; })
        .def_prop_ro(
            "origin",
            [](const MatchedSchedule &s) { return to_numpy(std::vector<std::uint32_t>(s.schedule.origin)); })
        .def(
            "rank_hashes",
            [](const MatchedSchedule &s, Array<std::uint64_t> seed, unsigned rounds) {
                return to_numpy(
                    rank_hashes(s.schedule, s.matching.steps, {seed.data(), seed.size()}, rounds));
            },
            "seed"_a, "rounds"_a)
        .def(
            "renumbered",
            [](const MatchedSchedule &s, Array<std::uint32_t> position) {
                return std::make_shared<MatchedSchedule>(
                    renumbered(s.schedule, s.matching, {position.data(), position.size()}));
            },
            "position"_a)
        .def(
            "at",
            [](const MatchedSchedule &s, std::uint32_t op) {
                if (op >= s.schedule.operations.size())
                    throw rankwise::Error("operation `" + std::to_string(op) + "` does not exist");
                return s.schedule.at(op);
            },
            "operation"_a, "An operation, as its input has it.");
    bind_program_builder(room);
    bind_traced_run(room);
}
