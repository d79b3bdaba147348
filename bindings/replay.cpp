// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "collective_names.hpp"
#include "error.hpp"
#include "explain/critical_path.hpp"
#include "explain/waiting.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "matched_schedule.hpp"
#include "placement/screen/many_placements.hpp"
#include "replay/loggops.hpp"
#include "replay/machine_replay.hpp"
#include "resources.hpp"
#include "rooms.hpp"
#include "schedule/goal/goal.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"
#include "schedule/tie_order.hpp"
#include "schedule/trace_schedule.hpp"
#include "schedule/windows/streamed_trace.hpp"
#include "timeline.hpp"
#include "trace/node_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::replay;

namespace {

template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Picoseconds picoseconds(double seconds) {
    if (!(seconds * 1e12 <= static_cast<double>(rankwise::machine::longest)))
        throw rankwise::Error("a parameter of more than 13 days", "look for a wrong unit");
    return std::llround(seconds * 1e12);
}

/// Per byte, in picoseconds; rounded far below one, so that 6 ns/byte, which is no binary fraction, is
/// exactly 6000.
double picoseconds_per_byte(double seconds) {
    return std::round(seconds * 1e18) / 1e6;
}

template <class Field> nb::object seconds(const Prediction &prediction, Field field) {
    std::vector<double> out;
    out.reserve(prediction.ranks.size());
    for (const RankTime &rank : prediction.ranks)
        out.push_back(static_cast<double>(rank.*field) /
                      1e12); // a division is exact to the last bit, a product is not
    return to_numpy(std::move(out));
}

template <class Field> nb::object load_seconds(const std::vector<InterfaceLoad> &loads, Field field) {
    std::vector<double> out;
    for (const InterfaceLoad &load : loads)
        out.push_back(static_cast<double>(load.*field) / 1e12);
    return to_numpy(std::move(out));
}

template <class Load> nb::object counts(const std::vector<Load> &loads, std::uint64_t Load::*field) {
    std::vector<std::uint64_t> out;
    for (const Load &load : loads)
        out.push_back(load.*field);
    return to_numpy(std::move(out));
}

nb::dict interface_loads(const std::vector<InterfaceLoad> &loads) {
    nb::dict out;
    out["messages"] = counts(loads, &InterfaceLoad::messages);
    out["bytes"] = counts(loads, &InterfaceLoad::bytes);
    out["busy_s"] = load_seconds(loads, &InterfaceLoad::busy);
    out["queued_s"] = load_seconds(loads, &InterfaceLoad::queued);
    return out;
}

nb::list shared_loads(const std::vector<SharedLoad> &loads) {
    nb::list out;
    for (const SharedLoad &load : loads) {
        nb::dict each;
        each["resource"] = load.resource;
        each["number"] = load.number;
        each["busy_s"] = static_cast<double>(load.busy) / 1e12;
        each["saturated_s"] = static_cast<double>(load.saturated) / 1e12;
        out.append(std::move(each));
    }
    return out;
}

rankwise::machine::LinkClass link_class(const nb::dict &from) {
    rankwise::machine::LinkClass link;
    for (const nb::handle item : nb::cast<nb::list>(from["segments"])) {
        const auto s = nb::cast<nb::dict>(item);
        rankwise::machine::Segment segment;
        if (!s["up_to_bytes"].is_none())
            segment.up_to_bytes = nb::cast<std::uint64_t>(s["up_to_bytes"]);
        segment.L = picoseconds(nb::cast<double>(s["L_s"]));
        segment.o_send = picoseconds(nb::cast<double>(s["o_s"]));
        segment.o_receive = picoseconds(nb::cast<double>(s["o_receive_s"]));
        segment.g = picoseconds(nb::cast<double>(s["g_s"]));
        segment.G = picoseconds_per_byte(nb::cast<double>(s["G_s_per_byte"]));
        segment.O = picoseconds_per_byte(nb::cast<double>(s["O_s_per_byte"]));
        link.segments.push_back(segment);
    }
    if (!from["eager_limit_bytes"].is_none())
        link.eager_limit = nb::cast<std::uint64_t>(from["eager_limit_bytes"]);
    link.in_call = nb::cast<bool>(from["in_call"]);
    const auto limit = [&](const char *key, std::uint64_t &bytes) {
        if (from.contains(key) && !from[key].is_none())
            bytes = nb::cast<std::uint64_t>(from[key]);
    };
    limit("socket_buffer_bytes", link.socket_buffer);
    limit("send_buffer_bytes", link.send_buffer);
    limit("unexpected_buffer_bytes", link.unexpected_buffer);
    if (from.contains("connect_s") && !from["connect_s"].is_none())
        link.connect = picoseconds(nb::cast<double>(from["connect_s"]));
    link.overlap = nb::cast<bool>(from["overlap"]);
    link.network = nb::cast<bool>(from["network"]);
    return link;
}

rankwise::machine::Interface interface(const nb::dict &from) {
    return {picoseconds(nb::cast<double>(from["per_message_s"])),
            picoseconds_per_byte(nb::cast<double>(from["s_per_byte"]))};
}

rankwise::machine::Machine machine_from(const nb::list &links, const nb::dict &tx, const nb::dict &rx,
                                        const std::string &core_sharing, bool progress, bool handshake,
                                        const nb::dict &resources) {
    rankwise::machine::Machine machine;
    for (const nb::handle item : links)
        machine.link_classes.push_back(link_class(nb::cast<nb::dict>(item)));
    machine.tx = interface(tx);
    machine.rx = interface(rx);
    machine.core_sharing = core_sharing == "yield"  ? rankwise::machine::CoreSharing::yield
                           : core_sharing == "spin" ? rankwise::machine::CoreSharing::spin
                                                    : rankwise::machine::CoreSharing::none;
    machine.progress = progress;
    machine.handshake = handshake;
    add_resources(machine, resources);
    return machine;
}

/// Where ranks are; checked here, because the replay indexes with it.
rankwise::machine::Placement placement_from(std::size_t ranks, const rankwise::machine::Machine &machine,
                                            const nb::dict &from) {
    const auto numbers = [&](const char *key) {
        const auto array = nb::cast<Array<std::uint32_t>>(from[key]);
        return std::vector<std::uint32_t>(array.data(), array.data() + array.size());
    };
    rankwise::machine::Placement placement;
    placement.node = numbers("node");
    placement.place = numbers("place");
    placement.processor = numbers("processor");
    placement.capacity = numbers("capacity");
    placement.places = nb::cast<std::uint32_t>(from["places"]);
    const auto links = nb::cast<Array<std::uint8_t>>(from["place_link"]);
    placement.place_link.assign(links.data(), links.data() + links.size());
    placement.network_link = nb::cast<std::uint8_t>(from["network_link"]);
    placement.self_link = nb::cast<std::uint8_t>(from["self_link"]);
    add_resources(placement, from, ranks, machine);
    const auto all_below = [](const auto &values, std::size_t limit) {
        return std::all_of(values.begin(), values.end(), [&](std::size_t value) { return value < limit; });
    };
    const std::size_t link_classes = machine.link_classes.size();
    if (placement.node.size() != ranks || placement.place.size() != ranks ||
        placement.processor.size() != ranks ||
        placement.place_link.size() != std::size_t{placement.places} * placement.places ||
        placement.network_link >= link_classes || placement.self_link >= link_classes ||
        !all_below(placement.place_link, link_classes) || !all_below(placement.place, placement.places) ||
        !all_below(placement.processor, placement.capacity.size()) ||
        (!machine.network.empty() && !all_below(placement.node, machine.network.nodes())))
        throw rankwise::Error("the placement does not fit the schedule of `" + std::to_string(ranks) +
                              "` ranks");
    return placement;
}

/// Replay or screen many placements: one makespan in seconds each.
template <class Judge>
nb::object for_many(const Judge &judge, const MatchedSchedule &s, const nb::list &links, const nb::dict &tx,
                    const nb::dict &rx, const std::string &core_sharing, bool progress, bool handshake,
                    const nb::list &placements, unsigned threads, const nb::dict &resources) {
    const auto machine = machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
    std::vector<rankwise::machine::Placement> where;
    for (const nb::handle each : placements)
        where.push_back(placement_from(s.schedule.ranks(), machine, nb::cast<nb::dict>(each)));
    std::vector<double> out;
    {
        nb::gil_scoped_release unlocked;
        for (const Picoseconds time : judge(s.schedule, s.matching, machine, where, threads))
            out.push_back(static_cast<double>(time) / 1e12);
    }
    return to_numpy(std::move(out));
}

nb::object replay_many(const MatchedSchedule &s, const nb::list &links, const nb::dict &tx,
                       const nb::dict &rx, const std::string &core_sharing, bool progress, bool handshake,
                       const nb::list &placements, unsigned threads, const nb::dict &resources) {
    return for_many(makespans, s, links, tx, rx, core_sharing, progress, handshake, placements, threads,
                    resources);
}

nb::object screen_many(const MatchedSchedule &s, const nb::list &links, const nb::dict &tx,
                       const nb::dict &rx, const std::string &core_sharing, bool progress, bool handshake,
                       const nb::list &placements, unsigned threads, const nb::dict &resources) {
    const auto judge = [&s](const auto &...arguments) { return s.screen(arguments...); };
    return for_many(judge, s, links, tx, rx, core_sharing, progress, handshake, placements, threads,
                    resources);
}

/// Everything that happened in one replay, for Python.
struct RecordedReplay {
    Prediction prediction;
    Timeline timeline;
    std::vector<PathSegment> path;
    std::vector<Waiting> waiting_of;
    std::shared_ptr<const MatchedSchedule> of;
    rankwise::LargeArray<Step> known; ///< of a schedule with wildcards, once they are settled

