// SPDX-License-Identifier: BSD-3-Clause
#include "replay/loggops.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "replay/deadlock.hpp"
#include "replay/event_queue.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {
namespace {

constexpr std::uint32_t message_flag = 1u << 31; ///< of an event: the message of a send, not the send itself

/// Operations of one kind that wait for the same processor and interface of a rank, by `order_`. Only the
/// first of them has an event, so that an operation is looked at once and not each time the processor gets
/// free.
struct Waiting {
    List list;
};

class Engine {
  public:
    Engine(const Schedule &schedule, const Matching &matching, const LogGOPS &parameters)
        : schedule_(schedule), matching_(matching), p_(parameters), cpus_(schedule.cpus),
          nics_(schedule.nics), cpu_(schedule.ranks() * cpus_), tx_(schedule.ranks() * nics_),
          rx_(schedule.ranks() * nics_), waiting_(schedule.ranks() * cpus_ * (1 + 2 * nics_)),
          streams_(matching.streams), order_(schedule.operations.size()),
          progress_(schedule, matching.releases), rank_(matching.rank) {
        result_.ranks.resize(schedule.ranks());
        if (schedule.wildcards) {
            result_.partner.assign(schedule.operations.size(), any);
            posted_.resize(schedule.ranks());
            unexpected_.resize(schedule.ranks());
        }
    }

    Prediction run() {
        for (std::uint32_t op = 0; op < progress_.size(); ++op)
            if (progress_.is_ready(op))
                progress_.freed.push_back(op);
        release();
        while (!queue_.empty()) {
            const Event event = queue_.pop();
            now_ = event.time;
            const std::uint32_t op = event.what & ~message_flag;
            if (event.what & message_flag)
                arrive(op, event.order);
            else if (schedule_.operations[op].kind() == Kind::receive)
                post(op);
            else if (schedule_.operations[op].kind() == Kind::send)
                send(op);
            else
                compute(op);
            release();
        }
        if (!progress_.all_ended())
            throw deadlock(schedule_, progress_,
                           schedule_.wildcards ? result_.partner : partners_of(matching_.steps));
        check_left_over();
        finish();
        return std::move(result_);
    }

  private:
    const Operation &operation(std::uint32_t op) const { return schedule_.operations[op]; }
    Picoseconds &cpu(std::uint32_t rank, Lane lane) { return cpu_[rank * cpus_ + lane.cpu]; }
    Picoseconds &tx(std::uint32_t rank, Lane lane) { return tx_[rank * nics_ + lane.nic]; }
    Picoseconds &rx(std::uint32_t rank, Lane lane) { return rx_[rank * nics_ + lane.nic]; }

    /// (s - 1) times a cost per byte; a message of 0 bytes takes it off, as LogGOPSim's unsigned arithmetic
    /// does.
    static Picoseconds per_byte(std::uint64_t bytes, double cost) {
        return std::llround((static_cast<double>(bytes) - 1.0) * cost);
    }
    /// The larger of both costs per byte; for 0 bytes LogGOPSim compares them as unsigned numbers, where -x
    /// is large and -0 is not.
    Picoseconds larger_per_byte(std::uint64_t bytes) const {
        const Picoseconds a = per_byte(bytes, p_.O), b = per_byte(bytes, p_.G);
        return bytes == 0 && (a == 0 || b == 0) ? std::min(a, b) : std::max(a, b);
    }

    /// A message of 0 bytes never puts a clock back.
    static Picoseconds at_least_0(Picoseconds cost) { return std::max<Picoseconds>(cost, 0); }

    // The kinds of waiting of a rank: computations by processor; sends, then messages, by processor and
    // interface.
    Waiting &computations(std::uint32_t rank, Lane lane) {
        return waiting_[rank * cpus_ * (1 + 2 * nics_) + lane.cpu];
    }
    Waiting &sends(std::uint32_t rank, Lane lane) {
        return waiting_[rank * cpus_ * (1 + 2 * nics_) + cpus_ + lane.cpu * nics_ + lane.nic];
    }
    Waiting &messages(std::uint32_t rank, Lane lane) {
        return waiting_[rank * cpus_ * (1 + 2 * nics_) + cpus_ + cpus_ * nics_ + lane.cpu * nics_ + lane.nic];
    }

    void wait(Waiting &waiting, std::uint32_t op, Picoseconds until, std::uint32_t flag) {
        List &list = waiting.list;
        if (list.head != any && order_[op] > order_[list.tail]) {
            progress_.next(list.tail) = op;
            progress_.next(op) = any;
            list.tail = op;
            return;
        }
        if (list.head == any || order_[op] < order_[list.head]) {
            progress_.next(op) = list.head;
            list.tail = list.head == any ? op : list.tail;
            list.head = op;
            queue_.push({until, order_[op], op | flag}); // the event of the former first is stale, see turn()
            return;
        }
        std::uint32_t at = list.head;
        while (order_[progress_.next(at)] < order_[op])
            at = progress_.next(at);
        progress_.next(op) = progress_.next(at);
        progress_.next(at) = op;
    }

