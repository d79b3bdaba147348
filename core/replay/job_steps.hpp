// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/machine_events.hpp"
#include "replay/message_costs.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does with processors: each one job after the other, in the
/// order in which they became ready.
template <class Engine> struct JobSteps {
    using More = typename Engine::MoreType;

    Engine &e;

    void queue_job(std::uint32_t op, Job job) {
        e.set_job(op, job);
        const std::uint32_t processor = e.processor_of(op);
        Processor &p = e.processors_[processor];
        if (p.running == any)
            start(processor, op);
        else
            p.ready.append(e.progress_, op);
    }

    void start(std::uint32_t processor, std::uint32_t op) {
        Processor &p = e.processors_[processor];
        p.running = op;
        e.recorder_.started(processor, op, e.job(op) != Job::clear && e.job(op) != Job::data, p.idle_since,
                            e.now_);
        run_for(processor, start_job(op, p));
    }

    void run_for(std::uint32_t processor, Picoseconds work) {
        Processor &p = e.processors_[processor];
        p.started = e.now_;
        p.work = work;
        if constexpr (More::any)
            return e.steps().run_shared(processor, work);
        const std::uint32_t core = processor % e.lanes_ == 0 ? e.shared_.of(processor / e.lanes_) : any;
        if (core == any) {
            e.at(e.now_ + work, job_ends, p.running, processor);
            return;
        }
        e.shared_.cores[core].start(e.now_, processor, work);
        watch(core);
    }

    void watch(std::uint32_t core) {
        const Picoseconds end = e.shared_.cores[core].next_end(e.now_);
        if (end == e.shared_.cores[core].expected)
            return;
        e.shared_.cores[core].expected = end;
        if (end != machine::never)
            e.at(end, core_ends, core, core);
    }

    void end_on_core(std::uint32_t core) {
        if (e.shared_.cores[core].expected != e.now_)
            return; // jobs came or went since: another event is under way
        const std::uint32_t processor = e.shared_.cores[core].finish(e.now_);
        e.shared_.cores[core].expected = machine::never;
        end_job(processor);
        watch(core);
    }

    /// @return how long the job would take alone
    Picoseconds start_job(std::uint32_t op, Processor &p) {
        switch (e.job(op)) {
        case Job::calc:
            e.begin(op);
            return e.steps_[op].time();
        case Job::send: {
            e.begin(op);
            const MessageCost &cost = e.cost_of_send(op);
            ++e.channels_[cost.link].messages;
            e.channels_[cost.link].bytes += cost.bytes;
            const Picoseconds overhead = cost.o_send + connect(op, cost);
            p.overhead += overhead;
            return overhead;
        }
        case Job::data: {
            const MessageCost &cost = e.cost_of_send(op);
            if (cost.in_call)
                e.messages().enter_link(op, cost);
            p.overhead += cost.on_core;
            return cost.on_core;
        }
        case Job::receive: {
            if constexpr (More::any)
                return e.steps().start_receive(op, p);
            const MessageCost &cost = e.cost_of_receive(op);
            const Picoseconds overhead = cost.o_receive + connect(op, cost);
            p.overhead += overhead + cost.on_core;
            if (cost.on_core == 0)
                return overhead;
            // A processor that was idle has dealt with the bytes while they came in.
            const Picoseconds idle = e.now_ - std::max(e.first_byte_[op], p.idle_since);
            return overhead + cost.on_core - e.spare().done_while_idle(op, cost.on_core, idle);
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
        const Picoseconds longer = e.contacts_.begin(e.steps_[op].rank, e.steps_[op].peer, cost.connect);
        if (longer > 0)
            e.recorder_.connected(op, longer);
        return longer;
    }

    void end_job(std::uint32_t processor) {
        Processor &p = e.processors_[processor];
        const std::uint32_t op = p.running;
        if constexpr (More::any)
            e.steps().account(processor);
        else if (!e.shared_.empty())
            e.core_sharing_[processor / e.lanes_] += e.now_ - p.started - p.work;
        p.idle_since = e.now_;
        if constexpr (More::any)
            if (e.paths().has_read(processor))
                return next_job(processor);
        const Job ended = e.job(op);
        if constexpr (More::any)
            if (e.steps().job_goes_on(processor, ended))
                return;
        if (!e.last_byte_.empty() && (ended == Job::send_bytes || ended == Job::data))
            if (const MessageCost &cost = e.cost_of_send(op); e.messages().leaves_with_job(op, cost))
                e.messages().know_last_byte(op, e.steps_[op].partner, cost, e.now_ + cost.latency);
        if (ended == Job::send) {
            const MessageCost &cost = e.cost_of_send(op);
            if (cost.eager) {
                e.messages().enter_link(op, cost);
                if (cost.on_core > 0) {
                    e.set_job(op, Job::send_bytes);
                    p.overhead += cost.on_core;
                    run_for(processor, cost.on_core);
                    return;
                }
                end_eager(op);
            } else {
                e.at(e.now_ + e.messages().control(op, cost), request_arrives, op, e.steps_[op].partner);
            }
        } else if (ended == Job::clear) {
            e.messages().answer(op);
        } else if (ended == Job::data) {
            e.messages().finish_send(op, core_is_done);
        } else if (ended == Job::send_bytes) {
            end_eager(op);
        } else {
            e.end(op);
        }
        p.running = any;
        if constexpr (More::any)
            if (e.more_.paths.has_buffers() && ended == Job::calc)
                e.paths().is_back(processor, op);
        next_job(processor);
    }

    void next_job(std::uint32_t processor) {
        if constexpr (More::any)
            if (e.more_.paths.has_buffers() && e.paths().read(processor))
                return;
        Processor &p = e.processors_[processor];
        if (!p.ready.empty())
            start(processor, p.ready.take(e.progress_));
    }

    /// The processor has done its part of an eager send.
    void end_eager(std::uint32_t send) {
        if constexpr (More::any)
            if (e.cost_of_send(send).buffered)
                return e.messages().finish_send(send, core_is_done);
        e.end(send);
    }
};

} // namespace rankwise::replay
