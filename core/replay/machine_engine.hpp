// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "replay/contacts.hpp"
#include "replay/deadlock.hpp"
#include "replay/in_windows.hpp"
#include "replay/machine_events.hpp"
#include "replay/message_costs.hpp"
#include "replay/more_resources.hpp"
#include "replay/passage.hpp"
#include "replay/path_steps.hpp"
#include "replay/progress.hpp"
#include "replay/radix_queue.hpp"
#include "replay/recorders.hpp"
#include "replay/resource_steps.hpp"
#include "replay/shared_cores.hpp"
#include "replay/time_range.hpp"

namespace rankwise::replay {

using machine::CoreSharing;
using machine::Layout;
using machine::LinkClass;
using machine::Machine;

/// @brief The machine model of formats/loggops.md as a queue of events: one replay.
///
/// @tparam Recorder what is told about the replay, see NoRecorder
/// @tparam More state of the Resources beyond interfaces and cores, asked only under
/// `if constexpr (More::any)`: a machine without them pays nothing for those that have them
template <class Recorder, class More> class Engine {
    friend InWindows;

  public:
    using JobType = Job;
    using PhaseType = Phase;
    using ProcessorType = Processor;

    Engine(const Schedule &schedule, const LargeArray<Step> &steps, const Machine &machine,
           const Layout &layout, Recorder recorder)
        : schedule_(schedule), steps_(steps), machine_(machine), layout_(layout), cpus_(schedule.cpus),
          lanes_(std::max(schedule.cpus, schedule.nics)), costs_(machine), progress_(schedule, steps),
          standstills_(schedule, progress_), processors_(std::size_t{schedule.ranks()} * lanes_),
          tx_(layout.nodes()), rx_(layout.nodes()), shared_(schedule, machine, layout),
          core_sharing_(shared_.empty() ? 0 : schedule.ranks()), recorder_(std::move(recorder)),
          more_(schedule, machine, layout, lanes_) {
        recorder_.begin(steps.size(), processors_.size());
        check_size();
        channels_.resize(machine.link_classes.size());
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
            first_processor(r).unfinished = schedule.first[r + 1] - schedule.first[r];
        if (std::any_of(machine.link_classes.begin(), machine.link_classes.end(), moves_bytes_by_core))
            first_byte_.resize(steps.size());
        if (!first_byte_.empty() && !shared_.empty())
            spare_at_first_byte_.resize(steps.size());
    }

    Prediction run() {
        start();
        do {
            while (!queue_.empty()) {
                queue_.fetch([this](const Event &event) { fetch_operation(event); },
                             [this](const Event &event) { fetch_rank(event); });
                serve(queue_.pop());
                release();
            }
        } while (let_sends_go());
        if (!progress_.all_ended())
            throw standstills_.deadlock(other_end());
        return finish();
    }

  private:
    /// What a message operation waits for if it does not end.
    OtherEnd other_end() {
        if constexpr (Recorder::in_windows) // a send that was not read comes with the rest of its rank
            return [this](std::uint32_t op) {
                const Step &step = steps_[op];
                return step.kind() == Kind::receive && step.partner == any
                           ? schedule_.first[step.peer + 1] - 1
                           : step.partner;
            };
        if constexpr (More::any)
            return [this, held_up = more_.paths.held_up(steps_, [this](std::uint32_t op) {
                return progress_.has(op, Progress::begun);
            })](std::uint32_t op) {
                const auto found = held_up.find(op);
                return found == held_up.end() ? steps_[op].partner : found->second;
            };
        return [this](std::uint32_t op) { return steps_[op].partner; };
    }

    /// Nothing can go on: the sends in circles end as if they were buffered; their messages travel when their
    /// receives are there.
    /// @return whether there were any
    bool let_sends_go() {
        if (!schedule_.recorded || progress_.all_ended())
            return false;
        const std::vector<std::uint32_t> sends = standstills_.waiting_sends(other_end());
        for (const std::uint32_t send : sends) {
            end(send);
            recorder_.let_go(send);
        }
        let_go_ += sends.size();
        release();
        return !sends.empty();
    }
    /// Whether a send has ended because it was let go, and not as its message has left.
    bool is_under_way(std::uint32_t op) {
        return let_go_ > 0 && steps_[op].kind() == Kind::send && progress_.has(op, Progress::ended) &&
               !cost_of_send(op).eager && !has_left_entirely(op);
    }
    bool has_left_entirely(std::uint32_t send) const {
        return (progress_.bits(send) & (has_left | core_is_done)) == (has_left | core_is_done);
    }

    friend ResourceSteps<Engine>;
    friend PathSteps<Engine>;
    ResourceSteps<Engine> steps() { return {*this}; }
    PathSteps<Engine> paths() { return {*this}; }

    void check_size() const {
        if (steps_.size() >= std::size_t{1} << phase_shift)
            throw Error("the schedule has `" + std::to_string(steps_.size()) + "` operations, more than 2^29",
                        "replay fewer ranks or fewer steps");
    }
    static bool moves_bytes_by_core(const LinkClass &l) {
        return std::any_of(l.segments.begin(), l.segments.end(),
                           [&](const machine::Segment &s) { return l.core_per_byte(s) > 0; });
    }
    std::uint32_t processor_of(std::uint32_t op) const {
        return steps_[op].rank * lanes_ + steps_[op].lane.cpu;
    }
    Processor &first_processor(std::uint32_t rank) { return processors_[std::size_t{rank} * lanes_]; }

    bool message_is_there(std::uint32_t receive) const { return progress_.has(receive, is_arrived); }
    Job job(std::uint32_t op) { return static_cast<Job>(progress_.bits(op) >> job_shift); }
    void set_job(std::uint32_t op, Job job) {
        std::uint32_t &bits = progress_.bits(op);
        bits = static_cast<std::uint32_t>((bits & ((1u << job_shift) - 1)) | static_cast<unsigned>(job)
                                                                                 << job_shift);
    }

    const MessageCost &cost_of_send(std::uint32_t send) {
        const Step &step = steps_[send];
        return costs_.get(layout_.link(steps_[send].rank, step.peer), step.message());
    }
    const MessageCost &cost_of_receive(std::uint32_t receive) {
        const Step &step = steps_[receive];
        return costs_.get(layout_.link(step.peer, steps_[receive].rank), step.message());
    }

    /// @param[in] op what decides between events of one time and phase
    void at(Picoseconds time, Phase phase, std::uint32_t op, std::uint32_t what) {
        queue_.push({time, phase << phase_shift | op, what});
    }
    void start() {
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            for (std::uint32_t op = schedule_.first[r]; op < schedule_.first[r + 1]; ++op)
                if (progress_.is_ready(op))
                    progress_.freed.push_back(op);
            release();
        }
    }

