// SPDX-License-Identifier: BSD-3-Clause
#include "replay/loggops.hpp"

#include <algorithm>
#include <array>

#include "replay/deadlock.hpp"
#include "replay/progress.hpp"
#include "replay/queues/radix_queue.hpp"

namespace rankwise::replay {
namespace {

constexpr std::uint32_t message_flag = 1u << 31; ///< of an event: the message of a send, not the send itself
constexpr unsigned order_shift = Progress::own_shift + 1;       ///< of an operation's order among its bits
constexpr std::uint32_t has_waited = 1u << Progress::own_shift; ///< a message, at its send

/// What a message of one size costs: P3, P4, P7.
struct Cost {
    std::uint64_t bytes = 0;
    Picoseconds sender = 0, tx = 0;
    Picoseconds receiver = 0, rx = 0;
};

class Costs {
  public:
    explicit Costs(const LogGOPS &parameters) : p_(parameters) { kept_.fill(work_out(0)); }

    const Cost &get(std::uint64_t bytes) {
        Cost &entry = kept_[(bytes * 0x9E3779B97F4A7C15u >> 40) % kept_.size()];
        if (entry.bytes != bytes)
            entry = work_out(bytes);
        return entry;
    }

  private:
    /// (s - 1) times a cost per byte; a message of 0 bytes takes it off, as LogGOPSim's unsigned arithmetic
    /// does.
    static Picoseconds per_byte(std::uint64_t bytes, double cost) {
        return machine::time_of_bytes(static_cast<double>(bytes) - 1.0, cost);
    }
    Cost work_out(std::uint64_t bytes) const {
        const Picoseconds O = per_byte(bytes, p_.O), G = per_byte(bytes, p_.G);
        // For 0 bytes LogGOPSim compares unsigned numbers, where -x is large and -0 is not.
        const Picoseconds larger = bytes == 0 && (O == 0 || G == 0) ? std::min(O, G) : std::max(O, G);
        return {bytes, p_.o + O, p_.g + G, p_.o + larger, p_.g + G};
    }

    const LogGOPS &p_;
    std::array<Cost, 64> kept_{};
};

/// Processor k, interface k, and what waits for the k-th pair of both, of one rank. What waits is in the
/// order of order, and only the first of it has an event, so that each is looked at once and not whenever
/// a processor gets free.
struct alignas(64) Slot {
    Picoseconds cpu = 0, tx = 0, rx = 0; ///< when each is free
    Picoseconds latest_post = -1;        ///< time of the receives that became ready last
    std::uint32_t first_post = 0;        ///< order of the first of them
    List computations;                   ///< for processor k
    List sends, messages;
};
static_assert(sizeof(Slot) == 64);

/// Messages between two ranks with one tag: those that wait for their receive, or the receives that are
/// posted.
struct Stream {
    List list;
    std::uint32_t holds_messages : 1 = 0;
    std::uint32_t receives_to_come : 31 =
        0; ///< receives that are ready and have an event at which they are posted
};

class Engine {
  public:
    Engine(const Schedule &schedule, const Matching &matching, const LogGOPS &parameters)
        : schedule_(schedule), steps_(matching.steps), p_(parameters), cpus_(schedule.cpus),
          nics_(schedule.nics), costs_(parameters), each_has_an_event_(clocks_go_back()),
          posts_at_once_(cpus_ == 1 && !schedule.wildcards && !each_has_an_event_),
          states_(states_at_begin(schedule)), progress_(schedule, matching.steps, states_),
          standstills_(schedule, progress_), slots_(std::size_t{schedule.ranks()} * cpus_ * nics_),
          streams_(matching.streams) {
        if (schedule.wildcards) {
            partner_.assign(steps_.size(), any);
            posted_.resize(schedule.ranks());
            unexpected_.resize(schedule.ranks());
        }
    }

    Prediction run() {
        for (std::uint32_t op = 0; op < progress_.size(); ++op)
            if (progress_.is_ready(op))
                progress_.freed.push_back(op);
        release();
        do {
            serve_all();
        } while (end_sends());
        if (!progress_.all_ended())
            throw standstills_.deadlock(other_end());
        check_left_over();
        return finish();
    }

