// SPDX-License-Identifier: BSD-3-Clause
#include "replay/deadlock.hpp"

#include <algorithm>

namespace rankwise::replay {
namespace {

/// What an operation that has not ended waits for: its partner once it has begun, an operation of its own
/// rank before.
std::vector<std::uint32_t> blockers(const Schedule &schedule, const Progress &progress,
                                    const std::vector<std::uint32_t> &partner) {
    std::vector<std::uint32_t> blocker(schedule.operations.size(), any);
    for (std::uint32_t i = 0; i < blocker.size(); ++i)
        if (!progress.has(i, Progress::ended) && progress.has(i, Progress::begun))
            blocker[i] = partner[i];
    for (std::uint32_t i = 0; i < blocker.size(); ++i)
        for (std::uint32_t e = schedule.edge_first[i]; e < schedule.edge_first[i + 1]; ++e) {
            const Successor next = schedule.successors[e];
            if (!progress.has(next.target(), Progress::begun) &&
                !(next.at_start() ? progress.has(i, Progress::begun) : progress.has(i, Progress::ended)))
                blocker[next.target()] = i;
        }
    return blocker;
}

/// @brief Go through the circles of operations that wait for each other, in the order of their numbers.
/// @param[in] circle called with an operation of each; goes on while it returns true
/// @return the first operation that waits for nothing and has not ended, `any` if there is none
template <class Circle>
std::uint32_t each_circle(const Progress &progress, const std::vector<std::uint32_t> &blocker,
                          const Circle &circle) {
    std::vector<std::uint32_t> visit(blocker.size(), 0);
    std::uint32_t lonely = any;
    for (std::uint32_t start = 0, pass = 1; start < blocker.size(); ++start, ++pass) {
        if (progress.has(start, Progress::ended) || visit[start] != 0)
            continue;
        std::uint32_t at = start;
        for (; blocker[at] != any && visit[at] == 0 && !progress.has(at, Progress::ended); at = blocker[at])
            visit[at] = pass;
        if (blocker[at] == any)
            lonely = lonely == any ? at : lonely;
        else if (visit[at] == pass && !circle(at))
            return lonely;
    }
    return lonely;
}

} // namespace

std::vector<std::uint32_t> waiting_sends(const Schedule &schedule, const Progress &progress,
                                         const std::vector<std::uint32_t> &partner) {
    const std::vector<std::uint32_t> blocker = blockers(schedule, progress, partner);
    std::vector<std::uint32_t> sends;
    each_circle(progress, blocker, [&](std::uint32_t at) {
        std::uint32_t op = at;
        do {
            if (progress.has(op, Progress::begun) && schedule.operations[op].kind() == Kind::send)
                sends.push_back(op);
            op = blocker[op];
        } while (op != at);
        return true;
    });
    std::sort(sends.begin(), sends.end());
    return sends;
}

Error deadlock(const Schedule &schedule, const Progress &progress,
               const std::vector<std::uint32_t> &partner) {
    const std::vector<std::uint32_t> blocker = blockers(schedule, progress, partner);
    std::uint32_t circle = any;
    const std::uint32_t lonely = each_circle(progress, blocker, [&](std::uint32_t at) {
        circle = at;
        return false;
    });
    if (circle != any) {
        // Only the operations that have begun are calls in which a rank hangs; the others wait behind them.
        std::string text;
        std::size_t count = 0;
        bool sends = false, synchronous = false;
        std::uint32_t op = circle;
        do {
            const bool hangs = progress.has(op, Progress::begun);
            sends |= hangs && schedule.operations[op].kind() == Kind::send;
            synchronous |= hangs && schedule.operations[op].synchronous();
            if (hangs && count++ < 8)
                text += (text.empty() ? "" : " waits for ") + schedule.describe(op);
            op = blocker[op];
        } while (op != circle);
        if (count > 8)
            text += " and " + std::to_string(count - 8) + " more";
        return Error(
            "deadlock: " + text + " waits for the first",
            synchronous
                ? "a synchronous send waits for its receive whatever its size: one of these ranks has to "
                  "post its receive first"
            : sends ? "ranks that send to each other need a receive posted first, or messages of at most "
                      "the eager limit (`eager_limit_bytes`) that fit into buffers (`socket_buffer_bytes`)"
                    : "one of these ranks has to send before it receives");
    }
    const std::uint32_t op = lonely == any ? 0 : lonely;
    return Error("an operation that nobody answers: " + schedule.describe(op),
                 "the schedule is incomplete; record the program to its end, or add the missing operation");
}

} // namespace rankwise::replay
