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
#include "replay/node_jobs.hpp"
#include "replay/node_messages.hpp"
#include "replay/node_rank.hpp"
#include "replay/node_windows.hpp"
#include "replay/progress.hpp"
#include "replay/resources/passage.hpp"
#include "replay/time_range.hpp"

namespace rankwise::replay {
namespace {

using machine::Machine;
using machine::Placement;

static_assert(phase_shift == NodeWindows::phase_shift && enters_rx == NodeWindows::early_phase);

class NodeReplay : NodeJobs<NodeReplay>, NodeMessages<NodeReplay> {
  public:
    NodeReplay(const Schedule &schedule, const Matching &matching, const LargeArray<Step> &steps,
               const Machine &machine, const Placement &placement, const Lookahead &ahead)
        : schedule_(schedule), steps_(steps), machine_(machine), placement_(placement), ahead_(ahead),
          costs_(machine, matching.sizes), progress_(schedule, steps), ranks_(schedule.ranks()),
          nexts_(schedule.ranks()), rank_at_(schedule.ranks()), node_first_(placement.nodes() + 1),
          tx_(placement.nodes()), rx_(placement.nodes()), channels_(machine.link_classes.size()),
          windows_(placement.nodes(), ahead.between, ahead.passing) {
        if (steps.size() >= std::size_t{1} << phase_shift)
            throw Error("the schedule has `" + std::to_string(steps.size()) + "` operations, more than 2^29",
                        "replay fewer ranks or fewer steps");
        for (const machine::LinkClass &l : machine.link_classes)
            for (const machine::Segment &s : l.segments)
                core_moves_bytes_ |= l.core_per_byte(s) > 0;
        if (core_moves_bytes_)
            first_byte_.resize(steps.size());
        for (const std::uint32_t node : placement.node)
            ++node_first_[node + 1];
        for (std::size_t node = 1; node < node_first_.size(); ++node)
            node_first_[node] += node_first_[node - 1];
        std::vector<std::uint32_t> slot(node_first_.begin(), node_first_.end() - 1);
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            ranks_[r].slot = slot[placement.node[r]]++;
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
    friend NodeJobs<NodeReplay>;
    friend NodeMessages<NodeReplay>;
    NodeJobs<NodeReplay> &jobs() { return *this; }
    NodeMessages<NodeReplay> &messages() { return *this; }

    Job job(std::uint32_t op) const { return static_cast<Job>(progress_.bits(op) >> job_shift); }
    void set_job(std::uint32_t op, Job job) {
        std::uint32_t &bits = progress_.bits(op);
        bits = static_cast<std::uint32_t>((bits & ((1u << job_shift) - 1)) | static_cast<unsigned>(job)
                                                                                 << job_shift);
    }

    const MessageCost &cost_of_send(std::uint32_t send) {
        const Step &step = steps_[send];
        return costs_.of(placement_.link(step.rank, step.peer), step);
    }
    const MessageCost &cost_of_receive(std::uint32_t receive) {
        const Step &step = steps_[receive];
        return costs_.of(placement_.link(step.peer, step.rank), step);
    }

    /// @param[in] op what decides between events of one time and phase
    void at(Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what) {
        windows_[node_].events.push({time, phase << phase_shift | op, what});
    }
    /// @brief As `at`, for what another rank notices.
    void at_rank(std::uint32_t rank, Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what) {
        if (placement_.node[rank] == node_)
            at(time, phase, op, what);
        else
            windows_.push_from_other(placement_.node[rank],
                                     {{time, phase << phase_shift | op, what}, steps_[op].size_class});
    }

    // Nodes ------------------------------------------------------------------------------------------------

    void start() {
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            node_ = placement_.node[r];
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
                messages().enter_rx(event);
            else
                windows_[node].events.push(event);
        }
        messages().send_off();
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
            jobs().end_jobs(rank, event.time);
            now_ = in_range(event.time);
            served_ = event.order;
            serve(event);
            release(rank);
        }
        for (std::uint32_t slot = node_first_[node]; slot < node_first_[node + 1]; ++slot) {
            if (nexts_[slot].job_end < end)
                jobs().end_jobs(rank_at_[slot], end);
            if (nexts_[slot].link_free < end)
                messages().free_link(rank_at_[slot], end);
        }
        sort_few(to_tx_);
        for (const Event &event : to_tx_) {
            now_ = event.time;
            messages().leave_rank(event.what, cost_of_send(event.what));
        }
        to_tx_.clear();
    }

    void serve(const Event &event) {
        switch (static_cast<Phase>(event.order >> phase_shift)) {
        case data_arrives:
        case enters_rx: // and passes it in no time
            messages().arrive(event.what);
            break;
        case request_arrives:
            messages().request(event.what);
            break;
        case clear_arrives:
            messages().clear(event.what);
            break;
        case data_left:
            messages().finish_send(event.what, has_left);
            break;
        case enters_link:
            messages().to_interface(event.what, cost_of_send(event.what));
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

    // Order of a rank's operations -------------------------------------------------------------------------

    void end(std::uint32_t op, NodeRank &r) {
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
            messages().post(rank, op);
        else
            jobs().queue_job(rank, op, kind == Kind::send ? Job::send : Job::calc);
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
    const Placement &placement_;
    const Lookahead ahead_;
    CostTable costs_;
    Contacts contacts_;
    Progress progress_;
    LargeArray<NodeRank> ranks_;
    std::vector<NodeNext> nexts_;           ///< of each slot
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
                                         const Machine &machine, const Placement &placement) {
    const Lookahead ahead = lookahead(schedule, matching, machine, placement);
    if (ahead.between == 0)
        return std::nullopt;
    if (!schedule.wildcards)
        return NodeReplay(schedule, matching, matching.steps, machine, placement, ahead).run();
    const LargeArray<Step> steps = steps_on_machine(schedule, matching, machine, placement);
    return NodeReplay(schedule, matching, steps, machine, placement, ahead).run();
}

} // namespace rankwise::replay
