// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule.hpp"

#include <algorithm>
#include <queue>

#include "error.hpp"

namespace rankwise::replay {

std::uint32_t Schedule::rank_of(std::uint32_t operation) const {
    const auto next = std::upper_bound(first.begin(), first.end(), operation);
    return static_cast<std::uint32_t>(next - first.begin() - 1);
}

OperationAt operation_at(const Operation &operation, std::uint32_t rank, std::uint32_t number,
                         const std::string &unit) {
    const auto numbered = [](std::uint32_t value) {
        return value == any ? std::int64_t{-1} : std::int64_t{value};
    };
    OperationAt out{.rank = rank, .number = number, .unit = unit, .kind = "calc"};
    if (operation.kind() == Kind::calc) {
        out.time_ps = operation.time();
        return out;
    }
    out.kind = operation.kind() == Kind::send ? "send" : "recv";
    out.bytes = operation.bytes();
    out.peer = numbered(operation.peer);
    out.tag = numbered(operation.tag);
    out.synchronous = operation.synchronous();
    return out;
}

OperationAt Schedule::at(std::uint32_t operation) const {
    const std::uint32_t rank = rank_of(operation);
    return operation_at(operations[operation], rank,
                        origin.empty() ? operation - first[rank] : origin[operation], origin_word);
}

std::pair<std::uint64_t, std::uint64_t> Schedule::messages() const {
    std::pair<std::uint64_t, std::uint64_t> sum{0, 0};
    for (const Operation &op : operations)
        if (op.kind() == Kind::send) {
            ++sum.first;
            sum.second += op.bytes();
        }
    return sum;
}

ScheduleBuilder::ScheduleBuilder(std::uint32_t ranks, std::string origin_word)
    : ranks_(ranks), origin_word_(std::move(origin_word)) {}

std::uint32_t ScheduleBuilder::add(std::uint32_t rank, Operation operation, Lane lane, std::uint32_t origin) {
    Rank &own = ranks_[rank];
    own.operations.push_back(operation);
    has_lanes_ |= lane.cpu != 0 || lane.nic != 0;
    own.lanes.push_back(lane);
    own.origin.push_back(origin);
    return size(rank) - 1;
}

void ScheduleBuilder::order(std::uint32_t rank, std::uint32_t later, std::uint32_t earlier, bool at_start) {
    ranks_[rank].edges.push_back({earlier, later, at_start});
}

void ScheduleBuilder::take(std::uint32_t rank, Part &part) {
    Rank &own = ranks_[rank];
    part.first = own.taken;
    part.operations.clear();
    part.origin.clear();
    part.edges.clear();
    own.taken = size(rank);
    part.operations.swap(own.operations);
    part.origin.swap(own.origin);
    part.edges.swap(own.edges);
    own.lanes.clear();
}

Schedule ScheduleBuilder::finish() {
    Schedule schedule;
    schedule.origin_word = origin_word_;
    std::size_t operations = 0, edges = 0;
    for (const Rank &rank : ranks_) {
        operations += rank.operations.size();
        edges += rank.edges.size();
    }
    if (operations >= (std::size_t{1} << 31) || edges >= (std::size_t{1} << 32))
        throw Error("the schedule has `" + std::to_string(operations) + "` operations, more than 2^31",
                    "replay fewer ranks or fewer steps");
    schedule.first.reserve(ranks_.size() + 1);
    schedule.operations.reserve(operations);
    for (Rank &rank : ranks_) {
        const auto base = static_cast<std::uint32_t>(schedule.operations.size());
        schedule.first.push_back(base);
        const auto append = [](auto &all, const auto &part) {
            all.insert(all.end(), part.begin(), part.end());
        };
        append(schedule.operations, rank.operations);
        append(schedule.origin, rank.origin);
        if (has_lanes_)
            append(schedule.lanes, rank.lanes);
        rank.operations = {}; // the memory is needed below
        rank.lanes = {};
        rank.origin = {};
    }
    schedule.first.push_back(static_cast<std::uint32_t>(operations));
    set_edges(schedule, [&](const auto &edge_is) {
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            for (const Edge &edge : ranks_[r].edges)
                edge_is(schedule.first[r] + edge.earlier, schedule.first[r] + edge.later, edge.at_start);
    });
    for (const Lane lane : schedule.lanes) {
        schedule.cpus = std::max(schedule.cpus, lane.cpu + 1u);
        schedule.nics = std::max(schedule.nics, lane.nic + 1u);
    }
    schedule.wildcards =
        std::any_of(schedule.operations.begin(), schedule.operations.end(), [](const Operation &op) {
            return op.kind() == Kind::receive && (op.peer == any || op.tag == any);
        });
    schedule.divided =
        std::any_of(schedule.operations.begin(), schedule.operations.end(),
                    [](const Operation &op) { return op.kind() == Kind::calc && op.parts() > 1; });
    ranks_.clear();
    topological_order(schedule);
    return schedule;
}

namespace {

/// An operation of a circle waits for one of the circle: walk back until one comes up again.
FaultError circle(const Schedule &schedule, const std::vector<std::uint32_t> &left) {
    std::vector<std::uint32_t> earlier(schedule.operations.size(), any);
    for (std::uint32_t op = 0; op < schedule.operations.size(); ++op)
        for (std::uint32_t e = schedule.edge_first[op]; e < schedule.edge_first[op + 1]; ++e)
            if (left[op] > 0)
                earlier[schedule.successors[e].target()] = op;
    std::vector<bool> seen(schedule.operations.size());
    auto at = static_cast<std::uint32_t>(
        std::find_if(left.begin(), left.end(), [](std::uint32_t n) { return n > 0; }) - left.begin());
    for (; !seen[at]; at = earlier[at])
        seen[at] = true;
    Fault fault{.kind = Fault::Kind::circle, .operations = {schedule.at(at)}};
    for (std::uint32_t next = earlier[at]; next != at; next = earlier[next])
        fault.operations.push_back(schedule.at(next));
    return FaultError(std::move(fault));
}

} // namespace

std::vector<std::uint32_t> topological_order(const Schedule &schedule) {
    const auto size = static_cast<std::uint32_t>(schedule.operations.size());
    std::vector<std::uint32_t> order;
    order.reserve(size);
    bool forward = true;
    for (std::uint32_t op = 0; op < size && forward; ++op) {
        order.push_back(op);
        for (std::uint32_t e = schedule.edge_first[op]; e < schedule.edge_first[op + 1]; ++e)
            forward &= schedule.successors[e].target() > op;
    }
    if (forward)
        return order;
    order.clear();
    std::vector<std::uint32_t> left = schedule.waits_for;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t op = 0; op < size; ++op)
        if (left[op] == 0)
            ready.push(op);
    while (!ready.empty()) {
        const std::uint32_t op = ready.top();
        ready.pop();
        order.push_back(op);
        for (std::uint32_t e = schedule.edge_first[op]; e < schedule.edge_first[op + 1]; ++e)
            if (const std::uint32_t target = schedule.successors[e].target(); --left[target] == 0)
                ready.push(target);
    }
    if (order.size() < size)
        throw circle(schedule, left);
    return order;
}

} // namespace rankwise::replay
