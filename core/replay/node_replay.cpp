// SPDX-License-Identifier: BSD-3-Clause
#include "replay/node_replay.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "replay/contacts.hpp"
#include "replay/deadlock.hpp"
#include "replay/lookahead.hpp"
#include "replay/machine_events.hpp"
#include "replay/machine_replay.hpp"
#include "replay/message_costs.hpp"
#include "replay/node_windows.hpp"
#include "replay/passage.hpp"
#include "replay/progress.hpp"
#include "replay/time_range.hpp"

namespace rankwise::replay {
namespace {

using machine::Layout;
using machine::Machine;

static_assert(phase_shift == NodeWindows::phase_shift && enters_rx == NodeWindows::early_phase);
constexpr std::uint32_t operation_mask = (1u << phase_shift) - 1;

/// A rank's processor, one job after the other in the order in which they became ready, and its link.
struct alignas(64) Rank {
    List ready;
    std::uint32_t running = any;
    std::uint32_t slot = 0; ///< among all ranks, those of a node one after the other
    List on_link;           ///< sends that wait for the link
    Picoseconds idle_since = 0;
    Picoseconds link = 0; ///< when the link is free
    Picoseconds overhead = 0, computation = 0;
    Picoseconds finish = 0;
};
static_assert(sizeof(Rank) == 64);

/// When something happens to a rank next.
struct Next {
    Picoseconds job_end = machine::never;   ///< of the job under way
    Picoseconds link_free = machine::never; ///< for the first message that waits for the link
};

class NodeReplay {
  public:
    NodeReplay(const Schedule &schedule, const Matching &matching, const LargeArray<Step> &steps,
               const Machine &machine, const Layout &layout, const Lookahead &ahead)
        : schedule_(schedule), steps_(steps), machine_(machine), layout_(layout), ahead_(ahead),
          costs_(machine, matching.sizes), progress_(schedule, steps), ranks_(schedule.ranks()),
          nexts_(schedule.ranks()), rank_at_(schedule.ranks()), node_first_(layout.nodes() + 1),
          tx_(layout.nodes()), rx_(layout.nodes()), channels_(machine.link_classes.size()),
          windows_(layout.nodes(), ahead.between, ahead.passing) {
        if (steps.size() >= std::size_t{1} << phase_shift)
            throw Error("the schedule has `" + std::to_string(steps.size()) + "` operations, more than 2^29",
                        "replay fewer ranks or fewer steps");
        for (const machine::LinkClass &l : machine.link_classes)
            for (const machine::Segment &s : l.segments)
                core_moves_bytes_ |= l.core_per_byte(s) > 0;
        if (core_moves_bytes_)
            first_byte_.resize(steps.size());
        for (const std::uint32_t node : layout.node)
            ++node_first_[node + 1];
        for (std::size_t node = 1; node < node_first_.size(); ++node)
            node_first_[node] += node_first_[node - 1];
        std::vector<std::uint32_t> slot(node_first_.begin(), node_first_.end() - 1);
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            ranks_[r].slot = slot[layout.node[r]]++;
            rank_at_[ranks_[r].slot] = r;
        }
    }

    std::optional<Prediction> run() {
        start();
        for (auto due = windows_.next(); !due.empty(); due = windows_.next())
            for (std::size_t k = 0; k < due.size() + fetch_steps; ++k) {
                fetch(due, k);
                if (k >= fetch_steps)
                    serve_node(due[k - fetch_steps]);
            }
        if (!progress_.all_ended() && schedule_.recorded)
            return std::nullopt; // the engine of all events lets sends go
        if (!progress_.all_ended())
            throw Standstills(schedule_, progress_).deadlock([this](std::uint32_t op) {
                return steps_[op].partner;
            });
        return finish();
    }

  private:
    Job job(std::uint32_t op) const { return static_cast<Job>(progress_.bits(op) >> job_shift); }
    void set_job(std::uint32_t op, Job job) {
        std::uint32_t &bits = progress_.bits(op);
        bits = static_cast<std::uint32_t>((bits & ((1u << job_shift) - 1)) | static_cast<unsigned>(job)
                                                                                 << job_shift);
    }

    const MessageCost &cost_of_send(std::uint32_t send) {
        const Step &step = steps_[send];
        return costs_.of(layout_.link(step.rank, step.peer), step);
    }
    const MessageCost &cost_of_receive(std::uint32_t receive) {
        const Step &step = steps_[receive];
        return costs_.of(layout_.link(step.peer, step.rank), step);
    }

