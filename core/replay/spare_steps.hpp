// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/machine_events.hpp"
#include "replay/resources/spare_time.hpp"
#include "schedule/step.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does about bytes that a receiver has dealt with while it had
/// nothing else to do.
template <class Engine> struct SpareSteps {
    using More = typename Engine::MoreType;

    Engine &e;

    void know_first_byte(std::uint32_t receive, Picoseconds time) {
        if (e.first_byte_.empty())
            return;
        e.first_byte_[receive] = time;
        if (SpareTime *const spare = spare_of(receive))
            e.spare_at_first_byte_[receive] = spare->until(e.now_);
    }

    /// @param[in] idle how long the receiver had nothing else to do since the first byte came
    /// @return how much of a message's bytes it has dealt with by then
    Picoseconds done_while_idle(std::uint32_t receive, Picoseconds bytes, Picoseconds idle) {
        const Picoseconds most = std::clamp<Picoseconds>(idle, 0, bytes);
        SpareTime *const spare = spare_of(receive);
        return spare == nullptr ? most : spare->take(e.now_, e.spare_at_first_byte_[receive], most);
    }

    /// @return of the core of an operation's processor, if ranks share it
    SpareTime *spare_of(std::uint32_t op) {
        const Step &step = e.steps_[op];
        const std::uint32_t core = step.lane.cpu == 0 ? e.shared_.of(step.rank) : any;
        if (core == any)
            return nullptr;
        if constexpr (More::any)
            return &e.more_.rates.spare(e.placement_.processor[step.rank]);
        else
            return &e.shared_.cores[core].spare;
    }
};

} // namespace rankwise::replay