    /// Whether an operation whose event came up may run; if the processor was taken since, it waits on.
    bool turn(Waiting &waiting, std::uint32_t op, Picoseconds free, std::uint32_t flag) {
        if (waiting.list.head != op)
            return false; // an operation of a lower order came before it; it gets a new event when it is
                          // first again
        if (free > now_) {
            queue_.push({free, order_[op], op | flag});
            return false;
        }
        waiting.list.head = progress_.next(op);
        if (waiting.list.head == any)
            waiting.list.tail = any;
        return true;
    }

    void wake_next(const Waiting &waiting, Picoseconds free, std::uint32_t flag) {
        if (waiting.list.head != any)
            queue_.push({std::max(free, now_), order_[waiting.list.head], waiting.list.head | flag});
    }

    void compute(std::uint32_t op) {
        const std::uint32_t rank = rank_[op];
        const Lane lane = schedule_.lane(op);
        Waiting &waiting = computations(rank, lane);
        if (!turn(waiting, op, cpu(rank, lane), 0))
            return;
        cpu(rank, lane) = now_ + operation(op).time();
        result_.ranks[rank].computation += operation(op).time();
        wake_next(waiting, cpu(rank, lane), 0);
        progress_.begin(op);
        progress_.end(op);
    }

    void send(std::uint32_t op) {
        const std::uint32_t rank = rank_[op];
        const Lane lane = schedule_.lane(op);
        const std::uint64_t bytes = operation(op).bytes();
        Waiting &waiting = sends(rank, lane);
        if (!turn(waiting, op, std::max(cpu(rank, lane), tx(rank, lane)), 0))
            return;
        cpu(rank, lane) = now_ + at_least_0(p_.o + per_byte(bytes, p_.O));
        tx(rank, lane) = now_ + at_least_0(p_.g + per_byte(bytes, p_.G));
        result_.ranks[rank].overhead += at_least_0(p_.o + per_byte(bytes, p_.O));
        wake_next(waiting, std::max(cpu(rank, lane), tx(rank, lane)), 0);
        progress_.begin(op);
        order_[op] = next_order_++;
        queue_.push({now_ + p_.o + p_.L, order_[op], op | message_flag});
        if (bytes <= p_.S)
            progress_.end(op);
    }

    /// A message's first byte is there, or the processor it waited for is free.
    void arrive(std::uint32_t op, std::uint32_t order) {
        if (order != order_[op])
            return;
        const std::uint32_t rank = operation(op).peer;
        const Lane lane =
            schedule_.lane(op); // the sender's numbers of processor and interface, as in LogGOPSim
        const std::uint64_t bytes = operation(op).bytes();
        const Picoseconds free = std::max(cpu(rank, lane), rx(rank, lane));
        Waiting &waiting = messages(rank, lane);
        const bool waited = waiting_message_.empty() ? false : waiting_message_[op];
        if (waited) {
            if (!turn(waiting, op, free, message_flag))
                return;
        } else if (free > now_) {
            if (waiting_message_.empty())
                waiting_message_.resize(progress_.size());
            waiting_message_[op] = true;
            wait(waiting, op, free, message_flag);
            return;
        }
        cpu(rank, lane) = now_ + at_least_0(p_.o + larger_per_byte(bytes));
        rx(rank, lane) = now_ + at_least_0(p_.g + per_byte(bytes, p_.G));
        result_.ranks[rank].overhead += at_least_0(p_.o + per_byte(bytes, p_.O));
        if (waited)
            wake_next(waiting, std::max(cpu(rank, lane), rx(rank, lane)), message_flag);
        const std::uint32_t receive =
            schedule_.wildcards ? take_posted(op) : take(matching_.stream[op], op, true);
        if (receive == any)
            return;
        meet(op, receive);
        if (bytes > p_.S)
            let_sender_go(op, lane);
        progress_.end(receive);
    }

    void post(std::uint32_t op) {
        progress_.begin(op);
        const std::uint32_t message =
            schedule_.wildcards ? take_unexpected(op) : take(matching_.stream[op], op, false);
        if (message == any)
            return;
        meet(message, op);
        if (operation(message).bytes() > p_.S)
            let_sender_go(message, schedule_.lane(op)); // the receiver's numbers, as in LogGOPSim
        progress_.end(op);
    }

    /// A rendezvous send ends when it has met its receive; the sender's clocks are put forward to that
    /// moment.
    void let_sender_go(std::uint32_t op, Lane lane) {
        const std::uint32_t rank = rank_[op];
        cpu(rank, lane) = std::max(cpu(rank, lane), now_);
        tx(rank, lane) = std::max(tx(rank, lane), now_);
        progress_.end(op);
    }

