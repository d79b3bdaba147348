// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "many_placements.hpp"
#include "replay/loggops.hpp"
#include "replay/machine_replay.hpp"
#include "replay/streamed_trace.hpp"
#include "rooms.hpp"
#include "schedule.hpp"
#include "seconds.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::replay;
using rankwise::machine::Machine;
using rankwise::machine::Placement;

namespace {

template <class Load> auto counts(const std::vector<Load> &loads, std::uint64_t Load::*field) {
    return column<std::uint64_t>(loads, [&](const Load &load) { return load.*field; });
}

Columns interface_loads(const std::vector<InterfaceLoad> &loads) {
    nb::dict out;
    out["messages"] = counts(loads, &InterfaceLoad::messages);
    out["bytes"] = counts(loads, &InterfaceLoad::bytes);
    out["busy_s"] = seconds(loads, &InterfaceLoad::busy);
    out["queued_s"] = seconds(loads, &InterfaceLoad::queued);
    return Columns(out);
}

void bind_prediction(nb::module_ &room) {
    nb::class_<SharedLoad>(room, "SharedLoad")
        .def_ro("resource", &SharedLoad::resource)
        .def_ro("number", &SharedLoad::number)
        .def_prop_ro("busy_s", [](const SharedLoad &load) { return seconds(load.busy); })
        .def_prop_ro("saturated_s", [](const SharedLoad &load) { return seconds(load.saturated); });
    auto prediction =
        nb::class_<Prediction>(room, "Prediction")
            .def_prop_ro("makespan_s", [](const Prediction &p) { return seconds(p.makespan()); })
            .def_ro("queues", &Prediction::queues)
            .def_ro("ended_sends", &Prediction::ended_sends)
            .def_prop_ro("finish_s", [](const Prediction &p) { return seconds(p.ranks, &RankTime::finish); })
            .def_prop_ro("parts_s",
                         [](const Prediction &p) {
                             nb::dict out;
                             for (const RankPart &part : rank_parts)
                                 out[part.name] = seconds(p.ranks, part.time);
                             return Columns(out);
                         })
            .def_ro("shared", &Prediction::shared)
            .def_prop_ro("tx", [](const Prediction &p) { return interface_loads(p.tx); })
            .def_prop_ro("rx", [](const Prediction &p) { return interface_loads(p.rx); })
            .def_prop_ro("ports", [](const Prediction &p) { return interface_loads(p.ports); })
            .def_prop_ro("channel_messages",
                         [](const Prediction &p) { return counts(p.channels, &ChannelLoad::messages); })
            .def_prop_ro("channel_bytes",
                         [](const Prediction &p) { return counts(p.channels, &ChannelLoad::bytes); });
    for (const RankPart &part : rank_parts)
        prediction.def_prop_ro((std::string(part.name) + "_s").c_str(),
                               [time = part.time](const Prediction &p) { return seconds(p.ranks, time); });
}

} // namespace

void bind_replay(nb::module_ &module) {
    auto room = module.def_submodule("replay");
    bind_prediction(room);
    const nb::object schedules = module.attr("schedule");
    nb::borrow<nb::class_<MatchedSchedule>>(schedules.attr("Schedule"))
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
            "replay",
            [](const MatchedSchedule &s, const Machine &machine, const Placement &placement, unsigned threads,
               bool in_one_order) {
                nb::gil_scoped_release unlocked;
                placement.check(machine, s.schedule.ranks());
                return replay_on_machine(s.schedule, s.matching, machine, placement,
                                         {.threads = threads, .in_one_order = in_one_order});
            },
            "machine"_a, "placement"_a, "threads"_a = 0, "in_one_order"_a = false)
        .def(
            "makespans_s",
            [](const MatchedSchedule &s, const Machine &machine, const Placements &placements,
               unsigned threads) {
                return times_of_all(machine, placements, s.schedule.ranks(), [&] {
                    return makespans(s.schedule, s.matching, machine, placements, threads);
                });
            },
            "machine"_a, "placements"_a, "threads"_a = 0)
        .def(
            "computing_alone",
            [](const MatchedSchedule &s, const Machine &machine, const Placement &placement) {
                nb::gil_scoped_release unlocked;
                placement.check(machine, s.schedule.ranks());
                return std::make_shared<MatchedSchedule>(
                    computing_alone(s.schedule, s.matching, machine, placement));
            },
            "machine"_a, "placement"_a,
            "The schedule with computation as long as it would have been alone where it was timed.");
    nb::borrow<nb::class_<StreamedTrace>>(schedules.attr("StreamedTrace"))
        .def(
            "replay",
            [](const StreamedTrace &s, const Machine &machine, const Placement &placement) {
                nb::gil_scoped_release unlocked;
                placement.check(machine, s.ranks());
                return s.replay(machine, placement);
            },
            "machine"_a, "placement"_a)
        .def(
            "makespans_s",
            [](const StreamedTrace &s, const Machine &machine, const Placements &placements,
               unsigned threads) {
                return times_of_all(machine, placements, s.ranks(),
                                    [&] { return s.makespans(machine, placements, threads); });
            },
            "machine"_a, "placements"_a, "threads"_a = 0);
}
