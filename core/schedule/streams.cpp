// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/streams.hpp"

#include <algorithm>
#include <tuple>

namespace rankwise::replay {

void MessageBalance::add(std::uint32_t rank, const Operation &operation, std::uint32_t event) {
    if (operation.kind() == Kind::calc)
        return;
    const bool is_send = operation.kind() == Kind::send;
    if (!is_send && (operation.peer == any || operation.tag == any))
        throw FaultError({.kind = Fault::Kind::endless_receive,
                          .operations = {operation_at(operation, rank, event, "event")}});
    if (operation.peer >= ranks_)
        throw FaultError({.kind = Fault::Kind::missing_peer,
                          .operations = {operation_at(operation, rank, event, "event")},
                          .count = ranks_});
    Count &count = counts_[is_send ? StreamKey{rank, operation.peer, operation.tag}
                                   : StreamKey{operation.peer, rank, operation.tag}];
    count.sends += is_send ? 1 : -1;
    (is_send ? count.last_send : count.last_receive) = {event, operation.bytes()};
}

void MessageBalance::check() const {
    const StreamKey *worst = nullptr;
    const auto order = [](const StreamKey &key) { return std::tuple(key.source, key.destination, key.tag); };
    for (const auto &[key, count] : counts_)
        if (count.sends != 0 && (worst == nullptr || order(key) < order(*worst)))
            worst = &key;
    if (worst == nullptr)
        return;
    const Count &count = counts_.at(*worst);
    const bool sends = count.sends > 0;
    const Last &last = sends ? count.last_send : count.last_receive;
    const auto operation = sends ? Operation::send(worst->destination, last.bytes, worst->tag)
                                 : Operation::receive(worst->source, last.bytes, worst->tag);
    throw FaultError({.kind = sends ? Fault::Kind::unreceived : Fault::Kind::unsent,
                      .operations = {operation_at(operation, sends ? worst->source : worst->destination,
                                                  last.event, "event")},
                      .count = static_cast<std::uint64_t>(std::abs(count.sends))});
}

} // namespace rankwise::replay