  private:
    void serve_all() {
        while (!queue_.empty()) {
            queue_.fetch([this](const Event &event) { fetch_operation(event); },
                         [this](const Event &event) { fetch_rank(event); });
            const Event event = queue_.pop();
            now_ = in_range(event.time);
            const std::uint32_t op = event.what & ~message_flag;
            if (event.what & message_flag)
                arrive(op);
            else if (steps_[op].kind() == Kind::receive)
                post(op);
            else if (steps_[op].kind() == Kind::send)
                send(op);
            else
                compute(op);
            release();
        }
    }
    OtherEnd other_end() const {
        return [this](std::uint32_t op) { return schedule_.wildcards ? partner_[op] : steps_[op].partner; };
    }
    /// Nothing can go on: the sends in circles end as if they were eager. @return whether there were any
    bool end_sends() {
        if (!schedule_.recorded || progress_.all_ended())
            return false;
        const std::vector<std::uint32_t> sends = standstills_.waiting_sends(other_end());
        for (const std::uint32_t send : sends)
            end_sender(send, steps_[send].lane);
        ended_sends_ += sends.size();
        release();
        return !sends.empty();
    }

    void begin(std::uint32_t op) {
        progress_.begin(op);
        standstills_.begun(op);
        progress_.prefetch_ahead(op);
    }

    std::uint32_t order(std::uint32_t op) const { return progress_.bits(op) >> order_shift; }
    /// @brief The next number, kept above the operation's bits.
    void give_order(std::uint32_t op) {
        if (next_order_ >> (32 - order_shift) != 0)
            throw Error("the schedule has more than `2^29` operations and messages",
                        "replay fewer ranks or fewer steps");
        std::uint32_t &bits = progress_.bits(op);
        bits = (bits & ((1u << order_shift) - 1)) | next_order_++ << order_shift;
    }

    Slot *slots(std::uint32_t rank) { return slots_.data() + std::size_t{rank} * cpus_ * nics_; }
    Picoseconds &cpu(std::uint32_t rank, Lane lane) { return slots(rank)[lane.cpu].cpu; }
    Picoseconds &tx(std::uint32_t rank, Lane lane) { return slots(rank)[lane.nic].tx; }
    Picoseconds &rx(std::uint32_t rank, Lane lane) { return slots(rank)[lane.nic].rx; }
    Slot &pair(std::uint32_t rank, Lane lane) { return slots(rank)[lane.cpu * nics_ + lane.nic]; }
    List &computations(std::uint32_t rank, Lane lane) { return slots(rank)[lane.cpu].computations; }

    void fetch_operation(const Event &event) const { progress_.prefetch(event.what & ~message_flag); }
    void fetch_rank(const Event &event) const {
        const MatchedOperation &matched = steps_[event.what & ~message_flag];
        const bool is_message = (event.what & message_flag) != 0;
        __builtin_prefetch(slots_.data() +
                           std::size_t{is_message ? matched.peer : matched.rank} * cpus_ * nics_);
        if (is_message && !schedule_.wildcards)
            __builtin_prefetch(&streams_[matched.stream]);
    }

    /// Whether messages of 0 bytes put clocks back (P7). What becomes ready then overtakes those that wait,
    /// so that each of those has an event of its own.
    bool clocks_go_back() {
        const Cost &cost = costs_.get(0);
        return std::min({cost.sender, cost.tx, cost.receiver, cost.rx}) < 0 &&
               std::ranges::any_of(
                   steps_,
                   [](const MatchedOperation &matched) {
                       return matched.kind() == Kind::send && matched.bytes() == 0;
                   });
    }

    /// A clock that is taken from now on. A message of 0 bytes may put it back, but not to before the begin.
    Picoseconds after(Picoseconds cost) const { return std::max<Picoseconds>(now_ + cost, 0); }