    void meet(std::uint32_t send_op, std::uint32_t receive_op) {
        if (!schedule_.wildcards)
            return;
        result_.partner[send_op] = receive_op;
        result_.partner[receive_op] = send_op;
    }

    /// The first of the other side of a stream; if there is none, `op` waits in it. A stream never holds both
    /// sides.
    std::uint32_t take(std::uint32_t stream, std::uint32_t op, bool is_message) {
        Stream &s = streams_[stream];
        if (s.list.head == any || s.holds_messages == is_message) {
            progress_.next(op) = any;
            if (s.list.head == any)
                s.list.head = op;
            else
                progress_.next(s.list.tail) = op;
            s.list.tail = op;
            s.holds_messages = is_message;
            return any;
        }
        const std::uint32_t first = s.list.head;
        s.list.head = progress_.next(first);
        return first;
    }

    bool fits(std::uint32_t receive, std::uint32_t message) const {
        const Operation &r = operation(receive);
        return (r.peer == any || r.peer == rank_[message]) &&
               (r.tag == any || r.tag == operation(message).tag);
    }
    std::uint32_t take_posted(std::uint32_t message) {
        auto &posted = posted_[operation(message).peer];
        const auto found = std::find_if(posted.begin(), posted.end(),
                                        [&](std::uint32_t receive) { return fits(receive, message); });
        if (found == posted.end()) {
            unexpected_[operation(message).peer].push_back(message);
            return any;
        }
        const std::uint32_t receive = *found;
        posted.erase(found);
        return receive;
    }
    std::uint32_t take_unexpected(std::uint32_t receive) {
        auto &unexpected = unexpected_[rank_[receive]];
        const auto found = std::find_if(unexpected.begin(), unexpected.end(),
                                        [&](std::uint32_t message) { return fits(receive, message); });
        if (found == unexpected.end()) {
            posted_[rank_[receive]].push_back(receive);
            return any;
        }
        const std::uint32_t message = *found;
        unexpected.erase(found);
        return message;
    }

    /// Queue what became ready: by rank, then sends, receives, computations, then as set free.
    void release() {
        if (progress_.freed.empty())
            return;
        if (progress_.freed.size() > 1)
            std::stable_sort(progress_.freed.begin(), progress_.freed.end(),
                             [&](std::uint32_t a, std::uint32_t b) {
                                 return rank_[a] != rank_[b] ? rank_[a] < rank_[b]
                                                             : operation(a).kind() < operation(b).kind();
                             });
        for (const std::uint32_t op : progress_.freed) {
            const std::uint32_t rank = rank_[op];
            const Lane lane = schedule_.lane(op);
            order_[op] = next_order_++;
            if (operation(op).kind() == Kind::receive)
                queue_.push({cpu(rank, lane), order_[op], op});
            else if (operation(op).kind() == Kind::send)
                wait(sends(rank, lane), op, std::max(cpu(rank, lane), tx(rank, lane)), 0);
            else
                wait(computations(rank, lane), op, cpu(rank, lane), 0);
        }
        progress_.freed.clear();
    }

    void check_left_over() const {
        for (const auto &messages_left : unexpected_)
            if (!messages_left.empty())
                throw Error("a message that nobody receives, " + schedule_.describe(messages_left.front()),
                            "add the missing receive");
    }

    void finish() {
        std::vector<bool> used(cpu_.size());
        for (std::uint32_t op = 0; op < progress_.size(); ++op)
            used[rank_[op] * cpus_ + schedule_.lane(op).cpu] = true;
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            RankTime &time = result_.ranks[r];
            Picoseconds busy_processors = 0;
            for (std::uint32_t c = 0; c < cpus_; ++c) {
                time.finish = std::max(time.finish, cpu_[r * cpus_ + c]);
                busy_processors += used[r * cpus_ + c];
            }
            time.waiting =
                std::max<Picoseconds>(busy_processors, 1) * time.finish - time.computation - time.overhead;
        }
    }

    struct Stream {
        List list;
        bool holds_messages = false;
    };

    const Schedule &schedule_;
    const Matching &matching_;
    const LogGOPS &p_;
    const std::uint32_t cpus_, nics_;
    std::vector<Picoseconds> cpu_, tx_, rx_; ///< when each processor and interface is free
    std::vector<Waiting> waiting_;
    std::vector<Stream> streams_;
    std::vector<std::uint32_t> order_;
    Progress progress_;
    std::vector<bool> waiting_message_;
    const LargeArray<std::uint32_t> &rank_;
    std::vector<std::vector<std::uint32_t>> posted_, unexpected_; ///< only with wildcards
    EventQueue queue_;
    Picoseconds now_ = 0;
    std::uint32_t next_order_ = 0;
    Prediction result_;
};

} // namespace

Prediction replay_loggops(const Schedule &schedule, const Matching &matching, const LogGOPS &parameters) {
    return Engine(schedule, matching, parameters).run();
}

} // namespace rankwise::replay
