// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "replay/contacts.hpp"
#include "replay/deadlock.hpp"
#include "replay/in_windows.hpp"
#include "replay/job_steps.hpp"
#include "replay/letting_go.hpp"
#include "replay/machine_events.hpp"
#include "replay/message_costs.hpp"
#include "replay/message_steps.hpp"
#include "replay/more_resources.hpp"
#include "replay/path_steps.hpp"
#include "replay/progress.hpp"
#include "replay/radix_queue.hpp"
#include "replay/recorders.hpp"
#include "replay/resource_steps.hpp"
#include "replay/resources/passage.hpp"
#include "replay/resources/shared_cores.hpp"
#include "replay/spare_steps.hpp"
#include "replay/time_range.hpp"

namespace rankwise::replay {

using machine::CoreSharing;
using machine::LinkClass;
using machine::Machine;
using machine::Placement;

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
    using RecorderType = Recorder;
    using MoreType = More;

    Engine(const Schedule &schedule, const LargeArray<Step> &steps, const Machine &machine,
           const Placement &placement, Recorder recorder)
        : schedule_(schedule), steps_(steps), machine_(machine), placement_(placement), cpus_(schedule.cpus),
          lanes_(std::max(schedule.cpus, schedule.nics)), costs_(machine), progress_(schedule, steps),
          standstills_(schedule, progress_), processors_(std::size_t{schedule.ranks()} * lanes_),
          tx_(placement.nodes()), rx_(placement.nodes()), shared_(schedule, machine, placement),
          core_sharing_(shared_.empty() ? 0 : schedule.ranks()), recorder_(std::move(recorder)),
          more_(schedule, machine, placement, lanes_) {
        recorder_.begin(steps.size(), processors_.size());
        check_size();
        channels_.resize(machine.link_classes.size());
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
            first_processor(r).unfinished = schedule.first[r + 1] - schedule.first[r];
        if (std::any_of(machine.link_classes.begin(), machine.link_classes.end(), moves_bytes_by_core))
            first_byte_.resize(steps.size());
        if (!first_byte_.empty() && !shared_.empty())
            spare_at_first_byte_.resize(steps.size());
        if (More::any || !spare_at_first_byte_.empty())
            last_byte_.resize(steps.size());
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
        } while (letting_go().let_sends_go());
        if (!progress_.all_ended())
            throw standstills_.deadlock(letting_go().other_end());
        return finish();
    }

  private:
    friend JobSteps<Engine>;
    friend MessageSteps<Engine>;
    friend SpareSteps<Engine>;
    friend LettingGo<Engine>;
    friend ResourceSteps<Engine>;
    friend PathSteps<Engine>;
    JobSteps<Engine> jobs() { return {*this}; }
    MessageSteps<Engine> messages() { return {*this}; }
    SpareSteps<Engine> spare() { return {*this}; }
    LettingGo<Engine> letting_go() { return {*this}; }
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
        return costs_.get(placement_.link(steps_[send].rank, step.peer), step.message());
    }
    const MessageCost &cost_of_receive(std::uint32_t receive) {
        const Step &step = steps_[receive];
        return costs_.get(placement_.link(step.peer, steps_[receive].rank), step.message());
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
            messages().arrive(event.what);
            break;
        case enters_rx:
            messages().enter_rx(send, event.what);
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
            messages().enter_tx(send, cost_of_send(send));
            break;
        case job_ends:
            if constexpr (More::any)
                if (!steps().is_due(event.what, send))
                    break; // its speed has changed since: another event is under way
            jobs().end_job(event.what);
            break;
        case core_ends:
            if constexpr (More::any)
                steps().rest(event.what);
            else
                jobs().end_on_core(event.what);
            break;
        }
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
        } else if (shared_.of(rank) != any) {
            const std::uint32_t core = shared_.of(rank);
            shared_.cores[core].set_unfinished(now_, --shared_.unfinished[core]);
            jobs().watch(core);
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
                    jobs().queue_job(op, Job::send);
                    break;
                case Kind::receive:
                    messages().post(op);
                    break;
                case Kind::calc:
                    jobs().queue_job(op, Job::calc);
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
    const Placement &placement_;
    const std::uint32_t cpus_, lanes_; ///< of a rank: processors, and processors or links
    MessageCosts costs_;
    Contacts contacts_;
    Progress progress_;
    Standstills standstills_;
    LargeArray<Processor> processors_;
    std::vector<Passage> tx_, rx_;           ///< of each node
    LargeArray<Picoseconds> first_byte_;     ///< of the message of a receive; empty if no core moves bytes
    LargeArray<double> spare_at_first_byte_; ///< of the receiver's core; empty if no core is shared
    LargeArray<LastByte> last_byte_;         ///< of each receive; empty if nothing slows a job that copies
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
