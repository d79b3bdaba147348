// SPDX-License-Identifier: BSD-3-Clause
#include "linux_system.hpp"

#include <unistd.h>

#include "act/state_lock.hpp"
#include "error.hpp"
#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

TaskId this_process() {
    const auto stat = read_task_stat("/proc", getpid());
    return {getpid(), stat ? stat->start : 0};
}

std::vector<std::string> recover(const Plan &plan) {
    const auto restored = restore_from(plan.state, plan.proc, plan.sys);
    if (restored.threads + restored.interrupts == 0) {
        return {};
    }
    return {"a tuner before had ended without it: " + std::to_string(restored.threads) + " threads and " +
            std::to_string(restored.interrupts) + " interrupts were given back what they had"};
}

} // namespace

LinuxSystem::LinuxSystem(const Plan &plan)
    : proc_(plan.proc), sys_(plan.sys), self_(this_process()), lock_(lock_state(plan.state, self_)),
      guard_(plan.state, plan.proc, plan.sys, lock_.number()), notes_(recover(plan)),
      journal_(plan.state, self_, boot_id(plan.proc)),
      actor_(journal_, plan.proc, plan.sys, plan.policy.move_interrupts),
      observer_(plan.node, {plan.pages, plan.proc, plan.sys, plan.pids, plan.users, !plan.daemon}) {
    if (!guard_.watch()) {
        throw Error("no guard process can be made", "without one nothing is changed");
    }
    allow_open_files();
}

Seconds LinuxSystem::now() const {
    return tick_moment().at;
}

Sample LinuxSystem::sample(bool light) {
    auto sample = observer_.sample(light);
    if (!light) {
        ranks_ = sample.ranks;
        actor_.keep_only(ranks_);
    }
    return sample;
}

std::string LinuxSystem::apply(const Change &change) {
    // Whoever killed the guard may kill this next.
    if (!guard_.watch()) {
        return "there is no guard process, and none can be made";
    }
    return actor_.apply(change, ranks_);
}

std::optional<Seconds> LinuxSystem::go_on() {
    const auto next = actor_.go_on();
    for (auto &trouble : actor_.troubles()) {
        notes_.push_back(std::move(trouble));
    }
    return next;
}

void LinuxSystem::restore() {
    const auto restored = actor_.restore();
    if (restored.changed_since > 0) {
        notes_.push_back("masks of " + std::to_string(restored.changed_since) +
                         " threads were changed by another process, and stay");
    }
    if (restored.failed > 0) {
        notes_.push_back("masks of " + std::to_string(restored.failed) + " threads could not be given back");
    }
}

std::vector<std::string> LinuxSystem::notes() {
    auto notes = std::exchange(notes_, {});
    for (auto &note : observer_.notes()) {
        notes.push_back(std::move(note));
    }
    return notes;
}

} // namespace rankwise::tune
