// SPDX-License-Identifier: BSD-3-Clause
#include "linux_system.hpp"

#include <algorithm>
#include <unistd.h>

#include "act/state_lock.hpp"
#include "error.hpp"
#include "proc/priority.hpp"
#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

TaskId this_process() {
    const auto stat = read_task_stat("/proc", getpid());
    return {getpid(), stat ? stat->start : 0};
}

// Whoever asks a tuner to end waits for 10 s.
constexpr Seconds longest_way_back = 5;
// A guard that is at work has them until it has done that (for_good_us).
constexpr int claim_tries = 150;
constexpr useconds_t claim_pause_us = 10'000;

std::vector<std::string> recover(const Plan &plan) {
    const auto text = restored_text(restore_from(plan.state, plan.proc, plan.sys));
    return text.empty() ? std::vector<std::string>{}
                        : std::vector{"a tuner before had ended without it: " + text};
}

} // namespace

LinuxSystem::LinuxSystem(const Plan &plan)
    : proc_(plan.proc), sys_(plan.sys), self_(this_process()), directory_(plan.state),
      guard_(directory_, plan.proc, plan.sys), notes_(recover(plan)),
      journal_(directory_, guard_, self_, boot_id(plan.proc)),
      actor_(guard_, journal_, plan.proc, plan.sys, plan.policy.move_interrupts),
      observer_(plan.node, {plan.pages, plan.proc, plan.sys, plan.pids, plan.users, !plan.daemon}) {
    allow_open_files(); // before there is a guard, which has as many claims as there are ranks
    if (!watch_guard()) {
        throw Error("no guard process can be made", "without one nothing is changed");
    }
    if (plan.policy.act) {
        claim(plan.pids);
    }
}

bool LinuxSystem::watch_guard() {
    if (changes_) {
        come_first();
    }
    return guard_.watch();
}

void LinuxSystem::claim(const std::vector<std::int32_t> &pids) {
    for (const auto pid : pids) {
        const auto stat = read_task_stat(proc_, pid);
        std::string why;
        // The guard of a tuner that was killed may be about to restore it.
        for (int i = 0; stat && i < claim_tries && !(why = guard_.claim({pid, stat->start})).empty(); ++i) {
            usleep(claim_pause_us);
        }
        if (!why.empty()) {
            throw Error("process `" + std::to_string(pid) + "` " + why, "`rankwise tune stop` ends a tuner");
        }
    }
}

Seconds LinuxSystem::now() const {
    return tick_moment().at;
}

Sample LinuxSystem::sample(bool light) {
    auto sample = observer_.sample(light);
    if (!light) {
        ranks_ = sample.ranks;
        sample.no_journal = actor_.look(ranks_);
    }
    return sample;
}

Seconds LinuxSystem::look_at_units() {
    return observer_.look_at_units();
}

Sample LinuxSystem::sample_with_movers() {
    observer_.look_for_movers();
    return sample(false);
}

std::string LinuxSystem::apply(const Change &change) {
    changes_ = true;
    // Whoever killed the guard may kill this next.
    if (!watch_guard()) {
        return "there is no guard process, and none can be made";
    }
    return actor_.apply(change, ranks_);
}

std::optional<Seconds> LinuxSystem::go_on() {
    const auto next = actor_.go_on();
    if (!next) {
        observer_.look_at_pages(actor_.touched());
    }
    for (auto &trouble : actor_.troubles()) {
        notes_.push_back(std::move(trouble));
    }
    return next;
}

GivenBack LinuxSystem::restore() {
    const GivenBack given = actor_.restore();
    take_pages_back();
    return given;
}

void LinuxSystem::keep() {
    actor_.forget();
    take_pages_back();
}

void LinuxSystem::take_pages_back() {
    const Seconds until = now() + longest_way_back;
    while (const auto next = go_on()) {
        if (*next > until) {
            notes_.emplace_back("not all pages that were moved are back: there was not enough time");
            return;
        }
        usleep(static_cast<useconds_t>(std::max(*next - now(), 0.0) * 1e6));
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
