// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

#include "replay/engine.hpp"

// What an Engine does with operations and processors.

namespace rankwise::replay {

// Order of a rank's operations

template <Order order> void Engine<order>::begin(std::uint32_t op) {
    const std::size_t freed = progress_.freed.size();
    progress_.begin(op);
    standstills_.begun(op);
    tell([&](Observer &o) { o.release(op, std::span(progress_.freed).subspan(freed), now_); });
}

template <Order order> void Engine<order>::end(std::uint32_t op) {
    const std::uint32_t rank = steps_[op].rank;
    first_processor(rank).finish = now_;
    const std::size_t freed = progress_.freed.size();
    progress_.end(op);
    if (!looks_.empty()) [[unlikely]]
        close(op);
    tell([&](Observer &o) {
        o.end(op, now_);
        o.release(op, std::span(progress_.freed).subspan(freed), now_);
    });
    if constexpr (by_time)
        if (!resources_.unfinished.empty() && --resources_.unfinished[rank] == 0)
            resources_.rates.finished(rank);
}

/// Operations that became ready together go on as sends, then receives, computations, then by number.
template <Order order> void Engine<order>::release() {
    while (!progress_.freed.empty()) {
        if (window_ != nullptr) [[unlikely]]
            read_on();
        releasing_.swap(progress_.freed);
        if (releasing_.size() == 1) {
            go_on(releasing_.front(), steps_[releasing_.front()].kind());
        } else {
            if (!std::is_sorted(releasing_.begin(), releasing_.end()))
                std::sort(releasing_.begin(), releasing_.end());
            // Sends at once, of the others those of the kind that comes next.
            for (const Kind kind : {Kind::send, Kind::receive, Kind::calc}) {
                std::size_t others = 0;
                for (const std::uint32_t op : releasing_)
                    if (steps_[op].kind() == kind)
                        go_on(op, kind);
                    else
                        releasing_[others++] = op;
                releasing_.resize(others);
            }
        }
        releasing_.clear();
    }
    if (!resuming_.empty()) [[unlikely]]
        resume();
}

template <Order order> void Engine<order>::go_on(std::uint32_t op, Kind kind) {
    if (kind == Kind::receive)
        post(op);
    else
        queue_job(op, kind == Kind::send ? Job::send : Job::calc);
}

// Processors, each one job after the other

template <Order order> void Engine<order>::set_job(std::uint32_t op, Job job) {
    std::uint32_t &bits = progress_.bits(op);
    bits = (bits & ((1u << job_shift) - 1)) | static_cast<std::uint32_t>(job) << job_shift;
}

template <Order order> void Engine<order>::queue_job(std::uint32_t op, Job job) {
    set_job(op, job);
    const std::uint32_t processor = processor_of(op);
    Processor &p = processors_[processor];
    if (p.running == any)
        start_job(processor, op, job);
    else {
        p.ready.append(progress_, op);
        if (!looks_.empty()) [[unlikely]]
            stop_at_look(processor);
    }
}

template <Order order> void Engine<order>::start_job(std::uint32_t processor, std::uint32_t op, Job job) {
    Processor &p = processors_[processor];
    p.running = op;
    progress_.prefetch_released(op);
    progress_.prefetch_ahead(op);
    tell([&](Observer &o) {
        o.start_job(processor, op, job != Job::clear && job != Job::data, p.idle_since, now_);
    });
    if (!looks_.empty()) [[unlikely]]
        know_looks(processor, op, job);
    run_for(processor, time_of_job(op, job, p));
}

/// @return how long the job that begins would take alone
template <Order order> Picoseconds Engine<order>::time_of_job(std::uint32_t op, Job job, Processor &p) {
    switch (job) {
    case Job::calc:
        begin(op);
        p.computation += time_of_computation(op);
        return time_of_computation(op);
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
        const Picoseconds on_core = cost.on_core;
        if (cost.in_call)
            enter_link(op, cost);
        p.overhead += on_core;
        return on_core;
    }
    case Job::receive:
        return time_of_receive(op, p);
    case Job::clear:
    case Job::send_bytes:
    case Job::receive_bytes:
    case Job::none:
        break;
    }
    return 0;
}

