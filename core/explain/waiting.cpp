// SPDX-License-Identifier: BSD-3-Clause
#include "explain/waiting.hpp"

#include <algorithm>
#include <numeric>

#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

/// A gap, cut at one moment after the other.
class Cut {
  public:
    Cut(Picoseconds from, Picoseconds to, Waiting &of_rank) : at_(from), to_(to), of_rank_(of_rank) {}
    void until(Picoseconds time, WaitsFor cause) {
        const Picoseconds end = std::clamp(time, at_, to_);
        of_rank_[static_cast<std::size_t>(cause)] += end - at_;
        at_ = end;
    }
    void rest(WaitsFor cause) { until(to_, cause); }

  private:
    Picoseconds at_, to_;
    Waiting &of_rank_;
};

class Causes {
  public:
    Causes(const LargeArray<MatchedOperation> &steps, const machine::Machine &machine,
           const machine::Placement &placement, const std::vector<OperationTimes> &times)
        : steps_(steps), machine_(machine), placement_(placement), times_(times), costs_(machine) {}

    /// @return the operation whose message ends a gap before a job of `op`, `any` if none does
    std::uint32_t ends(std::uint32_t op, Picoseconds to) const {
        // A computation, or a send's first job, begins when what it waited for has ended; joints of several
        // requests are computations of no time.
        const auto waits = [&](std::uint32_t of) {
            return steps_[of].kind() == Kind::calc ||
                   (steps_[of].kind() == Kind::send && times_[of].begin >= to);
        };
        if (waits(op))
            do
                op = times_[op].released_by;
            while (op != any && steps_[op].kind() == Kind::calc && steps_[op].time() == 0);
        return op == any || steps_[op].kind() == Kind::calc ? any : op;
    }

    /// The stages of a gap that the message of `op` ends.
    void cut(std::uint32_t op, Cut gap) {
        if (op == any)
            gap.rest(WaitsFor::rest);
        else if (steps_[op].kind() == Kind::receive)
            receive(op, gap);
        else
            send(op, gap);
    }

  private:
    void receive(std::uint32_t receive, Cut &gap) {
        const std::uint32_t send = steps_[receive].partner;
        const OperationTimes &from = times_[send], &to = times_[receive];
        const MessageCost &cost = cost_of(send);
        gap.until(from.begin, WaitsFor::late_sender);
        if (!cost.eager && cost.in_call) {
            gap.until(to.answered + travel(send, cost), WaitsFor::transfer);
            gap.until(from.answered, WaitsFor::no_progress);
        }
        gap.until(from.sent, WaitsFor::transfer);
        gap.until(from.on_link, WaitsFor::link_queue);
        gap.until(from.on_tx, WaitsFor::tx_queue);
        gap.until(to.at_rx - to.at_ports, WaitsFor::transfer);
        gap.until(to.at_rx, WaitsFor::port_queue);
        gap.until(to.on_rx, WaitsFor::rx_queue);
        gap.until(from.resumed, WaitsFor::no_progress);
        gap.rest(WaitsFor::transfer);
    }

    /// A rendezvous that holds up its sender, or an eager message that finds buffers full.
    void send(std::uint32_t send, Cut &gap) {
        const OperationTimes &from = times_[send], &to = times_[steps_[send].partner];
        const MessageCost &cost = cost_of(send);
        if (cost.eager && cost.buffered)
            return gap.rest(WaitsFor::full_buffer);
        if (!cost.eager) {
            gap.until(to.ready, WaitsFor::late_receiver);
            if (cost.in_call) {
                gap.until(from.begin + cost.o_send + from.connecting + travel(send, cost),
                          WaitsFor::transfer);
                gap.until(to.answered, WaitsFor::no_progress);
            }
        }
        gap.until(from.sent, WaitsFor::transfer);
        gap.until(from.on_link, WaitsFor::link_queue);
        gap.until(from.on_tx, WaitsFor::tx_queue);
        gap.rest(WaitsFor::transfer);
    }

    const MessageCost &cost_of(std::uint32_t send) {
        return costs_.get(placement_.link(steps_[send].rank, steps_[send].peer), steps_[send].message());
    }

    /// How long request or answer travel.
    Picoseconds travel(std::uint32_t send, const MessageCost &cost) const {
        return control_time(machine_, placement_, cost, steps_[send].rank, steps_[send].peer);
    }

    const LargeArray<MatchedOperation> &steps_;
    const machine::Machine &machine_;
    const machine::Placement &placement_;
    const std::vector<OperationTimes> &times_;
    MessageCosts costs_;
};

/// @return of each rank the operation that ends last, `any` of a rank without any
std::vector<std::uint32_t> last_operations(const LargeArray<MatchedOperation> &steps, std::size_t ranks,
                                           const std::vector<OperationTimes> &times) {
    std::vector<std::uint32_t> last(ranks, any);
    for (std::uint32_t op = 0; op < times.size(); ++op) {
        std::uint32_t &of_rank = last[steps[op].rank];
        if (of_rank == any || times[op].end >= times[of_rank].end)
            of_rank = op;
    }
    return last;
}

/// Takes off what was attributed beyond the rank's waiting, and gives what was not to `rest`.
void fit(Waiting &found, Picoseconds waiting) {
    Picoseconds over = std::accumulate(found.begin(), found.end(), Picoseconds{0}) - waiting;
    for (const WaitsFor cause :
         {WaitsFor::transfer, WaitsFor::rx_queue, WaitsFor::port_queue, WaitsFor::tx_queue,
          WaitsFor::link_queue, WaitsFor::no_progress, WaitsFor::full_buffer, WaitsFor::late_sender,
          WaitsFor::late_receiver, WaitsFor::rest}) {
        Picoseconds &part = found[static_cast<std::size_t>(cause)];
        const Picoseconds less = std::clamp<Picoseconds>(over, 0, part);
        part -= less;
        over -= less;
    }
    found[static_cast<std::size_t>(WaitsFor::rest)] += std::max<Picoseconds>(0, -over);
}

} // namespace

std::vector<Waiting> waiting(const LargeArray<MatchedOperation> &steps, const machine::Machine &machine,
                             const machine::Placement &placement, const Prediction &prediction,
                             const Timeline &timeline) {
    const std::size_t ranks = prediction.ranks.size();
    std::vector<Waiting> out(ranks, Waiting{});
    std::vector<Picoseconds> tail(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
        tail[r] = prediction.ranks[r].waiting;
    Causes causes(steps, machine, placement, timeline.operations);
    for (const Timeline::Gap &gap : timeline.gaps) {
        const std::uint32_t rank = steps[gap.op].rank;
        causes.cut(causes.ends(gap.op, gap.to), Cut(gap.from, gap.to, out[rank]));
        tail[rank] -= gap.to - gap.from;
    }
    // A rank whose last operation is a send is not done before its data have left, with nothing to do
    // meanwhile.
    const std::vector<std::uint32_t> last = last_operations(steps, ranks, timeline.operations);
    for (std::size_t r = 0; r < ranks; ++r) {
        if (tail[r] > 0 && last[r] != any && steps[last[r]].kind() == Kind::send) {
            const Picoseconds finish = timeline.operations[last[r]].end;
            causes.cut(last[r], Cut(finish - tail[r], finish, out[r]));
        }
        fit(out[r], prediction.ranks[r].waiting);
    }
    return out;
}

} // namespace rankwise::replay
