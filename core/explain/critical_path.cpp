// SPDX-License-Identifier: BSD-3-Clause
#include "explain/critical_path.hpp"

#include <algorithm>

#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

/// Walks from the end to the beginning.
class Walk {
  public:
    Walk(const LargeArray<MatchedOperation> &steps, const machine::Machine &machine,
         const machine::Placement &placement, const Timeline &timeline)
        : steps_(steps), machine_(machine), placement_(placement), times_(timeline.operations),
          costs_(machine) {}

    std::vector<PathSegment> run() {
        for (std::uint32_t op = 0; op < times_.size(); ++op)
            if (op_ == any || times_[op].end > time_)
                go_to(op, times_[op].end);
        // Operations that take no time could lead in a circle only if a replay had served them in one.
        for (std::size_t visits = 0; op_ != any && visits < 4 * times_.size(); ++visits)
            switch (steps_[op_].kind()) {
            case Kind::calc:
                computation();
                break;
            case Kind::send:
                send();
                break;
            case Kind::receive:
                receive();
                break;
            }
        std::reverse(path_.begin(), path_.end());
        return std::move(path_);
    }

  private:
    void go_to(std::uint32_t op, Picoseconds time) {
        op_ = op;
        time_ = time;
    }
    /// The path goes on at an earlier time, of which the rest up to now went into `cause`.
    void back_to(Picoseconds time, Cause cause) {
        if (time >= time_)
            return;
        path_.push_back({op_, cause, time, time_});
        time_ = time;
        left_now_.clear();
    }
    /// On to what had the processor before an operation's later job. Where jobs take no time this can lead
    /// back to the operation, for its first job. @return whether it is the first time
    bool leave_for(std::uint32_t before, Picoseconds time) {
        if (before == any || std::find(left_now_.begin(), left_now_.end(), op_) != left_now_.end())
            return false;
        left_now_.push_back(op_);
        go_to(before, time);
        return true;
    }
    /// A job of `work` that has begun at `begin` and may have been slowed down.
    void job(Picoseconds begin, Picoseconds work, Cause cause) {
        back_to(std::max(begin, time_ - times_[op_].memory), Cause::memory);
        back_to(std::max(begin, time_ - times_[op_].interrupted), Cause::interrupts);
        back_to(begin + work, Cause::core_sharing);
        back_to(begin, cause);
    }
    const MessageCost &cost_of(const MatchedOperation &send) {
        return costs_.get(placement_.link(send.rank, send.peer), send.message());
    }

    Picoseconds o_send(std::uint32_t send, const MessageCost &cost) const {
        return cost.o_send + times_[send].connecting;
    }

    /// What came before the operation's first job.
    void before() {
        const OperationTimes &times = times_[op_];
        const bool waited_for_processor = times.ready < time_ && times.after != any;
        go_to(waited_for_processor ? times.after : times.released_by, time_);
    }

    void computation() {
        if (time_ > times_[op_].begin)
            job(times_[op_].begin, steps_[op_].time(), Cause::computation);
        before();
    }

    void send() {
        const OperationTimes &times = times_[op_];
        const MessageCost &cost = cost_of(steps_[op_]);
        if (times.ended_sends && time_ < times.sent)
            back_to(times.begin + o_send(op_, cost), Cause::handshake); // waited for nothing that came
        if (time_ > times.sent) {
            if (!cost.eager && time_ == times.on_tx + cost.span) {
                message_has_left();
            } else {
                if (cost.buffered && cost.eager && time_ > times.sent + cost.on_core &&
                    resumed(steps_[op_].partner, times.sent))
                    return; // it was held up until the receiver was back inside MPI
                const Picoseconds begin = std::max(times.sent, times.answered);
                job(begin, cost.on_core, Cause::overhead);
                if (begin > times.sent && leave_for(times.late_after, begin))
                    return; // the processor had something else to do
            }
        }
        send_up_to_data();
    }

    /// Parts of a message went on when a rank was back inside MPI: on to what it did until then.
    /// @param[in] op    the send or receive of that rank
    /// @param[in] since if that was later than this
    bool resumed(std::uint32_t op, Picoseconds since) {
        const OperationTimes &times = times_[op];
        if (times.resumed <= since || times.resumed >= time_)
            return false;
        back_to(times.resumed, Cause::bytes);
        go_to(times.resumed_after, time_);
        return true;
    }