    /// @param[in] op what decides between events of one time and phase
    void at(Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what) {
        windows_[node_].events.push({time, phase << phase_shift | op, what});
    }
    /// @brief As `at`, for what another rank notices.
    void at_rank(std::uint32_t rank, Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what) {
        if (layout_.node[rank] == node_)
            at(time, phase, op, what);
        else
            windows_.push_from_other(layout_.node[rank],
                                     {{time, phase << phase_shift | op, what}, steps_[op].size_class});
    }

    // Nodes ------------------------------------------------------------------------------------------------

    void start() {
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            node_ = layout_.node[r];
            for (std::uint32_t op = schedule_.first[r]; op < schedule_.first[r + 1]; ++op)
                if (progress_.is_ready(op))
                    progress_.freed.push_back(op);
            release(r);
        }
        for (std::uint32_t node = 0; node < tx_.size(); ++node)
            windows_.leave(node, next_of_ranks(node));
    }

    /// All that happens in a node until the end of the window, in shorter windows in which its ranks do not
    /// notice each other.
    void serve_node(std::uint32_t node) {
        node_ = node;
        const auto arrivals = windows_.take_from_others(node);
        for (const Arrival &event : arrivals)
            progress_.prefetch_one(event.what);
        for (const Arrival &event : arrivals) {
            now_ = event.time;
            if (event.order >> phase_shift == enters_rx)
                enter_rx(event);
            else
                windows_[node].events.push(event);
        }
        send_off();
        for (;;) {
            const Picoseconds ranks = next_of_ranks(node);
            const Picoseconds next = std::min(ranks, windows_[node].events.next());
            if (next >= windows_.end()) {
                windows_.leave(node, ranks);
                return;
            }
            serve_ranks(node, windows_.end() - next > ahead_.inside ? next + ahead_.inside : windows_.end());
        }
    }

    Picoseconds next_of_ranks(std::uint32_t node) const {
        Picoseconds next = machine::never;
        for (std::uint32_t slot = node_first_[node]; slot < node_first_[node + 1]; ++slot)
            next = std::min(next, std::min(nexts_[slot].job_end, nexts_[slot].link_free));
        return next;
    }

    /// Before `end` no rank of the node notices what others do from now on, so what each does need not be in
    /// the order of time; only what passes tx is put in order afterwards.
    void serve_ranks(std::uint32_t node, Picoseconds end) {
        events_.clear();
        windows_[node].events.take(end, events_);
        for (const Event &event : events_) {
            const std::uint32_t rank = steps_[event.what].rank;
            end_jobs(rank, event.time);
            now_ = in_range(event.time);
            served_ = event.order;
            serve(event);
            release(rank);
        }
        for (std::uint32_t slot = node_first_[node]; slot < node_first_[node + 1]; ++slot) {
            if (nexts_[slot].job_end < end)
                end_jobs(rank_at_[slot], end);
            if (nexts_[slot].link_free < end)
                free_link(rank_at_[slot], end);
        }
        sort_few(to_tx_);
        for (const Event &event : to_tx_) {
            now_ = event.time;
            leave_rank(event.what, cost_of_send(event.what));
        }
        to_tx_.clear();
    }

    void serve(const Event &event) {
        switch (static_cast<Phase>(event.order >> phase_shift)) {
        case data_arrives:
        case enters_rx: // and passes it in no time
            arrive(event.what);
            break;
        case request_arrives:
            request(event.what);
            break;
        case clear_arrives:
            clear(event.what);
            break;
        case data_left:
            finish_send(event.what, has_left);
            break;
        case enters_link:
            to_interface(event.what, cost_of_send(event.what));
            break;
        case job_ends: // in nexts_
        case core_ends:
            break;
        }
    }

    static constexpr std::size_t fetch_steps = 4; ///< before a node is served, the first of a window too

