// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/collective_steps.hpp"

#include <cmath>

namespace rankwise::replay {

std::vector<std::uint32_t> write_collective(RankProgram &program,
                                            std::span<const collectives::CollectiveStep> steps,
                                            std::span<const std::uint32_t> members, std::uint32_t tag,
                                            double combine_ps_per_byte) {
    std::vector<std::uint32_t> round, before;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const collectives::CollectiveStep &step = steps[i];
        if (i > 0 && step.round != steps[i - 1].round) {
            before.assign(1, program.join(round));
            round.clear();
        }
        const std::uint32_t peer = members[step.peer];
        const Operation operation = step.kind == collectives::StepKind::send
                                        ? Operation::send(peer, step.bytes, tag)
                                        : Operation::receive(peer, step.bytes, tag);
        std::uint32_t last =
            before.empty() ? program.beside(operation) : program.after(before.front(), operation);
        if (step.kind == collectives::StepKind::receive_reduce && combine_ps_per_byte > 0) {
            const double time = static_cast<double>(step.bytes) * combine_ps_per_byte;
            last = program.after(last, Operation::calc(std::llround(time)));
        }
        round.push_back(last);
    }
    return round;
}

} // namespace rankwise::replay
