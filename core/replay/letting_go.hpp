// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "replay/deadlock.hpp"
#include "replay/machine_events.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does when nothing can go on.
template <class Engine> struct LettingGo {
    using More = typename Engine::MoreType;
    using Recorder = typename Engine::RecorderType;

    Engine &e;

    /// What a message operation waits for if it does not end.
    OtherEnd other_end() {
        Engine &engine = e;
        if constexpr (Recorder::in_windows) // a send that was not read comes with the rest of its rank
            return [&engine](std::uint32_t op) {
                const Step &step = engine.steps_[op];
                return step.kind() == Kind::receive && step.partner == any
                           ? engine.schedule_.first[step.peer + 1] - 1
                           : step.partner;
            };
        if constexpr (More::any) {
            const auto begun = [&engine](std::uint32_t op) {
                return engine.progress_.has(op, Progress::begun);
            };
            return [&engine, held_up = engine.more_.paths.held_up(engine.steps_, begun)](std::uint32_t op) {
                const auto found = held_up.find(op);
                return found == held_up.end() ? engine.steps_[op].partner : found->second;
            };
        }
        return [&engine](std::uint32_t op) { return engine.steps_[op].partner; };
    }

    /// Nothing can go on: the sends in circles end as if they were buffered; their messages travel when their
    /// receives are there.
    /// @return whether there were any
    bool let_sends_go() {
        if (!e.schedule_.recorded || e.progress_.all_ended())
            return false;
        const std::vector<std::uint32_t> sends = e.standstills_.waiting_sends(other_end());
        for (const std::uint32_t send : sends) {
            e.end(send);
            e.recorder_.let_go(send);
        }
        e.let_go_ += sends.size();
        e.release();
        return !sends.empty();
    }
    /// Whether a send has ended because it was let go, and not as its message has left.
    bool is_under_way(std::uint32_t op) {
        return e.let_go_ > 0 && e.steps_[op].kind() == Kind::send && e.progress_.has(op, Progress::ended) &&
               !e.cost_of_send(op).eager && !e.messages().has_left_entirely(op);
    }
};

} // namespace rankwise::replay