    void wait(List &list, std::uint32_t op, Picoseconds until, std::uint32_t flag) {
        if (each_has_an_event_) {
            queue_.push({until, order(op), op | flag});
            return;
        }
        if (!list.empty() && order(op) > order(list.tail)) {
            list.append(progress_, op);
            return;
        }
        if (list.empty() || order(op) < order(list.head)) {
            progress_.next(op) = list.head;
            list.tail = list.empty() ? op : list.tail;
            list.head = op;
            queue_.push({until, order(op), op | flag}); // the event of the former first is stale, see turn()
            return;
        }
        std::uint32_t at = list.head;
        while (order(progress_.next(at)) < order(op))
            at = progress_.next(at);
        progress_.next(op) = progress_.next(at);
        progress_.next(at) = op;
    }

    /// Whether an operation whose event came up may run; if the processor was taken since, it waits on.
    bool turn(List &list, std::uint32_t op, Picoseconds free, std::uint32_t flag) {
        if (!each_has_an_event_ && list.head != op)
            return false; // an operation of a lower order came before it; it gets a new event when it is
                          // first again
        if (free > now_) {
            queue_.push({free, order(op), op | flag});
            return false;
        }
        if (!each_has_an_event_)
            list.take(progress_);
        return true;
    }

    void wake_next(const List &list, Picoseconds free, std::uint32_t flag) {
        if (!list.empty())
            queue_.push({std::max(free, now_), order(list.head), list.head | flag});
    }

    void compute(std::uint32_t op) {
        const std::uint32_t rank = steps_[op].rank;
        const Lane lane = steps_[op].lane;
        List &list = computations(rank, lane);
        if (!turn(list, op, cpu(rank, lane), 0))
            return;
        cpu(rank, lane) = now_ + steps_[op].time();
        wake_next(list, cpu(rank, lane), 0);
        begin(op);
        progress_.end(op);
    }

    void send(std::uint32_t op) {
        const std::uint32_t rank = steps_[op].rank;
        const Lane lane = steps_[op].lane;
        List &list = pair(rank, lane).sends;
        if (!turn(list, op, std::max(cpu(rank, lane), tx(rank, lane)), 0))
            return;
        const Cost &cost = costs_.get(steps_[op].bytes());
        cpu(rank, lane) = after(cost.sender);
        tx(rank, lane) = after(cost.tx);
        wake_next(list, std::max(cpu(rank, lane), tx(rank, lane)), 0);
        begin(op);
        give_order(op);
        queue_.push({now_ + p_.o + p_.L, order(op), op | message_flag});
        if (steps_[op].eager(p_.S))
            progress_.end(op);
    }

    /// A message's first byte is there, or the processor it waited for is free.
    void arrive(std::uint32_t op) {
        const std::uint32_t rank = steps_[op].peer;
        const Lane lane = steps_[op].lane; // the sender's numbers of processor and interface, as in LogGOPSim
        const Picoseconds free = std::max(cpu(rank, lane), rx(rank, lane));
        List &list = pair(rank, lane).messages;
        const bool waited = progress_.has(op, has_waited);
        if (waited) {
            if (!turn(list, op, free, message_flag))
                return;
        } else if (free > now_) {
            progress_.bits(op) |= has_waited;
            wait(list, op, free, message_flag);
            return;
        }
        const Cost &cost = costs_.get(steps_[op].bytes());
        cpu(rank, lane) = after(cost.receiver);
        rx(rank, lane) = after(cost.rx);
        if (waited)
            wake_next(list, std::max(cpu(rank, lane), rx(rank, lane)), message_flag);
        const std::uint32_t receive = schedule_.wildcards ? take_posted(op) : find_posted(op);
        if (receive == any)
            return;
        meet(op, receive);
        if (!steps_[op].eager(p_.S))
            end_sender(op, lane);
        progress_.end(receive);
    }

    void post(std::uint32_t op) {
        begin(op);
        const std::uint32_t message = schedule_.wildcards ? take_unexpected(op) : find_unexpected(op);
        if (message == any)
            return;
        meet(message, op);
        if (!steps_[message].eager(p_.S))
            end_sender(message, steps_[op].lane); // the receiver's numbers, as in LogGOPSim
        progress_.end(op);
    }

