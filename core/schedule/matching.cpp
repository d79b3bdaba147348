// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/matching.hpp"

#include <algorithm>
#include <unordered_map>

namespace rankwise::replay {
namespace {

struct Entry {
    std::uint32_t source, destination, tag;
    std::uint32_t operation;
    std::uint32_t position; ///< in topological order
    bool is_send;
};

bool same_stream(const Entry &a, const Entry &b) {
    return a.source == b.source && a.destination == b.destination && a.tag == b.tag;
}

void check_peers(const Schedule &schedule) {
    for (std::uint32_t i = 0; i < schedule.operations.size(); ++i) {
        const Operation &op = schedule.operations[i];
        if (op.kind() != Kind::calc && op.peer >= schedule.ranks() &&
            !(op.peer == any && op.kind() == Kind::receive))
            throw FaultError({.kind = Fault::Kind::missing_peer,
                              .operations = {schedule.at(i)},
                              .count = schedule.ranks()});
    }
}

LargeArray<MatchedOperation> steps_of(const Schedule &schedule) {
    LargeArray<MatchedOperation> steps;
    steps.reserve(schedule.operations.size());
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
        for (std::uint32_t i = schedule.first[r]; i < schedule.first[r + 1]; ++i) {
            const Operation &op = schedule.operations[i];
            steps.push_back({MatchedOperation::pack(op.kind(), op.value()), any, op.peer, r, any,
                             Release::of(schedule, i), schedule.lane(i)});
            if (op.kind() == Kind::calc && op.parts() > 1) {
                MatchedOperation &divided = steps.back();
                divided.size_class = static_cast<std::uint16_t>(
                    std::min<std::uint32_t>(op.parts(), MatchedOperation::no_class - 1));
                divided.stream = op.watched() > 0 ? op.watched() : any;
                divided.peer = op.rest();
            }
        }
    return steps;
}

/// Numbers the sizes of messages.
class Sizes {
  public:
    explicit Sizes(Matching &matching) : matching_(matching) {}

    void operator()(MatchedOperation &send) {
        const auto known = classes_.find(send.message());
        if (known != classes_.end()) {
            send.size_class = known->second;
        } else if (matching_.sizes.size() < Matching::most_sizes) {
            send.size_class = static_cast<std::uint16_t>(matching_.sizes.size());
            classes_.emplace(send.message(), send.size_class);
            matching_.sizes.push_back(send.message());
        }
    }

  private:
    Matching &matching_;
    std::unordered_map<std::uint64_t, std::uint16_t> classes_;
};

/// A send and its receive meet: the receive is of the message's size then.
void join(LargeArray<MatchedOperation> &steps, std::uint32_t send, std::uint32_t receive) {
    steps[send].partner = receive;
    steps[receive].partner = send;
    steps[receive].peer = steps[send].rank;
    steps[receive].packed = MatchedOperation::pack(Kind::receive, steps[send].message());
    steps[receive].size_class = steps[send].size_class;
}

} // namespace

Matching match(const Schedule &schedule) {
    check_peers(schedule);
    const std::vector<std::uint32_t> order = topological_order(schedule);
    Matching matching;
    std::vector<Entry> entries;
    matching.steps = steps_of(schedule);
    LargeArray<MatchedOperation> &steps = matching.steps;
    Sizes note(matching);
    for (std::uint32_t position = 0; position < order.size(); ++position) {
        const std::uint32_t i = order[position];
        const Operation &op = schedule.operations[i];
        if (op.kind() == Kind::send) {
            matching.messages.add(op, steps[i].rank);
            note(steps[i]);
        }
        if (op.kind() == Kind::send)
            entries.push_back({steps[i].rank, op.peer, op.tag, i, position, true});
        else if (op.kind() == Kind::receive && op.peer != any && op.tag != any)
            entries.push_back({op.peer, steps[i].rank, op.tag, i, position, false});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
        if (a.source != b.source)
            return a.source < b.source;
        if (a.destination != b.destination)
            return a.destination < b.destination;
        if (a.tag != b.tag)
            return a.tag < b.tag;
        if (a.is_send != b.is_send)
            return a.is_send;
        return a.position < b.position;
    });
    for (auto begin = entries.begin(); begin != entries.end();) {
        const auto end =
            std::find_if(begin, entries.end(), [&](const Entry &e) { return !same_stream(*begin, e); });
        const auto receives = std::find_if(begin, end, [](const Entry &e) { return !e.is_send; });
        const auto sends = receives - begin, receives_count = end - receives;
        if (sends != receives_count && !schedule.wildcards) {
            const auto pairs = std::min(sends, receives_count);
            const Entry &odd = sends > receives_count ? *(begin + pairs) : *(receives + pairs);
            throw FaultError({.kind = odd.is_send ? Fault::Kind::unreceived : Fault::Kind::unsent,
                              .operations = {schedule.at(odd.operation)},
                              .count = static_cast<std::uint64_t>(std::max(sends, receives_count) - pairs)});
        }
        for (auto entry = begin; entry != end; ++entry)
            steps[entry->operation].stream = matching.streams;
        ++matching.streams;
        for (std::ptrdiff_t k = 0; k < std::min(sends, receives_count) && !schedule.wildcards; ++k) {
            const std::uint32_t send = (begin + k)->operation, receive = (receives + k)->operation;
            join(steps, send, receive);
            if (schedule.operations[receive].bytes() < schedule.operations[send].bytes())
                throw FaultError({.kind = Fault::Kind::small_receive,
                                  .operations = {schedule.at(receive), schedule.at(send)},
                                  .bytes = schedule.operations[send].bytes()});
        }
        begin = end;
    }
    return matching;
}

LargeArray<MatchedOperation> with_partners(LargeArray<MatchedOperation> steps,
                                           const std::vector<std::uint32_t> &partner) {
    for (std::uint32_t op = 0; op < steps.size(); ++op)
        if (steps[op].kind() == Kind::send)
            join(steps, op, partner[op]);
    return steps;
}

} // namespace rankwise::replay