    const rankwise::LargeArray<Step> &steps() const {
        return of->schedule.wildcards ? known : of->matching.steps;
    }
};

RecordedReplay replay_recorded(std::shared_ptr<const MatchedSchedule> s, const nb::list &links,
                               const nb::dict &tx, const nb::dict &rx, const std::string &core_sharing,
                               bool progress, bool handshake, const nb::dict &placement_dict,
                               const nb::dict &resources) {
    const auto machine = machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
    const auto placement = placement_from(s->schedule.ranks(), machine, placement_dict);
    nb::gil_scoped_release unlocked;
    RecordedReplay out;
    out.prediction = replay_on_machine(s->schedule, s->matching, machine, placement, out.timeline);
    if (s->schedule.wildcards)
        out.known = steps_on_machine(s->schedule, s->matching, machine, placement);
    out.of = std::move(s);
    out.path = critical_path(out.steps(), machine, placement, out.timeline);
    out.waiting_of = waiting(out.steps(), machine, placement, out.prediction, out.timeline);
    return out;
}

/// A field of each item, as seconds.
template <class Items, class Field> nb::object field_s(const Items &items, Field field) {
    std::vector<double> out;
    out.reserve(items.size());
    for (const auto &item : items)
        out.push_back(static_cast<double>(item.*field) / 1e12);
    return to_numpy(std::move(out));
}

nb::dict path_dict(const RecordedReplay &r) {
    std::vector<std::uint32_t> operations, ranks;
    std::vector<std::uint8_t> why;
    for (const PathSegment &segment : r.path) {
        operations.push_back(segment.op);
        ranks.push_back(r.steps()[segment.op].rank);
        why.push_back(static_cast<std::uint8_t>(segment.cause));
    }
    nb::dict out;
    out["operation"] = to_numpy(std::move(operations));
    out["rank"] = to_numpy(std::move(ranks));
    out["cause"] = to_numpy(std::move(why));
    out["from_s"] = field_s(r.path, &PathSegment::from);
    out["to_s"] = field_s(r.path, &PathSegment::to);
    return out;
}

nb::dict waiting_dict(const RecordedReplay &r) {
    nb::dict out;
    for (std::size_t cause = 0; cause < waits_for_names.size(); ++cause) {
        std::vector<double> times;
        times.reserve(r.waiting_of.size());
        for (const Waiting &of_rank : r.waiting_of)
            times.push_back(static_cast<double>(of_rank[cause]) / 1e12);
        out[waits_for_names[cause]] = to_numpy(std::move(times));
    }
    return out;
}

nb::dict parts_dict(const Prediction &prediction) {
    nb::dict out;
    for (const RankPart &part : rank_parts)
        out[part.name] = seconds(prediction, part.time);
    return out;
}

nb::tuple names(const auto &all) {
    nb::list out;
    for (const char *name : all)
        out.append(name);
    return nb::tuple(out);
}

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
                                                : Operation::calc(static_cast<Picoseconds>(value(i)));
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

/// Replay many placements in windows: one makespan in seconds each.
nb::object streamed_makespans(const StreamedTrace &s, const nb::list &links, const nb::dict &tx,
                              const nb::dict &rx, const std::string &core_sharing, bool progress,
                              bool handshake, const nb::list &placements, unsigned threads,
                              const nb::dict &resources) {
    const auto machine = machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
    std::vector<rankwise::machine::Placement> where;
    for (const nb::handle each : placements)
        where.push_back(placement_from(s.ranks(), machine, nb::cast<nb::dict>(each)));
    std::vector<double> out;
    {
        nb::gil_scoped_release unlocked;
        for (const Picoseconds time : s.makespans(machine, where, threads))
            out.push_back(static_cast<double>(time) / 1e12);
    }
    return to_numpy(std::move(out));
}

/// A traced run, and its replay in windows, for Python; both keep the records alive.
void bind_traced_run(nb::module_ &room) {
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
                return std::pair(std::move(schedule), std::move(omitted));
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
        .def_prop_ro("omitted", &StreamedTrace::omitted)
        .def(
            "replay_on_machine",
            [](const StreamedTrace &s, const nb::list &links, const nb::dict &tx, const nb::dict &rx,
               const std::string &core_sharing, bool progress, bool handshake, const nb::dict &placement_dict,
               const nb::dict &resources) {
                const auto machine =
                    machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
                const auto placement = placement_from(s.ranks(), machine, placement_dict);
                nb::gil_scoped_release unlocked;
                return s.replay(machine, placement);
            },
            "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a, "handshake"_a, "layout"_a,
            "resources"_a = nb::dict())
        .def("makespans_s", &streamed_makespans, "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a,
             "handshake"_a, "layouts"_a, "threads"_a = 0, "resources"_a = nb::dict())
        // There is no order of a whole replay to screen by: every placement is replayed.
        .def("screen_s", &streamed_makespans, "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a,
             "handshake"_a, "layouts"_a, "threads"_a = 0, "resources"_a = nb::dict());
}

} // namespace

