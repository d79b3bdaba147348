// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"
#include "schedule/goal/goal.hpp"
#include "schedule/goal/goal_binary.hpp"

namespace rankwise::replay {
namespace {

namespace format = goal_binary;

void put(std::string &out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i, value >>= 8)
        out.push_back(static_cast<char>(value & 0xff));
}

/// One rank: its operations, and behind them the numbers of those that they set free.
void put_rank(std::string &out, const Schedule &schedule, std::uint32_t rank) {
    const std::uint32_t base = schedule.first[rank], end = schedule.first[rank + 1];
    std::string roots, nodes, appendix;
    for (std::uint32_t i = base; i < end; ++i) {
        if (schedule.waits_for[i] == 0)
            put(roots, i - base, format::root);
        const Operation &op = schedule.operations[i];
        const Lane lane = schedule.lane(i);
        const bool calc = op.kind() == Kind::calc;
        put(nodes, schedule.waits_for[i], 4);
        put(nodes, static_cast<std::uint64_t>(op.kind()), 1);
        put(nodes, calc ? 0 : op.peer, 4);
        put(nodes, calc ? static_cast<std::uint64_t>((op.time() + 500) / 1000) : op.bytes(), 8);
        put(nodes, calc ? 0 : op.tag, 4);
        put(nodes, lane.cpu, 1);
        put(nodes, lane.nic, 1);
        for (const bool at_start : {false, true}) {
            const std::size_t before = appendix.size() / format::edge;
            for (std::uint32_t e = schedule.edge_first[i]; e < schedule.edge_first[i + 1]; ++e)
                if (schedule.successors[e].at_start() == at_start)
                    put(appendix, schedule.successors[e].target() - base, format::edge);
            put(nodes, appendix.size() / format::edge - before, 4);
            put(nodes, before, 4);
        }
    }
    if (appendix.size() / format::edge > format::any_number)
        throw Error("rank `" + std::to_string(rank) +
                        "` has more than 2^32 edges, which binary GOAL cannot count",
                    "write GOAL text");
    put(out, end - base, 4);
    put(out, roots.size() / format::root, 4);
    out += roots;
    out += nodes;
    out += appendix;
}

} // namespace

std::string write_goal_binary(const Schedule &schedule) {
    std::string ends, blocks;
    const std::size_t first = format::table + schedule.ranks() * format::table_entry - format::origin;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        put(ends, first + blocks.size(), 8);
        put_rank(blocks, schedule, rank);
        put(ends, first + blocks.size(), 8);
    }
    std::string out;
    put(out, format::cookie, 8);
    put(out, schedule.ranks(), 4);
    put(out, schedule.cpus - 1, 1);
    put(out, schedule.nics - 1, 1);
    return out + ends + blocks;
}

} // namespace rankwise::replay
