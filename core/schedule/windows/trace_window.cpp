// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/windows/trace_window.hpp"

#include <algorithm>
#include <utility>

namespace rankwise::replay {

TraceWindow::TraceWindow(const TracedRun &run, const CommunicatorNodes &nodes,
                         std::span<const std::uint64_t> operations, std::size_t size)
    : size_(size), builder_(static_cast<std::uint32_t>(run.ranks.size()), "event") {
    schedule.origin_word = was_.origin_word = "event";
    schedule.recorded = was_.recorded = true;
    schedule.first.assign(run.ranks.size() + 1, 0);
    ranks_.reserve(run.ranks.size());
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
        ranks_.push_back(
            {RankReader(run, nodes, rank, tags_, builder_, omitted_), operations[rank], false, 0, false, {}});
        total_ += operations[rank];
        all.push_back(rank);
    }
    read_on({}, all);
}

const TraceWindow::Change &TraceWindow::read_on(std::span<const std::uint8_t> states,
                                                std::span<const std::uint32_t> at_rest) {
    keep(states);
    read(at_rest);
    std::swap(schedule, was_);
    std::swap(steps, steps_were_);
    std::swap(in_rank_, in_rank_was_);
    number();
    carry_over();
    add_parts();
    add_receives();
    link(states);
    change_.ready.clear();
    for (const std::uint32_t rank : at_rest)
        for (std::uint32_t op = schedule.first[rank] + ranks_[rank].kept; op < schedule.first[rank + 1]; ++op)
            if (schedule.waits_for[op] == 0)
                change_.ready.push_back(op);
    return change_;
}

/// A send that has ended is kept while its message is under way: its number decides ties.
void TraceWindow::keep(std::span<const std::uint8_t> states) {
    change_.receives_from = first_receive();
    change_.now.assign(states.size(), any);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].kept = 0;
        for (std::uint32_t op = schedule.first[r]; op < schedule.first[r + 1]; ++op) {
            const MatchedOperation &matched = steps[op];
            const bool is_over =
                matched.kind() == rest || ((states[op] & (ended | under_way)) == ended &&
                                           (matched.kind() != Kind::send || matched.partner == any ||
                                            (states[matched.partner] & arrived) != 0));
            if (!is_over)
                change_.now[op] = ranks_[r].kept++;
        }
    }
}

/// Ranks read alike as parts of what they will have in the end, so that all come to their ends together.
void TraceWindow::read(std::span<const std::uint32_t> at_rest) {
    const auto share = [&](std::size_t of, const Rank &rank, std::uint64_t total) {
        return static_cast<std::uint32_t>(static_cast<double>(of) * static_cast<double>(rank.total) /
                                          static_cast<double>(std::max<std::uint64_t>(total, 1)));
    };
    std::size_t held = 0;
    std::uint64_t total = 0;
    for (Rank &rank : ranks_) {
        held += rank.kept;
        rank.reads = !rank.is_read && 2 * rank.kept < share(size_, rank, total_);
    }
    for (const std::uint32_t rank : at_rest)
        ranks_[rank].reads = !ranks_[rank].is_read;
    for (const Rank &rank : ranks_)
        total += rank.reads ? rank.total : 0;
    const std::size_t fresh = std::clamp(2 * size_ - std::min(held, 2 * size_), size_ / 8, size_ / 2);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        Rank &rank = ranks_[r];
        if (rank.reads) {
            const std::uint32_t wanted = std::max(share(size_, rank, total_), share(fresh, rank, total));
            const std::uint32_t more = wanted > rank.kept ? wanted - rank.kept : 1;
            rank.reader.read(builder_.size(r) + more);
            rank.is_read = builder_.size(r) == rank.total;
        }
        builder_.take(r, rank.part);
    }
}

/// Number the operations of the ranks, and say so of those that are kept.
void TraceWindow::number() {
    schedule.first.assign(1, 0);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        const Rank &rank = ranks_[r];
        const std::uint32_t base = schedule.first.back();
        for (std::uint32_t op = was_.first[r]; op < was_.first[r + 1]; ++op)
            if (change_.now[op] != any)
                change_.now[op] += base;
        schedule.first.push_back(base + rank.kept + static_cast<std::uint32_t>(rank.part.operations.size()) +
                                 (rank.is_read ? 0u : 1u));
    }
    schedule.operations.clear();
    schedule.origin.clear();
    steps.clear();
    in_rank_.clear();
    streams_.each_open([&](Stream &stream) {
        for (Stream::End &end : stream.ends)
            if (end.op != any)
                end.op = change_.now[end.op];
    });
}

void TraceWindow::add_operation(std::uint32_t rank, const Operation &operation, std::uint32_t partner,
                                std::uint32_t peer) {
    schedule.operations.push_back(operation);
    steps.push_back({MatchedOperation::pack(operation.kind(), operation.value()),
                     partner,
                     peer,
                     rank,
                     any,
                     {0, 0},
                     {0, 0}});
}

/// What is kept, then what was read, then the rest of each rank.
void TraceWindow::carry_over() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        Rank &rank = ranks_[r];
        for (std::uint32_t op = was_.first[r]; op < was_.first[r + 1]; ++op) {
            if (change_.now[op] == any)
                continue;
            schedule.operations.push_back(was_.operations[op]);
            schedule.origin.push_back(was_.origin[op]);
            in_rank_.push_back(in_rank_was_[op]);
            MatchedOperation matched = steps_were_[op];
            if (matched.partner != any)
                matched.partner = change_.now[matched.partner]; // of a receive that was not read: set below
            steps.push_back(matched);
        }
        for (std::size_t i = 0; i < rank.part.operations.size(); ++i) {
            const Operation &operation = rank.part.operations[i];
            add_operation(r, operation, any, operation.peer);
            schedule.origin.push_back(rank.part.origin[i]);
            in_rank_.push_back(rank.part.first + static_cast<std::uint32_t>(i));
        }
        if (!rank.is_read) {
            add_operation(r, Operation::calc(0), any, any);
            steps.back().packed = MatchedOperation::pack(rest, 0);
            schedule.origin.push_back(0);
            in_rank_.push_back(any);
        }
    }
}