void bind_replay(nb::module_ &module) {
    auto room = module.def_submodule("replay");

    auto prediction = nb::class_<Prediction>(room, "Prediction");
    prediction
        .def_prop_ro("makespan_s",
                     [](const Prediction &p) { return static_cast<double>(p.makespan()) / 1e12; })
        .def_prop_ro("let_go", [](const Prediction &p) { return p.let_go; })
        .def_prop_ro("finish_s", [](const Prediction &p) { return seconds(p, &RankTime::finish); })
        .def_prop_ro("parts_s", &parts_dict)
        .def_prop_ro("shared", [](const Prediction &p) { return shared_loads(p.shared); })
        .def_prop_ro("tx", [](const Prediction &p) { return interface_loads(p.tx); })
        .def_prop_ro("rx", [](const Prediction &p) { return interface_loads(p.rx); })
        .def_prop_ro("ports", [](const Prediction &p) { return interface_loads(p.ports); })
        .def_prop_ro("channel_messages",
                     [](const Prediction &p) { return counts(p.channels, &ChannelLoad::messages); })
        .def_prop_ro("channel_bytes",
                     [](const Prediction &p) { return counts(p.channels, &ChannelLoad::bytes); });
    for (const RankPart &part : rank_parts)
        prediction.def_prop_ro((std::string(part.name) + "_s").c_str(),
                               [time = part.time](const Prediction &p) { return seconds(p, time); });

    nb::class_<RecordedReplay>(room, "RecordedReplay")
        .def_ro("prediction", &RecordedReplay::prediction)
        .def_prop_ro("timeline",
                     [](const RecordedReplay &r) { return timeline_columns(r.steps(), r.timeline); })
        .def_prop_ro("critical_path", &path_dict)
        .def_prop_ro("waiting", &waiting_dict);
    room.attr("CAUSES") = names(cause_names);
    room.attr("WAITS_FOR") = names(waits_for_names);

    bind_traced_run(room);
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
            "replay_loggops",
            [](const MatchedSchedule &s, double L_s, double o_s, double g_s, double G_s_per_byte,
               double O_s_per_byte, std::uint64_t S_bytes) {
                nb::gil_scoped_release unlocked;
                const LogGOPS parameters{picoseconds(L_s),
                                         picoseconds(o_s),
                                         picoseconds(g_s),
                                         picoseconds_per_byte(G_s_per_byte),
                                         picoseconds_per_byte(O_s_per_byte),
                                         S_bytes};
                return replay_loggops(s.schedule, s.matching, parameters);
            },
            "L_s"_a, "o_s"_a, "g_s"_a, "G_s_per_byte"_a, "O_s_per_byte"_a, "S_bytes"_a)
        .def(
            "replay_on_machine",
            [](const MatchedSchedule &s, const nb::list &links, const nb::dict &tx, const nb::dict &rx,
               const std::string &core_sharing, bool progress, bool handshake, const nb::dict &placement_dict,
               const nb::dict &resources) {
                const auto machine =
                    machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
                const auto placement = placement_from(s.schedule.ranks(), machine, placement_dict);
                nb::gil_scoped_release unlocked;
                return replay_on_machine(s.schedule, s.matching, machine, placement);
            },
            "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a, "handshake"_a, "layout"_a,
            "resources"_a = nb::dict())
        .def(
            "computing_alone",
            [](const MatchedSchedule &s, const nb::list &links, const nb::dict &tx, const nb::dict &rx,
               const std::string &core_sharing, bool progress, bool handshake, const nb::dict &placement_dict,
               const nb::dict &resources) {
                auto machine = machine_from(links, tx, rx, core_sharing, progress, handshake, resources);
                const auto placement = placement_from(s.schedule.ranks(), machine, placement_dict);
                nb::gil_scoped_release unlocked;
                return std::make_shared<MatchedSchedule>(
                    computing_alone(s.schedule, s.matching, std::move(machine), placement));
            },
            "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a, "handshake"_a, "layout"_a,
            "resources"_a)
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
        .def("replay_recorded", &replay_recorded, "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a,
             "handshake"_a, "layout"_a, "resources"_a = nb::dict())
        .def(
            "describe",
            [](const MatchedSchedule &s, std::uint32_t op) {
                if (op >= s.schedule.operations.size())
                    throw rankwise::Error("operation `" + std::to_string(op) + "` does not exist");
                return s.schedule.describe(op);
            },
            "operation"_a)
        .def("makespans_s", &replay_many, "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a,
             "handshake"_a, "layouts"_a, "threads"_a = 0, "resources"_a = nb::dict())
        .def("screen_s", &screen_many, "links"_a, "tx"_a, "rx"_a, "core_sharing"_a, "progress"_a,
             "handshake"_a, "layouts"_a, "threads"_a = 0, "resources"_a = nb::dict());
}