    /// @return the operation of an event, 0 of one of a core
    static std::uint32_t operation_of(const Event &event) {
        const std::uint32_t phase = event.order >> phase_shift;
        if (phase >= job_ends)
            return phase == job_ends ? event.order & ((1u << phase_shift) - 1) : 0;
        if constexpr (More::any)
            return phase == enters_rx ? event.order & ((1u << phase_shift) - 1) : event.what;
        return event.what;
    }
    void fetch_operation(const Event &event) const { progress_.prefetch(operation_of(event)); }
    void fetch_rank(const Event &event) const {
        __builtin_prefetch(&processors_[std::size_t{steps_[operation_of(event)].rank} * lanes_]);
    }

    void serve(const Event &event) {
        now_ = in_range(event.time);
        const std::uint32_t send = event.order & ((1u << phase_shift) - 1);
        if constexpr (More::any)
            if (paths().serve(event.order >> phase_shift, send, event.what))
                return;
        switch (static_cast<Phase>(event.order >> phase_shift)) {
        case data_arrives:
            arrive(event.what);
            break;
        case enters_rx:
            enter_rx(send, event.what);
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
            enter_tx(send, cost_of_send(send));
            break;
        case job_ends:
            if constexpr (More::any)
                if (!steps().is_due(event.what, send))
                    break; // its speed has changed since: another event is under way
            end_job(event.what);
            break;
        case core_ends:
            if constexpr (More::any)
                steps().rest(event.what);
            else
                end_on_core(event.what);
            break;
        }
    }

