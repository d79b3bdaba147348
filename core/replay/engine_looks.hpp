// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "replay/engine.hpp"

// What an Engine does with computations in several parts, between which their rank looks for messages: M1 of
// formats/loggops.md.

namespace rankwise::replay {

/// A job begins: a computation with looks, or something in a look of one.
template <Order order> void Engine<order>::know_looks(std::uint32_t processor, std::uint32_t op, Job job) {
    Looks &looks = looks_[processor];
    if (job == Job::calc && steps_[op].parts() > 1 && !has_what_it_watched(op)) {
        const Picoseconds time = steps_[op].time(), parts = steps_[op].parts();
        looks = {.op = op,
                 .started = now_,
                 .left = time,
                 .part = std::max<Picoseconds>(1, (time + parts - 1) / parts)};
    } else if (looks.op != any && (job == Job::send || job == Job::clear)) {
        progress_.bits(op) |= is_taken_up;
        ++looks.open;
    }
}

/// There is something to do beside the computation: it stops at its next look.
template <Order order> void Engine<order>::stop_at_look(std::uint32_t processor) {
    Looks &looks = looks_[processor];
    Processor &p = processors_[processor];
    if (looks.op == any || p.running != looks.op || looks.stops)
        return;
    const Picoseconds done = (now_ - looks.started + looks.part - 1) / looks.part * looks.part;
    if (done >= looks.left)
        return;
    if constexpr (by_time) {
        RunningJob &running = resources_.running[processor];
        if (running.group != any) // how far it is when others slow it is not known before its end
            return;
        running.work = done;
        at(looks.started + done, job_ends, key_of_job(processor, looks.op), processor);
    } else {
        nexts_[p.slot].job_end = looks.started + done;
    }
    looks.stops = true;
}

/// The job of a processor ends. @return whether that was for a look, and the computation is not over
template <Order order> bool Engine<order>::has_stopped(std::uint32_t processor) {
    Looks &looks = looks_[processor];
    Processor &p = processors_[processor];
    if (looks.op == any || p.running != looks.op)
        return false;
    if (!std::exchange(looks.stops, false)) {
        looks.op = any;
        return false;
    }
    looks.left -= now_ - looks.started;
    p.running = any;
    next_job(processor);
    return true;
}

/// An operation ends that may have been taken up in a look.
template <Order order> void Engine<order>::close(std::uint32_t op) {
    std::uint32_t &bits = progress_.bits(op);
    if ((bits & is_taken_up) == 0)
        return;
    bits &= ~std::uint32_t{is_taken_up};
    const std::uint32_t processor = processor_of(op);
    if (--looks_[processor].open == 0)
        resuming_.push_back(processor);
}

/// Computations go on when nothing is left to do beside them, after all that became ready.
template <Order order> void Engine<order>::resume() {
    for (const std::uint32_t processor : std::exchange(resuming_, {})) {
        Looks &looks = looks_[processor];
        Processor &p = processors_[processor];
        if (looks.op == any || p.running != any || !p.ready.empty() || looks.open > 0)
            continue;
        p.running = looks.op;
        looks.started = now_;
        if (has_what_it_watched(looks.op)) {
            const Picoseconds left = rest_of(looks.op, looks.left);
            p.computation -= looks.left - left;
            looks.left = left;
            looks.op = any;
        }
        run_for(processor, looks.left);
    }
}

/// Whether the message that a computation looks for has come and was passed on.
template <Order order> bool Engine<order>::has_what_it_watched(std::uint32_t op) const {
    const std::uint32_t distance = steps_[op].stream;
    return distance != any && progress_.has(op - distance, Progress::ended);
}

/// @return how long what is left of a computation takes at once
template <Order order> Picoseconds Engine<order>::rest_of(std::uint32_t op, Picoseconds left) const {
    return static_cast<Picoseconds>(static_cast<double>(left) * steps_[op].peer / Operation::whole);
}

template <Order order> Picoseconds Engine<order>::time_of_computation(std::uint32_t op) const {
    const Picoseconds time = steps_[op].time();
    if (looks_.empty() || steps_[op].parts() == 1 || !has_what_it_watched(op)) [[likely]]
        return time;
    return rest_of(op, time);
}

/// Whether the end of a processor's job that was foreseen is not that of the one under way.
template <Order order> bool Engine<order>::is_outdated(std::uint32_t processor) const {
    if constexpr (by_time) {
        if (looks_.empty())
            return false;
        const RunningJob &running = resources_.running[processor];
        return processors_[processor].running == any || running.group != any ||
               running.started + running.work != now_;
    }
    return false;
}

} // namespace rankwise::replay