    /// What is needed for nodes that are served soon is brought into the cache step by step.
    void fetch(std::span<const std::uint32_t> due, std::size_t k) const {
        if (k < due.size())
            windows_.fetch(due[k]);
        if (k >= 1 && k - 1 < due.size()) {
            windows_.fetch_events(due[k - 1]);
            for_slots(due[k - 1],
                      [this](std::uint32_t slot) { __builtin_prefetch(&ranks_[rank_at_[slot]]); });
        }
        if (k >= 2 && k - 2 < due.size()) {
            windows_.for_coming(due[k - 2],
                                [this](const Event &event) { progress_.prefetch_one(event.what); });
            for_slots(due[k - 2], [this](std::uint32_t slot) {
                if (nexts_[slot].job_end < windows_.end())
                    progress_.prefetch(ranks_[rank_at_[slot]].running);
                if (nexts_[slot].link_free < windows_.end())
                    progress_.prefetch(ranks_[rank_at_[slot]].on_link.head);
            });
        }
        if (k >= 3 && k - 3 < due.size())
            for_slots(due[k - 3], [this](std::uint32_t slot) {
                if (nexts_[slot].job_end < windows_.end())
                    progress_.prefetch_released(ranks_[rank_at_[slot]].running);
            });
    }
    template <class Call> void for_slots(std::uint32_t node, const Call &call) const {
        for (std::uint32_t slot = node_first_[node]; slot < node_first_[node + 1]; ++slot)
            call(slot);
    }

    // Processors -------------------------------------------------------------------------------------------

    void queue_job(std::uint32_t rank, std::uint32_t op, Job job) {
        set_job(op, job);
        Rank &r = ranks_[rank];
        if (r.running == any)
            start(r, op, job);
        else
            r.ready.append(progress_, op);
    }

    void start(Rank &r, std::uint32_t op, Job job) {
        r.running = op;
        progress_.prefetch_released(op);
        progress_.prefetch_ahead(op);
        nexts_[r.slot].job_end = now_ + start_job(op, job, r);
    }

    /// @return how long the job takes
    Picoseconds start_job(std::uint32_t op, Job job, Rank &r) {
        switch (job) {
        case Job::calc:
            progress_.begin(op);
            r.computation += steps_[op].time();
            return steps_[op].time();
        case Job::send: {
            progress_.begin(op);
            const MessageCost &cost = cost_of_send(op);
            ++channels_[cost.link].messages;
            channels_[cost.link].bytes += cost.bytes;
            const Picoseconds overhead = cost.o_send + connect(op, cost);
            r.overhead += overhead;
            return overhead;
        }
        case Job::data: {
            const MessageCost &cost = cost_of_send(op);
            if (cost.in_call)
                enter_link(op, cost, r);
            r.overhead += cost.on_core;
            return cost.on_core;
        }
        case Job::receive: {
            const MessageCost &cost = cost_of_receive(op);
            const Picoseconds overhead = cost.o_receive + connect(op, cost);
            r.overhead += overhead + cost.on_core;
            if (cost.on_core == 0)
                return overhead;
            // A processor that was idle has dealt with the bytes while they came in.
            const Picoseconds idle = now_ - std::max(first_byte_[op], r.idle_since);
            return overhead + std::max<Picoseconds>(0, cost.on_core - std::max<Picoseconds>(0, idle));
        }
        case Job::clear:
        case Job::send_bytes:
        case Job::receive_bytes:
        case Job::none:
            break;
        }
        return 0;
    }

    /// @return how much longer the job of o or o_r takes that begins
    Picoseconds connect(std::uint32_t op, const MessageCost &cost) {
        return contacts_.begin(steps_[op].rank, steps_[op].peer, cost.connect);
    }

    /// The jobs of a rank that end before a time.
    void end_jobs(std::uint32_t rank, Picoseconds before) {
        Rank &r = ranks_[rank];
        Picoseconds &end = nexts_[r.slot].job_end;
        while (end < before) {
            now_ = in_range(end);
            served_ = job_ends << phase_shift | rank; // a rank's in the order in which they end
            end = machine::never;
            end_job(rank, r);
            release(rank);
        }
    }

    void end_job(std::uint32_t rank, Rank &r) {
        const std::uint32_t op = r.running;
        r.idle_since = now_;
        switch (job(op)) {
        case Job::send: {
            const MessageCost &cost = cost_of_send(op);
            if (!cost.eager) {
                at_rank(steps_[op].peer, now_ + cost.control, request_arrives, op, steps_[op].partner);
                break;
            }
            enter_link(op, cost, r);
            if (cost.on_core > 0) {
                set_job(op, Job::send_bytes);
                r.overhead += cost.on_core;
                nexts_[r.slot].job_end = now_ + cost.on_core;
                return;
            }
            end(op, r);
            break;
        }
        case Job::clear:
            answer(op);
            break;
        case Job::data:
            finish_send(op, core_is_done);
            break;
        default:
            end(op, r);
            break;
        }
        r.running = any;
        if (!r.ready.empty()) {
            const std::uint32_t next = r.ready.take(progress_);
            start(r, next, job(next));
        }
    }

    // Messages ---------------------------------------------------------------------------------------------

