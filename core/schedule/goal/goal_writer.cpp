// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/goal/goal.hpp"

namespace rankwise::replay {

std::string write_goal(const Schedule &schedule) {
    std::string out = "num_ranks " + std::to_string(schedule.ranks()) + "\n";
    const auto number = [](std::uint32_t value) {
        return value == any ? std::string("-1") : std::to_string(value);
    };
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        const std::uint32_t base = schedule.first[rank], end = schedule.first[rank + 1];
        out += "\nrank " + std::to_string(rank) + " {\n";
        for (std::uint32_t i = base; i < end; ++i) {
            const Operation &op = schedule.operations[i];
            const Lane lane = schedule.lane(i);
            out += "l" + std::to_string(i - base) + ": ";
            if (op.kind() == Kind::calc)
                out += "calc " + std::to_string((op.time() + 500) / 1000);
            else
                out += (op.kind() == Kind::send ? "send " : "recv ") + std::to_string(op.bytes()) +
                       (op.kind() == Kind::send ? "b to " : "b from ") + number(op.peer) + " tag " +
                       number(op.tag);
            if (lane.cpu != 0)
                out += " cpu " + std::to_string(lane.cpu);
            if (lane.nic != 0)
                out += " nic " + std::to_string(lane.nic);
            out += '\n';
        }
        for (std::uint32_t i = base; i < end; ++i)
            for (std::uint32_t e = schedule.edge_first[i]; e < schedule.edge_first[i + 1]; ++e) {
                const Successor successor = schedule.successors[e];
                out += "l" + std::to_string(successor.target() - base) +
                       (successor.at_start() ? " irequires l" : " requires l") + std::to_string(i - base) +
                       "\n";
            }
        out += "}\n";
    }
    return out;
}

} // namespace rankwise::replay