    /// A rendezvous send ends when it has met its receive; the sender's clocks are put forward to that
    /// moment.
    void end_sender(std::uint32_t op, Lane lane) {
        if (progress_.has(op, Progress::ended))
            return; // because nothing could go on
        const std::uint32_t rank = steps_[op].rank;
        cpu(rank, lane) = std::max(cpu(rank, lane), now_);
        tx(rank, lane) = std::max(tx(rank, lane), now_);
        progress_.end(op);
    }

    void meet(std::uint32_t send_op, std::uint32_t receive_op) {
        if (!schedule_.wildcards)
            return;
        partner_[send_op] = receive_op;
        partner_[receive_op] = send_op;
    }

    // Receives that meet their messages

    /// A receive is ready: it is posted when its processor is free, at `cpu`. No message is looked at before
    /// that, so the receive can be put into its stream now, without an event - unless the message is looked
    /// at in the very moment of the post and before it, see find_posted().
    void post_later(std::uint32_t op) {
        Slot &slot = *slots(steps_[op].rank);
        Stream &stream = streams_[steps_[op].stream];
        const bool posted_at_once = posts_at_once_ && stream.receives_to_come == 0 &&
                                    (stream.list.empty() || !stream.holds_messages) &&
                                    steps_[op].release.count != Release::listed;
        if (!posted_at_once) {
            ++stream.receives_to_come;
            queue_.push({cpu(steps_[op].rank, steps_[op].lane), order(op), op});
            return;
        }
        if (slot.cpu != slot.latest_post) {
            slot.latest_post = slot.cpu;
            slot.first_post = order(op);
        }
        begin(op);
        stream.holds_messages = false;
        stream.list.append(progress_, op);
    }

    std::uint32_t find_posted(std::uint32_t message) {
        Stream &stream = streams_[steps_[message].stream];
        if (!stream.list.empty() && !stream.holds_messages) {
            const std::uint32_t receive = stream.list.head;
            const Slot &slot = *slots(steps_[receive].rank);
            const bool message_is_first = posts_at_once_ && slot.latest_post == now_ &&
                                          order(receive) >= slot.first_post &&
                                          order(message) < order(receive);
            if (!message_is_first)
                return stream.list.take(progress_);
            while (!stream.list.empty()) {
                const std::uint32_t later = stream.list.take(progress_);
                ++stream.receives_to_come;
                queue_.push({now_, order(later), later});
            }
        }
        stream.holds_messages = true;
        stream.list.append(progress_, message);
        return any;
    }

    std::uint32_t find_unexpected(std::uint32_t receive) {
        Stream &stream = streams_[steps_[receive].stream];
        --stream.receives_to_come;
        if (!stream.list.empty() && stream.holds_messages)
            return stream.list.take(progress_);
        stream.holds_messages = false;
        stream.list.append(progress_, receive);
        return any;
    }

    bool fits(std::uint32_t receive, std::uint32_t message) const {
        const Operation &r = schedule_.operations[receive];
        return (r.peer == any || r.peer == steps_[message].rank) &&
               (r.tag == any || r.tag == schedule_.operations[message].tag);
    }
    std::uint32_t take_posted(std::uint32_t message) {
        auto &posted = posted_[steps_[message].peer];
        const auto found = std::find_if(posted.begin(), posted.end(),
                                        [&](std::uint32_t receive) { return fits(receive, message); });
        if (found == posted.end()) {
            unexpected_[steps_[message].peer].push_back(message);
            return any;
        }
        const std::uint32_t receive = *found;
        posted.erase(found);
        return receive;
    }
    std::uint32_t take_unexpected(std::uint32_t receive) {
        auto &unexpected = unexpected_[steps_[receive].rank];
        const auto found = std::find_if(unexpected.begin(), unexpected.end(),
                                        [&](std::uint32_t message) { return fits(receive, message); });
        if (found == unexpected.end()) {
            posted_[steps_[receive].rank].push_back(receive);
            return any;
        }
        const std::uint32_t message = *found;
        unexpected.erase(found);
        return message;
    }