/// A processor that was idle has dealt with the bytes while they came in. The others are a job by itself if
/// they load a memory.
template <Order order> Picoseconds Engine<order>::time_of_receive(std::uint32_t op, Processor &p) {
    const MessageCost &cost = cost_of_receive(op);
    Picoseconds overhead = cost.o_receive, bytes = cost.buffered ? 0 : cost.on_core; // read part by part
    if constexpr (by_time) {
        overhead = resources_.interrupts.at_receiver(steps_[op].rank, cost, overhead);
        bytes = resources_.interrupts.at_receiver(steps_[op].rank, cost, bytes);
    }
    overhead += connect(op, cost);
    p.overhead += overhead + bytes;
    if (bytes == 0)
        return overhead;
    const Picoseconds since = std::max(states_.first_byte[op], p.idle_since);
    if constexpr (by_time) {
        const std::uint32_t rank = steps_[op].rank, processor = processor_of(op);
        bytes -= done_while_idle(op, bytes, resources_.interrupts.idle_time(now_, rank, since));
        if (processor % lanes_ != 0 ||
            !resources_.rates.moves_bytes(resources_.rates.copying(rank, cost.link)))
            return overhead + bytes;
        resources_.running[processor].bytes_left = bytes;
        return overhead;
    }
    return overhead + bytes - std::clamp<Picoseconds>(now_ - since, 0, bytes);
}

/// @return how much longer the job of o or o_r takes that begins
template <Order order> Picoseconds Engine<order>::connect(std::uint32_t op, const MessageCost &cost) {
    const Picoseconds longer = contacts_.begin(steps_[op].rank, steps_[op].peer, cost.connect);
    if (longer > 0)
        tell([&](Observer &o) { o.connect(op, longer); });
    return longer;
}

template <Order order> void Engine<order>::run_for(std::uint32_t processor, Picoseconds work) {
    Processor &p = processors_[processor];
    if constexpr (!by_time) {
        nexts_[p.slot].job_end = now_ + work;
        return;
    } else {
        RunningJob &running = resources_.running[processor];
        running.started = now_;
        running.work = work;
        running.group = any;
        const std::uint32_t op = p.running, rank = processor / lanes_;
        SharedRates &rates = resources_.rates;
        if (rates.empty() || processor % lanes_ != 0) { // further processors are on cores of their own
            at(now_ + work, job_ends, key_of_job(processor, op), processor);
            return;
        }
        const Job what = resources_.paths.is_reading(processor) ? Job::receive_bytes : job(op);
        SharedRates::Work wanted{work};
        if (what == Job::calc) {
            running.group = rates.computing(rank);
        } else if (what == Job::send_bytes || what == Job::data || what == Job::receive_bytes) {
            const MessageCost &cost = what == Job::receive_bytes ? cost_of_receive(op) : cost_of_send(op);
            running.group = rates.copying(rank, cost.link);
            const Picoseconds copying = what == Job::receive_bytes
                                            ? resources_.interrupts.at_receiver(rank, cost, cost.on_core)
                                            : cost.on_core;
            if (copying > 0)
                wanted.bytes_per_s = static_cast<double>(cost.bytes) * 1e12 /
                                     static_cast<double>(std::max(copying, cost.span));
        } else {
            running.group = rates.other(rank);
        }
        if (running.group == any)
            at(now_ + work, job_ends, key_of_job(processor, op), processor);
        else
            rates.start(now_, running.group, key_of_job(processor, op), processor, wanted);
    }
}

/// The jobs of a rank that end before a time, where ranks are served one by one.
template <Order order> void Engine<order>::end_jobs(std::uint32_t rank, Picoseconds before) {
    Picoseconds &end = nexts_[processors_[rank].slot].job_end;
    while (end < before) {
        now_ = in_range(end);
        served_ = order_of(job_ends, rank); // a rank's in the order in which they end
        end = machine::never;
        end_job(rank);
        release();
        latest_ = std::max(latest_, now_);
    }
}