    void message_has_left() {
        back_to(times_[op_].on_tx, Cause::bytes);
        back_to(times_[op_].on_link, Cause::tx_queue);
        back_to(times_[op_].sent, Cause::link_queue);
    }

    /// From the moment in which the data are handed over, or from within the job before.
    void send_up_to_data() {
        const OperationTimes &times = times_[op_];
        const MessageCost &cost = cost_of(steps_[op_]);
        if (time_ < times.sent || cost.eager) {
            if (time_ > times.begin)
                job(times.begin, o_send(op_, cost), Cause::overhead);
            before();
            return;
        }
        if (cost.in_call && times.answered == time_ && leave_for(times.late_after, time_))
            return; // the sender was not inside MPI when the answer came
        const std::uint32_t send = op_, receive = steps_[op_].partner;
        const OperationTimes &other = times_[receive];
        const Picoseconds travel =
            control_time(machine_, placement_, cost, steps_[send].rank, steps_[send].peer);
        const Picoseconds answered = time_ - travel;
        back_to(answered, Cause::handshake);
        if (other.answered == answered && leave_for(other.late_after, answered))
            return; // nor was the receiver when the request came
        if (other.ready == time_ && leave_for(other.released_by, time_))
            return; // it posted its receive later
        back_to(time_ - travel, Cause::handshake);
        op_ = send;
        job(times.begin, o_send(op_, cost), Cause::overhead);
        before();
    }

    void receive() {
        const OperationTimes &times = times_[op_];
        const std::uint32_t send = steps_[op_].partner;
        const MessageCost &cost = cost_of(steps_[send]);
        const bool a_part = cost.buffered && time_ < times.begin && time_ != times.ready &&
                            time_ != times.answered; // was read before, perhaps without a posted receive
        if (a_part && times.resumed > 0 && times.resumed < time_) {
            back_to(times.resumed, Cause::overhead);
            go_to(times.resumed_after, time_);
            return;
        }
        if (time_ <= times.ready && !a_part) { // the path came by an edge from its beginning
            go_to(times.released_by, time_);
            return;
        }
        if (time_ < times.begin) { // it only had the processor to read that part, or to answer
            back_to(times_[send].begin + o_send(send, cost), a_part ? Cause::bytes : Cause::handshake);
            op_ = send;
            job(times_[send].begin, o_send(send, cost), Cause::overhead);
            before();
            return;
        }
        if (time_ > times.begin)
            job(times.begin, cost.o_receive + times.connecting + cost.on_core, Cause::overhead);
        if (times.arrives < time_) {
            before();
            return;
        }
        if (cost.buffered) {
            const bool by_sender = times_[send].resumed > times.resumed;
            if (resumed(by_sender ? send : op_, times.on_rx))
                return;
        }
        const Picoseconds on_its_way = times.on_rx + std::max(cost.span, cost.rx);
        back_to(std::max(on_its_way, time_ - times_[send].memory), Cause::memory);
        if (cost.interrupts)
            back_to(on_its_way, Cause::interrupts);
        back_to(times.on_rx, Cause::bytes);
        back_to(times.at_rx, Cause::rx_queue);
        back_to(times.at_rx - times.at_ports, Cause::port_queue);
        back_to(times_[send].on_tx, Cause::latency);
        op_ = send;
        back_to(times_[send].on_link, Cause::tx_queue);
        back_to(times_[send].sent, Cause::link_queue);
        send_up_to_data();
    }

    const LargeArray<MatchedOperation> &steps_;
    const machine::Machine &machine_;
    const machine::Placement &placement_;
    const std::vector<OperationTimes> &times_;
    MessageCosts costs_;
    std::vector<PathSegment> path_;
    std::vector<std::uint32_t> left_now_; ///< operations that leave_for() left, at time_
    std::uint32_t op_ = any;
    Picoseconds time_ = 0;
};

} // namespace

std::vector<PathSegment> critical_path(const LargeArray<MatchedOperation> &steps,
                                       const machine::Machine &machine, const machine::Placement &placement,
                                       const Timeline &timeline) {
    return Walk(steps, machine, placement, timeline).run();
}

} // namespace rankwise::replay
