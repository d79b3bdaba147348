// SPDX-License-Identifier: BSD-3-Clause
#include "replay/deadlock.hpp"

#include <algorithm>

namespace rankwise::replay {

/// The edges the other way round.
void Standstills::list_earlier() {
    const std::size_t operations = schedule_.operations.size();
    earlier_first_.assign(operations + 1, 0);
    for (const Successor &next : schedule_.successors)
        ++earlier_first_[next.target() + 1];
    for (std::size_t op = 0; op < operations; ++op)
        earlier_first_[op + 1] += earlier_first_[op];
    earlier_.resize(schedule_.successors.size());
    std::vector<std::uint32_t> next_of(earlier_first_.begin(), earlier_first_.end() - 1);
    for (std::uint32_t op = 0; op < operations; ++op)
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e) {
            const Successor next = schedule_.successors[e];
            earlier_[next_of[next.target()]++].packed = op << 1 | static_cast<std::uint32_t>(next.at_start());
        }
    visit_.assign(operations, 0);
}

/// @return what an operation waits for: its other end once it has begun, the last operation of its own rank
/// before; `any` if nothing
std::uint32_t Standstills::blocker(std::uint32_t op, const OtherEnd &other_end) const {
    if (progress_.has(op, Progress::ended))
        return any;
    if (progress_.has(op, Progress::begun))
        return other_end(op);
    for (std::uint32_t e = earlier_first_[op + 1]; e-- > earlier_first_[op];)
        if (!progress_.has(earlier_[e].target(), earlier_[e].at_start() ? Progress::begun : Progress::ended))
            return earlier_[e].target();
    return any;
}

/// @brief Go from one operation to what it waits for, and on, as far as nobody was yet.
/// @param[in] circle called with an operation of a circle that was not known
/// @return the operation at the end that waits for nothing, `any` if there is none
template <class Circle>
std::uint32_t Standstills::follow(std::uint32_t start, std::uint32_t pass, const OtherEnd &other_end,
                                  const Circle &circle) {
    if (progress_.has(start, Progress::ended) || visit_[start] != 0)
        return any;
    std::uint32_t at = start;
    while (visit_[at] == 0) {
        const std::uint32_t next = blocker(at, other_end);
        if (next == any)
            return at;
        visit_[at] = pass;
        visited_.push_back(at);
        at = next;
    }
    if (visit_[at] == pass)
        circle(at);
    return any;
}

void Standstills::forget_ended() {
    std::erase_if(begun_, [&](std::uint32_t op) { return progress_.has(op, Progress::ended); });
    room_ = std::max(least_room, 2 * begun_.size());
}

void Standstills::renumber(std::span<const std::uint32_t> now) {
    for (std::uint32_t &op : begun_)
        op = now[op];
    std::erase(begun_, any);
    earlier_first_.clear();
}

std::vector<std::uint32_t> Standstills::waiting_sends(const OtherEnd &other_end) {
    if (room_ == 0)
        for (std::uint32_t op = 0; op < progress_.size(); ++op)
            if (progress_.has(op, Progress::begun))
                begun_.push_back(op);
    forget_ended();
    if (earlier_first_.empty())
        list_earlier();
    std::vector<std::uint32_t> sends;
    std::uint32_t pass = 0;
    // An operation that has not begun waits for one of its rank: each circle has some that have.
    for (const std::uint32_t start : begun_)
        follow(start, ++pass, other_end, [&](std::uint32_t at) {
            std::uint32_t op = at;
            do {
                if (progress_.has(op, Progress::begun) && schedule_.operations[op].kind() == Kind::send)
                    sends.push_back(op);
                op = blocker(op, other_end);
            } while (op != at);
        });
    for (const std::uint32_t op : visited_)
        visit_[op] = 0;
    visited_.clear();
    std::sort(sends.begin(), sends.end());
    return sends;
}

FaultError Standstills::deadlock(const OtherEnd &other_end) {
    list_earlier();
    std::uint32_t circle = any, lonely = any;
    for (std::uint32_t op = 0; op < visit_.size() && circle == any; ++op)
        if (const std::uint32_t end = follow(op, op + 1, other_end, [&](std::uint32_t at) { circle = at; });
            lonely == any)
            lonely = end;
    if (circle != any) {
        // Only the operations that have begun are calls in which a rank hangs; the others wait behind them.
        Fault fault{.kind = Fault::Kind::deadlock};
        std::uint32_t op = circle;
        do {
            if (progress_.has(op, Progress::begun))
                fault.operations.push_back(schedule_.at(op));
            op = blocker(op, other_end);
        } while (op != circle);
        return FaultError(std::move(fault));
    }
    return FaultError(
        {.kind = Fault::Kind::unanswered, .operations = {schedule_.at(lonely == any ? 0 : lonely)}});
}

} // namespace rankwise::replay