    void request(std::uint32_t receive) {
        progress_.bits(receive) |= is_requested;
        if (progress_.has(receive, Progress::begun))
            clear_to_send(receive);
    }

    /// Request and receive are there: the receiver answers, when it is inside MPI.
    void clear_to_send(std::uint32_t receive) {
        if (cost_of_receive(receive).in_call)
            queue_job(steps_[receive].rank, receive, Job::clear);
        else
            answer(receive);
    }

    void answer(std::uint32_t receive) {
        const Step &step = steps_[receive];
        at_rank(step.peer, now_ + cost_of_receive(receive).control, clear_arrives, step.partner,
                step.partner);
    }

    void clear(std::uint32_t send) {
        const MessageCost &cost = cost_of_send(send);
        const std::uint32_t rank = steps_[send].rank;
        if (cost.in_call) {
            queue_job(rank, send, Job::data);
            return;
        }
        enter_link(send, cost, ranks_[rank]);
        if (cost.on_core > 0)
            queue_job(rank, send, Job::data);
        else
            finish_send(send, core_is_done);
    }

    /// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
    void enter_link(std::uint32_t send, const MessageCost &cost, Rank &r) {
        if (!cost.overlap) {
            to_interface(send, cost);
            return;
        }
        if (nexts_[r.slot].link_free <= now_)
            free_link(steps_[send].rank, now_ + 1); // only the first one's time is kept
        const Picoseconds start = std::max(now_, r.link);
        r.link = start + cost.gap;
        if (start == now_) {
            to_interface(send, cost);
        } else if (ahead_.core_and_link) {
            at(start, enters_link, send, send); // it may be in the list of those that are ready
        } else {
            if (r.on_link.empty())
                nexts_[r.slot].link_free = start;
            r.on_link.append(progress_, send);
        }
    }

    /// The messages that a rank's link is free for before a time.
    void free_link(std::uint32_t rank, Picoseconds before) {
        Rank &r = ranks_[rank];
        Picoseconds &next = nexts_[r.slot].link_free;
        const auto now = std::pair(now_, served_);
        while (next < before) {
            now_ = next;
            const std::uint32_t send = r.on_link.take(progress_);
            served_ = enters_link << phase_shift | send;
            const MessageCost &cost = cost_of_send(send);
            next = r.on_link.empty() ? machine::never : now_ + cost.gap;
            to_interface(send, cost);
        }
        std::tie(now_, served_) = now;
    }

    /// The link is free for a message. If it passes the interface, that is done when all ranks have come so
    /// far.
    void to_interface(std::uint32_t send, const MessageCost &cost) {
        if (cost.network)
            to_tx_.push_back({now_, served_, send});
        else
            leave_rank(send, cost);
    }

    /// The first byte leaves its rank.
    void leave_rank(std::uint32_t send, const MessageCost &cost) {
        const Step &step = steps_[send];
        const Picoseconds start =
            cost.network ? tx_[node_].pass(machine_.tx, cost.bytes, cost.tx, now_) : now_;
        if (!cost.eager)
            at(start + cost.span, data_left, send, send);
        if (!cost.network) {
            if (core_moves_bytes_)
                first_byte_[step.partner] = start + cost.latency;
            at_rank(step.peer, start + cost.span + cost.latency, data_arrives, send, step.partner);
        } else if (start < windows_.end() && windows_[node_].leaving.empty()) {
            at_rank(step.peer, start + cost.latency, enters_rx, send, step.partner);
        } else {
            windows_[node_].leaving.push({start, 0, send});
        }
    }

    /// What begins to pass tx in this window goes to its node.
    void send_off() {
        EventFifo &leaving = windows_[node_].leaving;
        while (leaving.next() < windows_.end()) {
            const Event event = leaving.pop();
            const Step &step = steps_[event.what];
            at_rank(step.peer, event.time + cost_of_send(event.what).latency, enters_rx, event.what,
                    step.partner);
        }
    }

    void enter_rx(const Arrival &event) {
        const std::uint32_t receive = event.what;
        const MessageCost &cost = event.size_class == Step::no_class
                                      ? cost_of_receive(receive)
                                      : costs_.of(layout_.network_link, event.size_class);
        const Picoseconds start = rx_[node_].pass(machine_.rx, cost.bytes, cost.rx, now_);
        if (core_moves_bytes_)
            first_byte_[receive] = start;
        const Picoseconds arrives = std::max(now_ + cost.span, start + cost.rx);
        at(arrives, arrives == now_ ? enters_rx : data_arrives, event.order & operation_mask, receive);
    }