void TraceWindow::add_parts() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
        for (std::uint32_t k = 0; k < ranks_[r].part.operations.size(); ++k)
            match(r, schedule.first[r] + ranks_[r].kept + k);
}

/// The k-th send of a stream and its k-th receive, in the order of their ranks' programs.
void TraceWindow::match(std::uint32_t rank, std::uint32_t op) {
    const Operation &operation = schedule.operations[op];
    if (operation.kind() == Kind::calc)
        return;
    const bool is_send = operation.kind() == Kind::send;
    Stream &stream = is_send ? streams_.of(rank, operation.peer, operation.tag)
                             : streams_.of(operation.peer, rank, operation.tag);
    if (stream.empty() || stream.sends == is_send) {
        streams_.add(stream, is_send, {op, any, operation.value()});
        return;
    }
    const Stream::End other = stream.take();
    const std::uint32_t send = is_send ? op : other.op, receive = is_send ? other.op : op;
    const std::uint64_t message = is_send ? operation.value() : other.message;
    steps[receive].partner = send;
    steps[receive].peer = stream.source;
    steps[receive].packed = MatchedOperation::pack(Kind::receive, message);
    if (send != any)
        steps[send].partner = receive;
    if (!is_send && other.receive != any)
        change_.now[other.receive] = receive;
    if (schedule.operations[receive].bytes() < (message & Operation::size_mask))
        throw FaultError({.kind = Fault::Kind::small_receive,
                          .operations = {schedule.at(receive)},
                          .bytes = message & Operation::size_mask});
}

/// What stands for the receives that were not read yet of sends that were.
void TraceWindow::add_receives() {
    streams_.each_open([&](Stream &stream) {
        for (Stream::End &end : stream.ends) {
            if (!stream.sends)
                break;
            const auto receive = static_cast<std::uint32_t>(steps.size());
            if (end.receive != any)
                change_.now[end.receive] = receive;
            end.receive = receive;
            if (end.op != any)
                steps[end.op].partner = receive;
            add_operation(stream.destination,
                          Operation::receive(stream.source, end.message & Operation::size_mask, stream.tag),
                          end.op, stream.source);
            steps.back().packed = MatchedOperation::pack(Kind::receive, end.message);
            schedule.origin.push_back(0);
            in_rank_.push_back(any);
        }
    });
}

/// @return an operation that is kept by its number within its rank, `any` if it is gone
std::uint32_t TraceWindow::find(std::uint32_t rank, std::uint32_t in_rank) const {
    const auto begin = in_rank_.begin() + schedule.first[rank], end = begin + ranks_[rank].kept;
    const auto found = std::lower_bound(begin, end, in_rank);
    return found != end && *found == in_rank ? static_cast<std::uint32_t>(found - in_rank_.begin()) : any;
}

void TraceWindow::link(std::span<const std::uint8_t> states) {
    edges_.clear();
    // Bits of what is kept: nothing waits any more for what has begun or ended.
    std::vector<std::uint8_t> state(schedule.first.back());
    for (std::uint32_t op = 0; op < change_.receives_from; ++op)
        if (op < states.size() && change_.now[op] != any)
            state[change_.now[op]] = states[op];
    const auto waits = [&](std::uint32_t earlier, bool at_start) {
        return (state[earlier] & (at_start ? begun : ended)) == 0;
    };
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        Rank &rank = ranks_[r];
        for (std::uint32_t op = was_.first[r]; op < was_.first[r + 1]; ++op) {
            const std::uint32_t now = change_.now[op];
            if (now == any || (state[now] & ended) != 0)
                continue;
            for (std::uint32_t e = was_.edge_first[op]; e < was_.edge_first[op + 1]; ++e) {
                const Successor next = was_.successors[e];
                if (steps_were_[next.target()].kind() != rest && waits(now, next.at_start()))
                    edges_.push_back({now, change_.now[next.target()], next.at_start()});
            }
        }
        const std::uint32_t added = schedule.first[r] + rank.kept;
        const auto number = [&](std::uint32_t in_rank) {
            return in_rank >= rank.part.first ? added + in_rank - rank.part.first : find(r, in_rank);
        };
        for (const ScheduleBuilder::Edge &edge : rank.part.edges)
            if (const std::uint32_t earlier = number(edge.earlier);
                earlier != any && waits(earlier, edge.at_start))
                edges_.push_back({earlier, number(edge.later), edge.at_start});
        // What was not read waits for the last step of the program that was.
        if (!rank.is_read)
            edges_.push_back({number(rank.reader.program().last()), schedule.first[r + 1] - 1,
                              rank.reader.program().last_at_start()});
    }
    for (std::uint32_t op = schedule.first.back(); op < steps.size(); ++op)
        if (!ranks_[steps[op].rank].is_read)
            edges_.push_back({schedule.first[steps[op].rank + 1] - 1, op, false});
    set_edges(schedule, [&](const auto &edge_is) {
        for (const ScheduleBuilder::Edge &edge : edges_)
            edge_is(edge.earlier, edge.later, edge.at_start);
    });
    for (std::uint32_t op = 0; op < steps.size(); ++op)
        steps[op].release = Release::of(schedule, op);
}

} // namespace rankwise::replay
