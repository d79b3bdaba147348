// SPDX-License-Identifier: BSD-3-Clause
#include "replay/machine_replay.hpp"

namespace rankwise::replay {

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

} // namespace rankwise::replay
