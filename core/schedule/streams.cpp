// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/streams.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "error.hpp"

namespace rankwise::replay {

void MessageBalance::add(std::uint32_t rank, const Operation &operation, std::uint32_t event) {
    if (operation.kind() == Kind::calc)
        return;
    const bool is_send = operation.kind() == Kind::send;
    if (!is_send && (operation.peer == any || operation.tag == any))
        throw Error("rank " + std::to_string(rank) + ", event " + std::to_string(event) +
                        ": a receive from any source or with any tag that never ended",
                    "replay the schedule as a whole, with more `--memory`");
    if (operation.peer >= ranks_)
        throw Error("rank `" + std::to_string(operation.peer) + "` does not exist, rank " +
                        std::to_string(rank) + ", event " + std::to_string(event),
                    "ranks are 0 to " + std::to_string(ranks_ - 1));
    Count &count = counts_[is_send ? StreamKey{rank, operation.peer, operation.tag}
                                   : StreamKey{operation.peer, rank, operation.tag}];
    count.sends += is_send ? 1 : -1;
    (is_send ? count.last_send : count.last_receive) = event;
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
    throw Error(
        std::string("a ") + (sends ? "message that nobody receives" : "receive that nothing is sent to") +
            " from rank `" + std::to_string(worst->source) + "` to rank `" +
            std::to_string(worst->destination) + "` (" + std::to_string(std::abs(count.sends)) +
            " of them; the last is rank " + std::to_string(sends ? worst->source : worst->destination) +
            ", event " + std::to_string(sends ? count.last_send : count.last_receive) + ")",
        "the trace is incomplete; record the program to its end");
}

} // namespace rankwise::replay