    // Processors -------------------------------------------------------------------------------------------

    void queue_job(std::uint32_t op, Job job) {
        set_job(op, job);
        const std::uint32_t processor = processor_of(op);
        Processor &p = processors_[processor];
        if (p.running == any)
            start(processor, op);
        else
            p.ready.append(progress_, op);
    }

    void start(std::uint32_t processor, std::uint32_t op) {
        Processor &p = processors_[processor];
        p.running = op;
        recorder_.started(processor, op, job(op) != Job::clear && job(op) != Job::data, p.idle_since, now_);
        run_for(processor, start_job(op, p));
    }

    void run_for(std::uint32_t processor, Picoseconds work) {
        Processor &p = processors_[processor];
        p.started = now_;
        p.work = work;
        if constexpr (More::any)
            return steps().run_shared(processor, work);
        const std::uint32_t core = processor % lanes_ == 0 ? shared_.of(processor / lanes_) : any;
        if (core == any) {
            at(now_ + work, job_ends, p.running, processor);
            return;
        }
        shared_.cores[core].start(now_, processor, work, job(p.running) == Job::calc);
        watch(core);
    }

    void watch(std::uint32_t core) {
        const Picoseconds end = shared_.cores[core].next_end(now_);
        if (end == shared_.cores[core].expected)
            return;
        shared_.cores[core].expected = end;
        if (end != machine::never)
            at(end, core_ends, core, core);
    }

    void end_on_core(std::uint32_t core) {
        if (shared_.cores[core].expected != now_)
            return; // jobs came or went since: another event is under way
        const std::uint32_t processor = shared_.cores[core].finish(now_);
        shared_.cores[core].expected = machine::never;
        end_job(processor);
        watch(core);
    }

