// SPDX-License-Identifier: BSD-3-Clause
#include "replay/machine_replay.hpp"

#include <utility>

#include "replay/machine_engine.hpp"
#include "replay/node_replay.hpp"

namespace rankwise::replay {
namespace {

template <class Recorder>
Prediction replay_steps(const Schedule &schedule, const LargeArray<Step> &steps, const Machine &machine,
                        const Placement &placement, Recorder recorder) {
    if (machine.only_interfaces_and_cores())
        return Engine<Recorder, NoMoreResources>(schedule, steps, machine, placement, recorder).run();
    return Engine<Recorder, MoreResources>(schedule, steps, machine, placement, recorder).run();
}

template <class Recorder>
Prediction replay(const Schedule &schedule, const Matching &matching, const Machine &machine,
                  const Placement &placement, Recorder recorder) {
    if (!schedule.wildcards)
        return replay_steps(schedule, matching.steps, machine, placement, recorder);
    const LargeArray<Step> steps = steps_on_machine(schedule, matching, machine, placement);
    return replay_steps(schedule, steps, machine, placement, recorder);
}

} // namespace

Prediction replay_on_machine(const Schedule &schedule, const Matching &matching, const Machine &machine,
                             const Placement &placement) {
    if (auto faster = replay_by_node(schedule, matching, machine, placement))
        return *std::move(faster);
    return replay(schedule, matching, machine, placement, NoRecorder{});
}

Prediction replay_on_machine(const Schedule &schedule, const Matching &matching, const Machine &machine,
                             const Placement &placement, Timeline &timeline) {
    return replay(schedule, matching, machine, placement, TimelineRecorder(timeline));
}

Prediction replay_on_machine(const Schedule &schedule, const Matching &matching, const Machine &machine,
                             const Placement &placement, ServiceOrder &order) {
    return replay(schedule, matching, machine, placement, OrderRecorder(order));
}

Prediction replay_on_machine(TraceWindow &window, const Machine &machine, const Placement &placement) {
    if (!machine.only_interfaces_and_cores())
        throw Error("a trace is replayed in windows with interfaces and cores as its only resources",
                    "leave the others out with `--without`, or replay it whole with `--memory`");
    return Engine<InWindows, NoMoreResources>(window.schedule, window.steps, machine, placement,
                                              InWindows(window))
        .run();
}

} // namespace rankwise::replay