    void arrive(std::uint32_t receive) {
        progress_.bits(receive) |= is_arrived;
        if (progress_.has(receive, Progress::begun))
            queue_job(steps_[receive].rank, receive, Job::receive);
    }

    void post(std::uint32_t rank, std::uint32_t receive) {
        progress_.begin(receive);
        if (progress_.has(receive, is_arrived))
            queue_job(rank, receive, Job::receive);
        else if (progress_.has(receive, is_requested))
            clear_to_send(receive);
    }

    /// A rendezvous send ends when its last byte has left and its processor has done its part.
    void finish_send(std::uint32_t send, std::uint32_t part) {
        const std::uint32_t bits = progress_.bits(send) |= part;
        if ((bits & (has_left | core_is_done)) == (has_left | core_is_done))
            end(send, ranks_[steps_[send].rank]);
    }

    // Order of a rank's operations -------------------------------------------------------------------------

    void end(std::uint32_t op, Rank &r) {
        r.finish = now_;
        progress_.end(op);
    }

    /// Operations that became ready together go on as sends, then receives, computations, then by number.
    void release(std::uint32_t rank) {
        while (!progress_.freed.empty()) {
            releasing_.swap(progress_.freed);
            if (releasing_.size() == 1) {
                go_on(rank, releasing_.front(), steps_[releasing_.front()].kind());
            } else {
                if (!std::is_sorted(releasing_.begin(), releasing_.end()))
                    std::sort(releasing_.begin(), releasing_.end());
                // Sends at once, of the others those of the kind that comes next.
                for (const Kind kind : {Kind::send, Kind::receive, Kind::calc}) {
                    std::size_t others = 0;
                    for (const std::uint32_t op : releasing_)
                        if (steps_[op].kind() == kind)
                            go_on(rank, op, kind);
                        else
                            releasing_[others++] = op;
                    releasing_.resize(others);
                }
            }
            releasing_.clear();
        }
    }

    void go_on(std::uint32_t rank, std::uint32_t op, Kind kind) {
        if (kind == Kind::receive)
            post(rank, op);
        else
            queue_job(rank, op, kind == Kind::send ? Job::send : Job::calc);
    }

    Prediction finish() {
        Prediction result;
        result.ranks.resize(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            RankTime &time = result.ranks[r];
            time.computation = ranks_[r].computation;
            time.overhead = ranks_[r].overhead;
            time.finish = ranks_[r].finish;
            time.waiting = time.finish - time.computation - time.overhead;
        }
        for (std::size_t node = 0; node < tx_.size(); ++node) {
            result.tx.push_back(tx_[node].load);
            result.rx.push_back(rx_[node].load);
        }
        result.channels = std::move(channels_);
        return result;
    }

    const Schedule &schedule_;
    const LargeArray<Step> &steps_;
    const Machine &machine_;
    const Layout &layout_;
    const Lookahead ahead_;
    CostTable costs_;
    Contacts contacts_;
    Progress progress_;
    LargeArray<Rank> ranks_;
    std::vector<Next> nexts_;               ///< of each slot
    std::vector<std::uint32_t> rank_at_;    ///< of each slot
    std::vector<std::uint32_t> node_first_; ///< node n has the slots node_first_[n] .. node_first_[n + 1]
    std::vector<Passage> tx_, rx_;          ///< of each node
    bool core_moves_bytes_ = false;
    LargeArray<Picoseconds> first_byte_; ///< of the message of a receive, if a core moves bytes
    std::vector<ChannelLoad> channels_;
    NodeWindows windows_;
    std::vector<Event> events_;            ///< of the short window
    std::vector<Event> to_tx_;             ///< messages that the link is free for, in no order
    std::vector<std::uint32_t> releasing_; ///< see `release`
    std::uint32_t node_ = 0;
    std::uint32_t served_ = 0; ///< order of what is being served
    Picoseconds now_ = 0;
};

} // namespace

std::optional<Prediction> replay_by_node(const Schedule &schedule, const Matching &matching,
                                         const Machine &machine, const Layout &layout) {
    const Lookahead ahead = lookahead(schedule, matching, machine, layout);
    if (ahead.between == 0)
        return std::nullopt;
    if (!schedule.wildcards)
        return NodeReplay(schedule, matching, matching.steps, machine, layout, ahead).run();
    const LargeArray<Step> steps = steps_on_machine(schedule, matching, machine, layout);
    return NodeReplay(schedule, matching, steps, machine, layout, ahead).run();
}

} // namespace rankwise::replay
