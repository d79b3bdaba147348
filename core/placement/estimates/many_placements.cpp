// SPDX-License-Identifier: BSD-3-Clause
#include "placement/estimates/many_placements.hpp"

#include <algorithm>

#include "in_threads.hpp"
#include "placement/estimates/estimate_pass.hpp"
#include "placement/estimates/lanes.hpp"
#include "replay/machine_replay.hpp"

namespace rankwise::replay {

EstimateProgram estimate_program_of(const Schedule &schedule, const Matching &matching,
                                    const machine::Machine &machine, const machine::Placement &placement) {
    // A pass knows no full buffers. They can hold a send up until its receive has begun, which has no static
    // order.
    machine::Machine unbuffered = machine;
    for (machine::LinkClass &link : unbuffered.link_classes)
        link.socket_buffer = machine::LinkClass::unlimited;
    ServiceOrder order;
    OrderObserver observer(order);
    if (const Prediction replayed =
            replay_on_machine(schedule, matching, unbuffered, placement, {.observer = &observer});
        replayed.ended_sends > 0) {
        // What a send ended early for is done before the send's message is: no static order.
        EstimateProgram none;
        none.ended_sends = replayed.ended_sends;
        return none;
    }
    if (!schedule.wildcards)
        return estimate_program(schedule, matching.steps, order, unbuffered);
    return estimate_program(schedule, steps_on_machine(schedule, matching, unbuffered, placement), order,
                            unbuffered);
}

std::vector<Picoseconds> estimate(const EstimateProgram &program, const machine::Machine &machine,
                                  std::span<const machine::Placement> placements, unsigned threads) {
    std::vector<Picoseconds> out(placements.size());
    in_threads((placements.size() + lanes - 1) / lanes, threads, [&](std::size_t k) {
        const auto some = placements.subspan(k * lanes, std::min(lanes, placements.size() - k * lanes));
        const std::vector<Picoseconds> part = estimate_pass(program, machine, some);
        std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(k * lanes));
    });
    return out;
}

std::shared_ptr<const Estimates::Kept> Estimates::program_of(const Schedule &schedule,
                                                             const Matching &matching,
                                                             const machine::Machine &machine,
                                                             const machine::Placement &first) {
    const std::lock_guard one_at_a_time(mutex_);
    if (!kept_ || !(kept_->first == first) || !(kept_->machine == machine)) {
        kept_.reset(); // not both at once
        kept_ = std::make_shared<const Kept>(
            Kept{machine, first, estimate_program_of(schedule, matching, machine, first)});
    }
    return kept_;
}

std::vector<Picoseconds> Estimates::operator()(const Schedule &schedule, const Matching &matching,
                                               const machine::Machine &machine,
                                               std::span<const machine::Placement> placements,
                                               unsigned threads) {
    if (placements.empty())
        return {};
    const auto kept = program_of(schedule, matching, machine, placements.front());
    if (kept->program.ended_sends > 0)
        return makespans(schedule, matching, machine, placements, threads);
    return estimate(kept->program, machine, placements, threads);
}

} // namespace rankwise::replay
