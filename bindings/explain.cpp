// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/stl/shared_ptr.h>

#include "explain/critical_path.hpp"
#include "explain/timeline.hpp"
#include "explain/waiting.hpp"
#include "large_array.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/machine_replay.hpp"
#include "rooms.hpp"
#include "schedule.hpp"
#include "schedule/matched_operation.hpp"
#include "seconds.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankwise::replay;
using rankwise::machine::Machine;
using rankwise::machine::Placement;

namespace {

/// Everything that happened in one replay.
struct Explanation {
    Prediction prediction;
    Timeline timeline;
    std::vector<PathSegment> path;
    std::vector<Waiting> waiting_of;
    std::shared_ptr<const MatchedSchedule> of;
    rankwise::LargeArray<MatchedOperation> known; ///< of a schedule with wildcards, once they are settled

    const rankwise::LargeArray<MatchedOperation> &steps() const {
        return of->schedule.wildcards ? known : of->matching.steps;
    }
};

Explanation explain(std::shared_ptr<const MatchedSchedule> s, const Machine &machine,
                    const Placement &placement) {
    nb::gil_scoped_release unlocked;
    placement.check(machine, s->schedule.ranks());
    Explanation out;
    TimelineObserver observer(out.timeline);
    out.prediction = replay_on_machine(s->schedule, s->matching, machine, placement, {.observer = &observer});
    if (s->schedule.wildcards)
        out.known = steps_on_machine(s->schedule, s->matching, machine, placement);
    out.of = std::move(s);
    out.path = critical_path(out.steps(), machine, placement, out.timeline);
    out.waiting_of = waiting(out.steps(), machine, placement, out.prediction, out.timeline);
    return out;
}

Columns path_columns(const Explanation &e) {
    nb::dict out;
    out["operation"] = column<std::uint32_t>(e.path, [](const PathSegment &each) { return each.op; });
    out["rank"] =
        column<std::uint32_t>(e.path, [&](const PathSegment &each) { return e.steps()[each.op].rank; });
    out["cause"] = column<std::uint8_t>(e.path, [](const PathSegment &each) { return each.cause; });
    out["from_s"] = seconds(e.path, &PathSegment::from);
    out["to_s"] = seconds(e.path, &PathSegment::to);
    return Columns(out);
}

Columns waiting_columns(const Explanation &e) {
    nb::dict out;
    for (std::size_t cause = 0; cause < waits_for_names.size(); ++cause)
        out[waits_for_names[cause]] =
            column<double>(e.waiting_of, [&](const Waiting &of_rank) { return seconds(of_rank[cause]); });
    return Columns(out);
}

Columns timeline_columns(const Explanation &e) {
    const auto &steps = e.steps();
    const auto &operations = e.timeline.operations;
    const auto &gaps = e.timeline.gaps;
    const auto time = [&](Picoseconds OperationTimes::*field) {
        return column<std::int64_t>(operations, [&](const OperationTimes &each) { return each.*field; });
    };
    nb::dict out;
    out["rank"] = column<std::uint32_t>(steps, [](const MatchedOperation &step) { return step.rank; });
    out["kind"] = column<std::uint8_t>(steps, [](const MatchedOperation &step) { return step.kind(); });
    out["bytes"] = column<std::uint64_t>(
        steps, [](const MatchedOperation &step) { return step.kind() == Kind::calc ? 0 : step.bytes(); });
    out["partner"] = column<std::uint32_t>(steps, [](const MatchedOperation &step) { return step.partner; });
    out["ready"] = time(&OperationTimes::ready);
    out["begin"] = time(&OperationTimes::begin);
    out["end"] = time(&OperationTimes::end);
    out["arrives"] = time(&OperationTimes::arrives);
    out["gap_op"] = column<std::uint32_t>(gaps, [](const Timeline::Gap &gap) { return gap.op; });
    out["gap_from"] = column<std::int64_t>(gaps, [](const Timeline::Gap &gap) { return gap.from; });
    out["gap_to"] = column<std::int64_t>(gaps, [](const Timeline::Gap &gap) { return gap.to; });
    return Columns(out);
}

nb::typed<nb::tuple, nb::str, nb::ellipsis> names(const auto &all) {
    nb::list out;
    for (const char *name : all)
        out.append(name);
    return nb::typed<nb::tuple, nb::str, nb::ellipsis>(nb::tuple(out));
}

} // namespace

void bind_explain(nb::module_ &module) {
    auto room = module.def_submodule("explain");
    nb::class_<Explanation>(room, "Explanation")
        .def_ro("prediction", &Explanation::prediction)
        .def_prop_ro("critical_path", &path_columns,
                     "`operation`, `rank`, `cause` (of `CAUSES`), `from_s`, `to_s`")
        .def_prop_ro("waiting", &waiting_columns, "Seconds of each rank, by what it waits for.")
        .def_prop_ro(
            "timeline", &timeline_columns,
            "What was done when. One entry an operation: `rank`, `kind`, `bytes` (0 of a computation), "
            "`partner` (4294967295 for none), and `ready`, `begin`, `end`, `arrives` in picoseconds. One "
            "entry a gap: `gap_op`, `gap_from`, `gap_to`.");
    room.attr("CAUSES") = names(cause_names);
    room.attr("WAITS_FOR") = names(waits_for_names);
    nb::borrow<nb::class_<MatchedSchedule>>(module.attr("schedule").attr("Schedule"))
        .def("explain", &explain, "machine"_a, "placement"_a, "Replay, and keep what happened when.");
}