template <Order order> void Engine<order>::end_job(std::uint32_t processor) {
    Processor &p = processors_[processor];
    const std::uint32_t op = p.running;
    if constexpr (by_time)
        account(processor);
    p.idle_since = now_;
    if (!looks_.empty() && has_stopped(processor)) [[unlikely]]
        return;
    if constexpr (by_time)
        if (has_read(processor))
            return next_job(processor);
    const Job ended = job(op);
    if constexpr (by_time) {
        if (Picoseconds &left = resources_.running[processor].bytes_left; ended == Job::receive && left > 0) {
            set_job(op, Job::receive_bytes);
            return run_for(processor, std::exchange(left, 0));
        }
        if (ended == Job::send_bytes || ended == Job::data)
            if (const MessageCost &cost = cost_of_send(op); leaves_with_job(steps_[op].rank, cost))
                at_rank(steps_[op].peer, now_ + cost.latency, data_arrives, op, steps_[op].partner);
    }
    switch (ended) {
    case Job::send: {
        const MessageCost &cost = cost_of_send(op);
        if (!cost.eager) {
            at_rank(steps_[op].peer, now_ + control_time(op, cost), request_arrives, op, steps_[op].partner);
            break;
        }
        const Picoseconds on_core = cost.on_core;
        enter_link(op, cost);
        if (on_core > 0) {
            set_job(op, Job::send_bytes);
            p.overhead += on_core;
            return run_for(processor, on_core);
        }
        end_eager(op);
        break;
    }
    case Job::send_bytes:
        end_eager(op);
        break;
    case Job::clear:
        answer(op);
        break;
    case Job::data:
        finish_send(op, core_is_done);
        break;
    default:
        end(op);
        break;
    }
    p.running = any;
    if constexpr (by_time)
        if (ended == Job::calc && resources_.paths.has_buffers())
            come_back(processor, op);
    next_job(processor);
}

/// What the job that ends spent its time on.
template <Order order> void Engine<order>::account(std::uint32_t processor) {
    RunningJob &running = resources_.running[processor];
    const std::uint32_t op = processors_[processor].running;
    SharedRates::Ended ended{0, 0, 0, running.work};
    if (running.group != any) {
        ended = resources_.rates.finish(now_, running.group, now_ - running.started - running.work);
        running.longer.shared += ended.shared;
        running.longer.memory += ended.memory;
        running.longer.interrupted += ended.interrupted;
        tell([&](Observer &o) { o.slow(op, ended.memory, ended.interrupted); });
    }
    if (!resources_.alone.empty() && job(op) == Job::calc)
        resources_.alone[op] = ended.alone;
}

template <Order order> void Engine<order>::next_job(std::uint32_t processor) {
    if constexpr (by_time)
        if (resources_.paths.has_buffers() && read_part(processor))
            return;
    Processor &p = processors_[processor];
    if (p.ready.empty()) {
        if (!looks_.empty()) [[unlikely]]
            resuming_.push_back(processor);
        return;
    }
    const std::uint32_t next = p.ready.take(progress_);
    start_job(processor, next, job(next));
}

/// The processor has done its part of an eager send.
template <Order order> void Engine<order>::end_eager(std::uint32_t send) {
    if constexpr (by_time)
        if (resources_.paths.has_buffers() && cost_of_send(send).buffered)
            return finish_send(send, core_is_done);
    end(send);
}

/// A rendezvous send ends when its last byte has left and its processor has done its part, an eager one whose
/// message goes through buffers when these have room for what has not left.
template <Order order> void Engine<order>::finish_send(std::uint32_t send, std::uint32_t part) {
    progress_.bits(send) |= part;
    if (!has_left_entirely(send))
        return;
    if (!progress_.has(send, Progress::ended))
        return end(send);
    // It ended before, as nothing could go on; the rank is not over till now.
    first_processor(steps_[send].rank).finish = now_;
    tell([&](Observer &o) { o.end(send, now_); });
}

template <Order order> bool Engine<order>::has_left_entirely(std::uint32_t send) const {
    return (progress_.bits(send) & (has_left | core_is_done)) == (has_left | core_is_done);
}

} // namespace rankwise::replay