    /// @return how long the job would take alone
    Picoseconds start_job(std::uint32_t op, Processor &p) {
        switch (job(op)) {
        case Job::calc:
            begin(op);
            return steps_[op].time();
        case Job::send: {
            begin(op);
            const MessageCost &cost = cost_of_send(op);
            ++channels_[cost.link].messages;
            channels_[cost.link].bytes += cost.bytes;
            const Picoseconds overhead = cost.o_send + connect(op, cost);
            p.overhead += overhead;
            return overhead;
        }
        case Job::data: {
            const MessageCost &cost = cost_of_send(op);
            if (cost.in_call)
                enter_link(op, cost);
            p.overhead += cost.on_core;
            return cost.on_core;
        }
        case Job::receive: {
            if constexpr (More::any)
                return steps().start_receive(op, p);
            const MessageCost &cost = cost_of_receive(op);
            const Picoseconds overhead = cost.o_receive + connect(op, cost);
            p.overhead += overhead + cost.on_core;
            if (cost.on_core == 0)
                return overhead;
            // A processor that was idle has dealt with the bytes while they came in.
            const Picoseconds idle = now_ - std::max(first_byte_[op], p.idle_since);
            return overhead + cost.on_core - done_while_idle(op, cost.on_core, idle);
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
        const Picoseconds longer = contacts_.begin(steps_[op].rank, steps_[op].peer, cost.connect);
        if (longer > 0)
            recorder_.connected(op, longer);
        return longer;
    }

    void know_first_byte(std::uint32_t receive, Picoseconds time) {
        if (first_byte_.empty())
            return;
        first_byte_[receive] = time;
        if (SpareTime *const spare = spare_of(receive))
            spare_at_first_byte_[receive] = spare->until(now_);
    }

    /// @param[in] idle how long the receiver had nothing else to do since the first byte came
    /// @return how much of a message's bytes it has dealt with by then
    Picoseconds done_while_idle(std::uint32_t receive, Picoseconds bytes, Picoseconds idle) {
        const Picoseconds most = std::clamp<Picoseconds>(idle, 0, bytes);
        SpareTime *const spare = spare_of(receive);
        return spare == nullptr ? most : spare->take(now_, spare_at_first_byte_[receive], most);
    }

    /// @return of the core of an operation's processor, if ranks share it
    SpareTime *spare_of(std::uint32_t op) {
        const Step &step = steps_[op];
        const std::uint32_t core = step.lane.cpu == 0 ? shared_.of(step.rank) : any;
        if (core == any)
            return nullptr;
        if constexpr (More::any)
            return &more_.rates.spare(layout_.processor[step.rank]);
        else
            return &shared_.cores[core].spare;
    }

    void end_job(std::uint32_t processor) {
        Processor &p = processors_[processor];
        const std::uint32_t op = p.running;
        if constexpr (More::any)
            steps().account(processor);
        else if (!shared_.empty())
            core_sharing_[processor / lanes_] += now_ - p.started - p.work;
        p.idle_since = now_;
        if constexpr (More::any)
            if (paths().has_read(processor))
                return next_job(processor);
        const Job ended = job(op);
        if constexpr (More::any)
            if (steps().job_goes_on(processor, ended))
                return;
        if (ended == Job::send) {
            const MessageCost &cost = cost_of_send(op);
            if (cost.eager) {
                enter_link(op, cost);
                if (cost.on_core > 0) {
                    set_job(op, Job::send_bytes);
                    p.overhead += cost.on_core;
                    run_for(processor, cost.on_core);
                    return;
                }
                end_eager(op);
            } else {
                at(now_ + control(op, cost), request_arrives, op, steps_[op].partner);
            }
        } else if (ended == Job::clear) {
            answer(op);
        } else if (ended == Job::data) {
            finish_send(op, core_is_done);
        } else if (ended == Job::send_bytes) {
            end_eager(op);
        } else {
            end(op);
        }
        p.running = any;
        if constexpr (More::any)
            if (more_.paths.has_buffers() && ended == Job::calc)
                paths().is_back(processor, op);
        next_job(processor);
    }

    void next_job(std::uint32_t processor) {
        if constexpr (More::any)
            if (more_.paths.has_buffers() && paths().read(processor))
                return;
        Processor &p = processors_[processor];
        if (!p.ready.empty())
            start(processor, p.ready.take(progress_));
    }

    /// The processor has done its part of an eager send.
    void end_eager(std::uint32_t send) {
        if constexpr (More::any)
            if (cost_of_send(send).buffered)
                return finish_send(send, core_is_done);
        end(send);
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
            queue_job(receive, Job::clear);
        else
            answer(receive);
    }

    void answer(std::uint32_t receive) {
        const std::uint32_t send = steps_[receive].partner;
        at(now_ + control(send, cost_of_receive(receive)), clear_arrives, send, send);
    }

    void clear(std::uint32_t send) {
        const MessageCost &cost = cost_of_send(send);
        if (cost.in_call) {
            queue_job(send, Job::data);
            return;
        }
        enter_link(send, cost);
        if (cost.on_core > 0)
            queue_job(send, Job::data);
        else
            finish_send(send, core_is_done);
    }

    /// How long a request or an answer travels.
    Picoseconds control(std::uint32_t send, const MessageCost &cost) const {
        if constexpr (More::any)
            return control_time(machine_, layout_, cost, steps_[send].rank, steps_[send].peer);
        return cost.control;
    }

    /// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
    void enter_link(std::uint32_t send, const MessageCost &cost) {
        if constexpr (More::any)
            if (more_.paths.has(cost)) {
                paths().begin(send, cost);
                return;
            }
        if (!cost.overlap) {
            recorder_.sent(send, now_, now_);
            enter_tx(send, cost);
            return;
        }
        Picoseconds &free = processors_[std::size_t{steps_[send].rank} * lanes_ + steps_[send].lane.nic].link;
        const Picoseconds start = std::max(now_, free);
        free = start + cost.gap;
        recorder_.sent(send, now_, start);
        if (start > now_)
            at(start, enters_link, send, send);
        else
            enter_tx(send, cost);
    }

    /// The first byte leaves its rank.
    void enter_tx(std::uint32_t send, const MessageCost &cost) {
        const Step &step = steps_[send];
        const Picoseconds start =
            cost.network ? tx_[layout_.node[steps_[send].rank]].pass(machine_.tx, cost.bytes, cost.tx, now_)
                         : now_;
        const Picoseconds left = start + cost.span;
        recorder_.on_tx(send, step.partner, start, start + cost.latency);
        if (cost.network) {
            at(start + cost.latency, enters_rx, send, step.partner);
        } else {
            know_first_byte(step.partner, start + cost.latency);
            if (!More::any || !MoreResources::leaves_with_job(cost))
                at(left + cost.latency, data_arrives, send, step.partner);
        }
        if (!cost.eager)
            at(left, data_left, send, send);
    }

    void enter_rx(std::uint32_t send, std::uint32_t receive) {
        const MessageCost &cost = cost_of_receive(receive);
        if constexpr (More::any)
            if (steps().has_passed_rx(send, receive, cost))
                return;
        const Picoseconds start =
            rx_[layout_.node[steps_[receive].rank]].pass(machine_.rx, cost.bytes, cost.rx, now_);
        recorder_.on_rx(receive, start);
        know_first_byte(receive, start);
        const Picoseconds last_byte = std::max(now_ + cost.span, start + cost.rx);
        if constexpr (More::any)
            steps().leave_rx(send, receive, cost, start, last_byte);
        else
            at(last_byte, data_arrives, send, receive);
    }

    void arrive(std::uint32_t receive) {
        progress_.bits(receive) |= is_arrived;
        recorder_.arrived(receive, now_);
        if (progress_.has(receive, Progress::begun))
            queue_job(receive, Job::receive);
    }

    void post(std::uint32_t receive) {
        begin(receive);
        recorder_.posted(receive);
        if constexpr (More::any)
            paths().posted(receive);
        if (progress_.has(receive, is_arrived))
            queue_job(receive, Job::receive);
        else if (progress_.has(receive, is_requested))
            clear_to_send(receive);
    }

    /// Buffers have room for all of an eager send that has not left.
    void let_go(std::uint32_t send) { finish_send(send, has_left); }

    /// A rendezvous send ends when its last byte has left and its processor has done its part.
    void finish_send(std::uint32_t send, std::uint32_t part) {
        progress_.bits(send) |= part;
        if (!has_left_entirely(send))
            return;
        if (!progress_.has(send, Progress::ended))
            return end(send);
        first_processor(steps_[send].rank).finish =
            now_; // it was let go before; the rank is not over till now
        recorder_.ended(send, now_);
    }

    // Order of a rank's operations -------------------------------------------------------------------------

    void begin(std::uint32_t op) {
        const std::size_t freed = progress_.freed.size();
        progress_.begin(op);
        standstills_.begun(op);
        progress_.prefetch_ahead(op);
        recorder_.released(op, std::span(progress_.freed).subspan(freed), now_);
    }

    void end(std::uint32_t op) {
        const std::uint32_t rank = steps_[op].rank;
        Processor &p = first_processor(rank);
        p.finish = now_;
        const std::size_t freed = progress_.freed.size();
        progress_.end(op);
        recorder_.ended(op, now_);
        recorder_.released(op, std::span(progress_.freed).subspan(freed), now_);
        if (--p.unfinished != 0)
            return;
        if constexpr (More::any) {
            steps().finished(rank);
        } else if (machine_.waiting_share > 0 && shared_.of(rank) != any) {
            const std::uint32_t core = shared_.of(rank);
            shared_.cores[core].set_unfinished(now_, --shared_.unfinished[core]);
            watch(core);
        }
    }

    /// Operations that became ready together go on by rank, then sends, receives, computations, then by
    /// number.
    void release() {
        while (!progress_.freed.empty()) {
            if constexpr (Recorder::in_windows)
                recorder_.read_on(*this);
            releasing_.swap(progress_.freed);
            if (releasing_.size() > 1)
                std::sort(releasing_.begin(), releasing_.end(), [&](std::uint32_t a, std::uint32_t b) {
                    return std::tuple(steps_[a].kind(), a) < std::tuple(steps_[b].kind(), b);
                });
            for (const std::uint32_t op : releasing_)
                switch (steps_[op].kind()) {
                case Kind::send:
                    queue_job(op, Job::send);
                    break;
                case Kind::receive:
                    post(op);
                    break;
                case Kind::calc:
                    queue_job(op, Job::calc);
                    break;
                }
            releasing_.clear();
        }
    }

    Prediction finish() {
        Prediction result;
        result.ranks.resize(schedule_.ranks());
        std::vector<std::uint8_t> used(cpus_);
        for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
            RankTime &time = result.ranks[r];
            std::fill(used.begin(), used.end(), 0);
            for (std::uint32_t op = schedule_.first[r]; op < schedule_.first[r + 1]; ++op) {
                used[steps_[op].lane.cpu] = 1;
                if (steps_[op].kind() == Kind::calc)
                    time.computation += steps_[op].time();
            }
            if constexpr (Recorder::in_windows)
                time.computation = recorder_.computation(r);
            for (std::uint32_t c = 0; c < cpus_; ++c)
                time.overhead += processors_[std::size_t{r} * lanes_ + c].overhead;
            time.finish = first_processor(r).finish;
            time.core_sharing = shared_.empty() ? 0 : core_sharing_[r];
            if constexpr (More::any)
                steps().split(time, r);
            const auto processors = std::max<Picoseconds>(1, std::count(used.begin(), used.end(), 1));
            time.waiting = processors * time.finish - time.computation - time.overhead - time.core_sharing -
                           time.memory - time.interrupted;
        }
        for (std::uint32_t node = 0; node < tx_.size(); ++node) {
            result.tx.push_back(tx_[node].load);
            result.rx.push_back(rx_[node].load);
        }
        if constexpr (More::any)
            for (const Passage &port : more_.paths.ports())
                result.ports.push_back(port.load);
        result.let_go = let_go_;
        result.channels = std::move(channels_);
        if constexpr (More::any)
            steps().finish_shared(result);
        return result;
    }

    const Schedule &schedule_;
    const LargeArray<Step> &steps_;
    const Machine &machine_;
    const Layout &layout_;
    const std::uint32_t cpus_, lanes_; ///< of a rank: processors, and processors or links
    MessageCosts costs_;
    Contacts contacts_;
    Progress progress_;
    Standstills standstills_;
    LargeArray<Processor> processors_;
    std::vector<Passage> tx_, rx_;           ///< of each node
    LargeArray<Picoseconds> first_byte_;     ///< of the message of a receive; empty if no core moves bytes
    LargeArray<double> spare_at_first_byte_; ///< of the receiver's core; empty if no core is shared
    SharedCores shared_;
    std::vector<Picoseconds> core_sharing_;
    RadixQueue queue_;
    std::vector<ChannelLoad> channels_;
    std::vector<std::uint32_t> releasing_;
    Picoseconds now_ = 0;
    std::uint64_t let_go_ = 0; ///< sends
    [[no_unique_address]] Recorder recorder_;
    [[no_unique_address]] More more_;
};

} // namespace rankwise::replay
