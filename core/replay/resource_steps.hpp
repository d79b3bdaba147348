// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "replay/more_resources.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does besides the plain model: jobs whose speed changes, and
/// the interrupt core on a message's way.
///
/// @tparam Engine whose `More` is MoreResources
template <class Engine> struct ResourceSteps {
    using Job = typename Engine::JobType;
    using Phase = typename Engine::PhaseType;
    using Processor = typename Engine::ProcessorType;

    Engine &e;

    void tell_changes() {
        e.more_.rates.tell_changes(e.now_, [&](const SharedRates::Next &next) {
            e.at(next.end, Phase::job_ends, next.op, next.processor);
        });
    }

    void run_shared(std::uint32_t processor, Picoseconds work) {
        const std::uint32_t op = e.processors_[processor].running, rank = processor / e.lanes_;
        std::uint32_t group = any;
        SharedRates::Work wanted{work};
        if (processor % e.lanes_ == 0) { // further processors are on cores of their own
            const Job what = e.more_.paths.is_reading(processor) ? Job::receive_bytes : e.job(op);
            group = what == Job::calc ? e.more_.rates.computing(rank) : e.more_.rates.other(rank);
            if (what == Job::send_bytes || what == Job::data || what == Job::receive_bytes) {
                const MessageCost &cost =
                    what == Job::receive_bytes ? e.cost_of_receive(op) : e.cost_of_send(op);
                group = e.more_.rates.copying(rank, cost.link);
                const Picoseconds copying =
                    what == Job::receive_bytes ? e.more_.at_receiver(rank, cost, cost.on_core) : cost.on_core;
                if (copying > 0)
                    wanted.bytes_per_s = static_cast<double>(cost.bytes) * 1e12 /
                                         static_cast<double>(std::max(copying, cost.span));
            }
        }
        e.more_.group_of[processor] = group;
        if (group == any) {
            e.at(e.now_ + work, Phase::job_ends, op, processor);
            return;
        }
        e.more_.rates.start(e.now_, group, op, processor, wanted);
        tell_changes();
    }

    bool is_due(std::uint32_t processor, std::uint32_t op) const {
        const Processor &p = e.processors_[processor];
        if (p.running != op)
            return false;
        const std::uint32_t group = e.more_.group_of[processor];
        return group == any ? p.started + p.work == e.now_ : e.more_.rates.is_due(e.now_, group, op);
    }

    /// The job of a processor has ended: what it spent its time on.
    void account(std::uint32_t processor) {
        const Processor &p = e.processors_[processor];
        const std::uint32_t group = e.more_.group_of[processor], rank = processor / e.lanes_;
        SharedRates::Ended ended{0, 0, 0, p.work};
        if (group != any) {
            ended = e.more_.rates.finish(e.now_, group, e.now_ - p.started - p.work);
            tell_changes();
        }
        e.more_.longer[rank].shared += ended.shared;
        e.more_.longer[rank].memory += ended.memory;
        e.more_.longer[rank].interrupted += ended.interrupted;
        e.recorder_.slowed(p.running, ended.memory, ended.interrupted);
        if (!e.more_.alone.empty() && e.job(p.running) == Job::calc)
            e.more_.alone[p.running] = ended.alone;
    }

    /// @return whether the processor goes on with the operation
    bool job_goes_on(std::uint32_t processor, Job ended) {
        const std::uint32_t op = e.processors_[processor].running;
        if (ended == Job::receive && e.more_.bytes_left[processor] > 0) {
            e.set_job(op, Job::receive_bytes);
            e.jobs().run_for(processor, std::exchange(e.more_.bytes_left[processor], 0));
            return true;
        }
        return false;
    }

    /// As `start_job`: a receiver's own part, of which the bytes are a job by itself if they load a memory.
    Picoseconds start_receive(std::uint32_t op, Processor &p) {
        const std::uint32_t rank = e.steps_[op].rank, processor = e.processor_of(op);
        const MessageCost &cost = e.cost_of_receive(op);
        const Picoseconds overhead =
            e.more_.at_receiver(rank, cost, cost.o_receive) + e.jobs().connect(op, cost);
        Picoseconds bytes = e.more_.at_receiver(rank, cost, cost.on_core);
        if (cost.buffered)
            bytes = 0; // they were read part by part
        p.overhead += overhead + bytes;
        if (bytes == 0)
            return overhead;
        const Picoseconds since = std::max(e.first_byte_[op], p.idle_since);
        bytes -= e.spare().done_while_idle(op, bytes, e.more_.idle(e.now_, rank, since));
        if (processor % e.lanes_ != 0 || !e.more_.rates.moves_bytes(e.more_.rates.copying(rank, cost.link)))
            return overhead + bytes;
        e.more_.bytes_left[processor] = bytes;
        return overhead;
    }

    /// The first byte begins to pass the receiver's interface at `start`.
    void leave_rx(std::uint32_t send, std::uint32_t receive, const MessageCost &cost, Picoseconds start,
                  Picoseconds last_byte) {
        if (!cost.interrupts) {
            e.messages().know_last_byte(send, receive, cost, last_byte);
            return;
        }
        e.last_byte_[receive].passed_rx = true;
        e.last_byte_[receive].time = std::max(e.last_byte_[receive].time, last_byte);
        if (start > e.now_)
            e.at(start, Phase::enters_rx, send, receive);
        else
            interrupt(send, receive, cost);
    }

    /// @return whether the message is through the interface, and meets the interrupt core now
    bool has_passed_rx(std::uint32_t send, std::uint32_t receive, const MessageCost &cost) {
        if (!e.last_byte_[receive].passed_rx)
            return false;
        interrupt(send, receive, cost);
        return true;
    }

    /// The interrupt core of the receiver's node deals with a message.
    void interrupt(std::uint32_t send, std::uint32_t receive, const MessageCost &cost) {
        const InterruptCores::Job work = serve_part(receive, cost.bytes, true);
        e.spare().know_first_byte(receive, work.begin);
        e.messages().know_last_byte(send, receive, cost, work.end);
    }

    /// @return when the interrupt core of the receiver's node deals with a message, or with a part of one
    InterruptCores::Job serve_part(std::uint32_t receive, std::uint64_t bytes, bool first) {
        InterruptCores &cores = e.more_.interrupts;
        const std::uint32_t core = cores.of_node(e.placement_.node[e.steps_[receive].rank]);
        const InterruptCores::Job work = cores.serve(e.now_, core, bytes, first);
        if (work.begins_work) {
            e.at(work.end, Phase::core_ends, core, core);
            take_core(core, true);
        }
        return work;
    }

    void rest(std::uint32_t core) {
        const Picoseconds done = e.more_.interrupts.done(core);
        if (done > e.now_) {
            e.at(done, Phase::core_ends, core, core);
            return;
        }
        e.more_.interrupts.rest(e.now_, core);
        take_core(core, false);
    }

    void take_core(std::uint32_t core, bool begins) {
        const std::uint32_t processor = e.more_.interrupts.processor(core);
        if (processor == machine::Placement::none)
            return;
        e.more_.rates.interrupt(e.now_, processor, begins);
        tell_changes();
    }

    void finished(std::uint32_t rank) {
        e.more_.rates.finished(e.now_, rank);
        tell_changes();
    }

    void split(RankTime &time, std::uint32_t rank) const {
        const MoreResources::Longer &longer = e.more_.longer[rank];
        time.core_sharing = longer.shared;
        time.memory = longer.memory;
        time.interrupted = longer.interrupted;
    }

    void finish_shared(Prediction &result) {
        result.shared = e.more_.rates.loads(e.now_);
        const auto after = static_cast<std::uint32_t>(e.machine_.bandwidths.size());
        for (std::uint32_t core = 0; core < e.placement_.interrupt_processor.size(); ++core)
            result.shared.push_back({after, core, e.more_.interrupts.busy(e.now_, core), 0});
        result.alone = std::move(e.more_.alone);
    }
};

} // namespace rankwise::replay
