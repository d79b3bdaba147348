// SPDX-License-Identifier: BSD-3-Clause
#include "placement/screen/many_placements.hpp"

#include <algorithm>

#include "in_threads.hpp"
#include "placement/screen/lanes.hpp"
#include "placement/screen/static_pass.hpp"
#include "replay/machine_replay.hpp"

namespace rankwise::replay {
std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine,
                                   std::span<const machine::Placement> placements, unsigned threads) {
    std::vector<Picoseconds> out(placements.size());
    in_threads(placements.size(), threads, [&](std::size_t k) {
        out[k] = replay_on_machine(schedule, matching, machine, placements[k]).makespan();
    });
    return out;
}

ScreenProgram screen_program_of(const Schedule &schedule, const Matching &matching,
                                const machine::Machine &machine, const machine::Placement &placement) {
    ServiceOrder order;
    OrderObserver observer(order);
    if (const Prediction replayed =
            replay_on_machine(schedule, matching, machine, placement, {.observer = &observer});
        replayed.let_go > 0) {
        ScreenProgram
            none; // what a send was let go for is done before the send's message is: no static order
        none.let_go = replayed.let_go;
        return none;
    }
    if (!schedule.wildcards)
        return screen_program(schedule, matching.steps, order, machine);
    return screen_program(schedule, steps_on_machine(schedule, matching, machine, placement), order, machine);
}

std::vector<Picoseconds> screen(const ScreenProgram &program, const machine::Machine &machine,
                                std::span<const machine::Placement> placements, unsigned threads) {
    std::vector<Picoseconds> out(placements.size());
    in_threads((placements.size() + lanes - 1) / lanes, threads, [&](std::size_t k) {
        const auto some = placements.subspan(k * lanes, std::min(lanes, placements.size() - k * lanes));
        const std::vector<Picoseconds> part = static_pass(program, machine, some);
        std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(k * lanes));
    });
    return out;
}

std::shared_ptr<const Screen::Kept> Screen::program_of(const Schedule &schedule, const Matching &matching,
                                                       const machine::Machine &machine,
                                                       const machine::Placement &first) {
    const std::lock_guard one_at_a_time(mutex_);
    if (!kept_ || !(kept_->first == first) || !(kept_->machine == machine)) {
        kept_.reset(); // not both at once
        kept_ = std::make_shared<const Kept>(
            Kept{machine, first, screen_program_of(schedule, matching, machine, first)});
    }
    return kept_;
}

std::vector<Picoseconds> Screen::operator()(const Schedule &schedule, const Matching &matching,
                                            const machine::Machine &machine,
                                            std::span<const machine::Placement> placements,
                                            unsigned threads) {
    if (placements.empty())
        return {};
    const auto kept = program_of(schedule, matching, machine, placements.front());
    if (kept->program.let_go > 0)
        return makespans(schedule, matching, machine, placements, threads);
    return screen(kept->program, machine, placements, threads);
}

} // namespace rankwise::replay
