// SPDX-License-Identifier: BSD-3-Clause
#include "replay/machine_replay.hpp"

#include <algorithm>

#include "in_threads.hpp"
#include "replay/loggops.hpp"
#include "replay/lookahead.hpp"
#include "replay/replay_case.hpp"

namespace rankwise::replay {
namespace {

Prediction replay(const Case &of_case) {
    return of_case.ahead.by_rank ? replay_by_rank(of_case) : replay_by_time(of_case);
}

/// Threads meet after each window: each needs some nodes to serve in one, and work for longer than it takes
/// to start it.
unsigned useful_threads(const Schedule &schedule, const Lookahead &ahead) {
    constexpr std::size_t least_queues = 16, least_operations = 250'000;
    const std::size_t most =
        std::min<std::size_t>(ahead.queues / least_queues, schedule.operations.size() / least_operations);
    return static_cast<unsigned>(std::clamp<std::size_t>(most, 1, usable_cores()));
}

} // namespace

Prediction replay_on_machine(const Schedule &schedule, const Matching &matching,
                             const machine::Machine &machine, const machine::Placement &placement,
                             const HowToReplay &how) {
    const Lookahead ahead = look_ahead(schedule, matching.messages, machine, placement,
                                       how.in_one_order || how.observer != nullptr);
    LargeArray<MatchedOperation> settled;
    if (schedule.wildcards)
        settled = steps_on_machine(schedule, matching, machine, placement);
    return replay({.schedule = schedule,
                   .steps = schedule.wildcards ? settled : matching.steps,
                   .sizes = matching.sizes,
                   .machine = machine,
                   .placement = placement,
                   .ahead = ahead,
                   .observer = how.observer,
                   .threads = how.threads == 0 ? useful_threads(schedule, ahead) : how.threads});
}

Prediction replay_on_machine(TraceWindow &window, const MessageRange &messages,
                             const machine::Machine &machine, const machine::Placement &placement) {
    const Lookahead ahead = look_ahead(window.schedule, messages, machine, placement, false);
    const std::vector<std::uint64_t> no_sizes;
    return replay({.schedule = window.schedule,
                   .steps = window.steps,
                   .sizes = no_sizes,
                   .machine = machine,
                   .placement = placement,
                   .ahead = ahead,
                   .window = &window});
}

std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine,
                                   std::span<const machine::Placement> placements, unsigned threads) {
    std::vector<Picoseconds> out(placements.size());
    in_threads(placements.size(), threads, [&](std::size_t k) {
        out[k] = replay_on_machine(schedule, matching, machine, placements[k]).makespan();
    });
    return out;
}

Schedule computing_alone(const Schedule &schedule, const Matching &matching, machine::Machine machine,
                         const machine::Placement &placement) {
    machine.computation_is_as_recorded = true;
    const Prediction replayed = replay_on_machine(schedule, matching, machine, placement);
    Schedule out = schedule;
    for (std::size_t op = 0; op < replayed.alone.size(); ++op)
        if (out.operations[op].kind() == Kind::calc)
            out.operations[op] = Operation::calc(replayed.alone[op]);
    return out;
}

LargeArray<MatchedOperation> steps_on_machine(const Schedule &schedule, const Matching &matching,
                                              const machine::Machine &machine,
                                              const machine::Placement &placement) {
    const machine::LinkClass &network = machine.link_classes[placement.network_link];
    const machine::Segment &s = network.segments.front();
    const LogGOPS plain{s.L, std::max(s.o_send, s.o_receive), s.g, s.G, s.O, network.eager_limit};
    return with_partners(matching.steps, replay_loggops(schedule, matching, plain).partner);
}

} // namespace rankwise::replay