    /// Queue what became ready: by rank, then sends, receives, computations, then as set free.
    void release() {
        std::vector<std::uint32_t> &freed = progress_.freed;
        if (freed.empty())
            return;
        if (freed.size() > 1)
            sort_freed();
        for (const std::uint32_t op : freed) {
            const std::uint32_t rank = steps_[op].rank;
            const Lane lane = steps_[op].lane;
            give_order(op);
            if (steps_[op].kind() == Kind::receive) {
                if (schedule_.wildcards)
                    queue_.push({cpu(rank, lane), order(op), op});
                else
                    post_later(op);
            } else if (steps_[op].kind() == Kind::send)
                wait(pair(rank, lane).sends, op, std::max(cpu(rank, lane), tx(rank, lane)), 0);
            else
                wait(computations(rank, lane), op, cpu(rank, lane), 0);
        }
        freed.clear();
    }

    /// By rank, and each rank's by kind as LogGOPSim does it, with `std::sort`: where more than 16 are freed
    /// in one step it leaves operations of one kind in an order of its own, which decides who sends first.
    void sort_freed() {
        std::vector<std::uint32_t> &freed = progress_.freed;
        const auto rank = [&](std::uint32_t op) { return steps_[op].rank; };
        if (!std::ranges::is_sorted(freed, {}, rank))
            std::ranges::stable_sort(freed, {}, rank);
        for (auto first = freed.begin(); first != freed.end();) {
            const auto last = std::find_if(first, freed.end(),
                                           [&, r = rank(*first)](std::uint32_t op) { return rank(op) != r; });
            std::sort(first, last,
                      [&](std::uint32_t a, std::uint32_t b) { return steps_[a].kind() < steps_[b].kind(); });
            first = last;
        }
    }

    void check_left_over() const {
        for (const auto &messages_left : unexpected_)
            if (!messages_left.empty())
                throw FaultError({.kind = Fault::Kind::unreceived,
                                  .operations = {schedule_.at(messages_left.front())},
                                  .count = messages_left.size()});
    }

    Prediction finish() {
        Prediction result;
        result.ranks.resize(schedule_.ranks());
        std::vector<std::uint8_t> used(std::size_t{schedule_.ranks()} * cpus_);
        for (std::uint32_t op = 0; op < steps_.size(); ++op) {
            const MatchedOperation &matched = steps_[op];
            used[steps_[op].rank * cpus_ + steps_[op].lane.cpu] = 1;
            if (matched.kind() == Kind::calc) {
                result.ranks[steps_[op].rank].computation += matched.time();
            } else if (matched.kind() == Kind::send) {
                const Picoseconds overhead = costs_.get(matched.bytes()).sender;
                result.ranks[steps_[op].rank].overhead += overhead;
                result.ranks[matched.peer].overhead += overhead;
            }
        }
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            RankTime &time = result.ranks[r];
            Picoseconds busy_processors = 0;
            for (std::uint32_t c = 0; c < cpus_; ++c) {
                time.finish = std::max(time.finish, slots(r)[c].cpu);
                busy_processors += used[r * cpus_ + c];
            }
            time.waiting =
                std::max<Picoseconds>(busy_processors, 1) * time.finish - time.computation - time.overhead;
        }
        result.ended_sends = ended_sends_;
        result.partner = std::move(partner_);
        return result;
    }

    const Schedule &schedule_;
    const LargeArray<MatchedOperation> &steps_;
    const LogGOPS &p_;
    const std::uint32_t cpus_, nics_;
    Costs costs_;
    const bool each_has_an_event_; ///< operations and messages that wait, see clocks_go_back()
    const bool posts_at_once_;     ///< receives need no event, see post_later()
    LargeArray<OperationState> states_;
    Progress progress_;
    Standstills standstills_;
    LargeArray<Slot> slots_;
    LargeArray<Stream> streams_;
    std::vector<std::uint32_t> partner_;                          ///< only with wildcards
    std::vector<std::vector<std::uint32_t>> posted_, unexpected_; ///< only with wildcards
    RadixQueue queue_;
    Picoseconds now_ = 0;
    std::uint32_t next_order_ = 0;
    std::uint64_t ended_sends_ = 0; ///< sends
};

} // namespace

Prediction replay_loggops(const Schedule &schedule, const Matching &matching, const LogGOPS &parameters) {
    return Engine(schedule, matching, parameters).run();
}

} // namespace rankwise::replay
