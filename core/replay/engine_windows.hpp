// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "replay/engine.hpp"

// What an Engine does with events: window after window, and when the schedule goes on beyond what was read of
// it.

namespace rankwise::replay {

template <Order order>
Engine<order>::Engine(const Case &of_case, OperationStates &states, unsigned number, unsigned of)
    : schedule_(of_case.schedule), steps_(of_case.steps), machine_(of_case.machine),
      placement_(of_case.placement), ahead_(of_case.ahead), observer_(of_case.observer),
      window_(of_case.window), number_(number), engines_(of), in_one_queue_(by_time && ahead_.queues == 1),
      is_plain_(machine_.only_interfaces_and_cores()), cpus_(schedule_.cpus),
      lanes_(std::max(schedule_.cpus, schedule_.nics)), states_(states),
      progress_(schedule_, steps_, states.progress), standstills_(schedule_, progress_),
      costs_(machine_, of_case.sizes), processors_(std::size_t{schedule_.ranks()} * lanes()),
      resources_(schedule_, machine_, placement_, ahead_, lanes_), interfaces_(machine_, placement_),
      channels_(machine_.link_classes.size()), looks_(schedule_.divided ? processors_.size() : 0),
      nexts_(by_time ? 0 : schedule_.ranks()), rank_at_(schedule_.ranks()), queue_of_rank_(schedule_.ranks()),
      queue_first_(ahead_.queues + 1),
      windows_(in_one_queue_ ? 0 : ahead_.queues, ahead_.between, ahead_.passing, interfaces_.of_node > 1),
      sent_{std::vector<std::vector<Sent>>(of), std::vector<std::vector<Sent>>(of)} {
    check_size();
    for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
        queue_of_rank_[r] = ahead_.queue_of_node[placement_.node[r]];
        ++queue_first_[queue_of(r) + 1];
    }
    for (std::size_t queue = 1; queue < queue_first_.size(); ++queue)
        queue_first_[queue] += queue_first_[queue - 1];
    std::vector<std::uint32_t> slot(queue_first_.begin(), queue_first_.end() - 1);
    for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
        first_processor(r).slot = slot[queue_of(r)]++;
        rank_at_[first_processor(r).slot] = r;
    }
}

template <Order order> void Engine<order>::check_size() const {
    if (steps_.size() >= std::size_t{1} << phase_shift)
        throw Error("the schedule has `" + std::to_string(steps_.size()) + "` operations, more than 2^29",
                    "replay fewer ranks or fewer steps");
}

template <Order order> void Engine<order>::start() {
    tell([&](Observer &o) { o.begin(steps_.size(), processors_.size()); });
    for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
        if (!serves(r))
            continue;
        queue_ = queue_of(r);
        for (std::uint32_t op = schedule_.first[r]; op < schedule_.first[r + 1]; ++op)
            if (progress_.is_ready(op))
                progress_.freed.push_back(op);
        release();
    }
    leave_queues();
}

/// Says when each queue goes on.
template <Order order> void Engine<order>::leave_queues() {
    if constexpr (by_time)
        resources_.rates.settle(now_);
    for (std::uint32_t queue = 0; !in_one_queue() && queue < ahead_.queues; ++queue)
        if (owner_of(queue) == number_)
            windows_.leave(queue, next_of_ranks(queue));
}

// Events

template <Order order>
void Engine<order>::at(Picoseconds time, Phase phase, std::uint32_t number, std::uint32_t what) {
    if (in_one_queue())
        only_queue_.push({time, order_of(phase, number), what});
    else
        windows_[queue_].events.push({time, order_of(phase, number), what});
}

template <Order order>
void Engine<order>::at_rank(std::uint32_t rank, Picoseconds time, Phase phase, std::uint32_t op,
                            std::uint32_t what) {
    if (in_one_queue())
        return at(time, phase, op, what);
    const std::uint32_t queue = queue_of(rank);
    if (queue == queue_)
        return at(time, phase, op, what);
    const Arrival event{{time, order_of(phase, op), what}, steps_[op].size_class};
    if (engines_ == 1)
        return windows_.push_from_other(queue, event);
    const unsigned owner = owner_of(queue);
    if (owner == number_)
        return windows_.push_from_other(queue, event);
    sent_[parity_][owner].push_back({queue, event});
    sent_next_ = std::min(sent_next_, windows_.noticed(event));
}

// Windows

template <Order order> Picoseconds Engine<order>::earliest() {
    if (in_one_queue())
        return std::min(only_queue_.empty() ? never_happens.time : only_queue_.top().time, next_of_ranks(0));
    return std::min(windows_.earliest(), sent_next_);
}

template <Order order>
void Engine<order>::serve_window(Picoseconds begin, std::span<const std::unique_ptr<Engine>> all) {
    if constexpr (by_time)
        if (in_one_queue())
            return serve_by_time(only_queue_, machine::never);
    if (engines_ > 1)
        take_from(all);
    const std::span<const std::uint32_t> due = windows_.open(begin);
    for (std::size_t k = 0; k < due.size() + fetch_steps; ++k) {
        fetch(due, k);
        if (k >= fetch_steps)
            serve_queue(due[k - fetch_steps]);
    }
}

/// What the engines sent to each other in the window before.
template <Order order> void Engine<order>::take_from(std::span<const std::unique_ptr<Engine>> all) {
    for (const auto &engine : all)
        for (const Sent &sent : engine->sent_[parity_][number_])
            windows_.push_from_other(sent.queue, sent.event);
    parity_ ^= 1;
    for (std::vector<Sent> &sent : sent_[parity_])
        sent.clear(); // all have taken theirs
    sent_next_ = machine::never;
}

/// All that happens in a queue's nodes until the end of the window.
template <Order order> void Engine<order>::serve_queue(std::uint32_t queue) {
    queue_ = queue;
    NodeQueue<Events> &mine = windows_[queue];
    if (passes_rx_early()) {
        take_arrivals(mine.events);
        send_off();
    } else {
        for (const Arrival &event : mine.from_others)
            mine.events.push(event);
        mine.from_others.clear();
    }
    if constexpr (by_time) {
        serve_by_time(mine.events, windows_.end());
    } else {
        for (;;) {
            const Picoseconds next = std::min(next_of_ranks(queue), mine.events.next());
            if (next >= windows_.end())
                break;
            serve_by_rank(windows_.end() - next > ahead_.inside ? next + ahead_.inside : windows_.end());
        }
    }
    windows_.leave(queue, next_of_ranks(queue));
}

/// First bytes pass the interface before anything else happens in the window: no rank notices.
template <Order order> void Engine<order>::take_arrivals(Events &events) {
    const auto arrivals = windows_.take_from_others(queue_);
    for (const Arrival &event : arrivals)
        fetch(event);
    for (const Arrival &event : arrivals) {
        now_ = event.time;
        if (phase_of(event.order) == enters_rx)
            enter_rx(event, event.size_class);
        else
            events.push(event);
    }
}

/// @return when the ranks of a queue go on, its events aside
template <Order order> Picoseconds Engine<order>::next_of_ranks(std::uint32_t queue) const {
    if constexpr (by_time)
        return resources_.rates.next(queue).time;
    Picoseconds next = machine::never;
    for (std::uint32_t slot = queue_first_[queue]; slot < queue_first_[queue + 1]; ++slot)
        next = std::min(next, std::min(nexts_[slot].job_end, nexts_[slot].link_free));
    return next;
}

template <Order order>
template <class Queue>
void Engine<order>::serve_by_time(Queue &events, Picoseconds end) {
    for (;;) {
        const Event event = events.empty() ? never_happens : events.top();
        const NextEnd &job = resources_.rates.next(queue_);
        if (job.time < event.time || (job.time == event.time && order_of(job_ends, job.key) < event.order)) {
            if (job.time >= end)
                break;
            now_ = in_range(job.time);
            end_job(job.processor);
        } else {
            if (event.time >= end)
                break;
            if constexpr (std::is_same_v<Queue, RadixQueue>)
                events.fetch([this](const Event &each) { progress_.prefetch(operation_of(each)); },
                             [this](const Event &each) {
                                 __builtin_prefetch(&first_processor(steps_[operation_of(each)].rank));
                             });
            events.pop();
            now_ = in_range(event.time);
            serve(event);
        }
        release();
        resources_.rates.settle(now_);
    }
    latest_ = std::max(latest_, now_);
}

/// @return the operation of an event, 0 of one of a core
template <Order order> std::uint32_t Engine<order>::operation_of(const Event &event) const {
    switch (phase_of(event.order)) {
    case core_rests:
        return 0;
    case job_ends:
        return is_outdated(event.what) ? 0 : processors_[event.what].running;
    case enters_rx: // or a port: not a receive
        if constexpr (by_time)
            if (resources_.paths.exist())
                return event.order & operation_mask;
        return event.what;
    default:
        return event.what;
    }
}

/// Before `end` no rank of the queue's node notices what others do from now on, so what each does need not be
/// in the order of time; only what passes tx is put in order afterwards.
template <Order order> void Engine<order>::serve_by_rank(Picoseconds end) {
    events_.clear();
    windows_[queue_].events.take(end, events_);
    for (events_served_ = 0; events_served_ < events_.size();) {
        const std::uint32_t rank = steps_[events_[events_served_].what].rank;
        end_jobs(rank, events_[events_served_].time);
        const Event event = events_[events_served_++]; // now: operations may have got other numbers
        now_ = in_range(event.time);
        served_ = event.order;
        serve(event);
        release();
    }
    if (!events_.empty())
        latest_ = std::max(latest_, events_.back().time);
    for (std::uint32_t slot = queue_first_[queue_]; slot < queue_first_[queue_ + 1]; ++slot) {
        if (nexts_[slot].job_end < end)
            end_jobs(rank_at_[slot], end);
        if (nexts_[slot].link_free < end)
            free_link(rank_at_[slot], end);
    }
    sort_few(to_tx_);
    for (const Event &event : to_tx_) {
        now_ = event.time;
        enter_tx(event.what, cost_of_send(event.what));
    }
    to_tx_.clear();
}

template <Order order> void Engine<order>::serve(const Event &event) {
    const Phase phase = phase_of(event.order);
    const std::uint32_t what = event.what;
    if constexpr (by_time)
        if (resources_.paths.exist() && serve_part(phase, event.order & operation_mask, what))
            return;
    switch (phase) {
    case data_arrives:
        last_byte_arrives(what);
        break;
    case enters_rx:
        if (passes_rx_early())
            last_byte_arrives(what); // it passed the interface in no time
        else
            enter_rx(event, MatchedOperation::no_class);
        break;
    case request_arrives:
        request(what);
        break;
    case clear_arrives:
        clear(what);
        break;
    case data_left:
        finish_send(what, has_left);
        break;
    case enters_link:
        leave_link(what, cost_of_send(what));
        break;
    case job_ends:
        if constexpr (by_time)
            if (!is_outdated(what))
                end_job(what);
        break;
    case core_rests:
        if constexpr (by_time)
            rest(what);
        break;
    }
}

template <Order order> void Engine<order>::fetch(const Event &event) const {
    const std::uint32_t op = by_time ? operation_of(event) : event.what;
    progress_.prefetch_one(op);
    if constexpr (by_time) {
        const auto fetch_of = [op](const auto &of_operations) {
            if (!of_operations.empty())
                __builtin_prefetch(of_operations.data() + op);
        };
        fetch_of(states_.first_byte);
        fetch_of(states_.idle_at_first_byte);
        fetch_of(states_.last_byte);
    }
}

/// What is needed for queues that are served soon is brought into the cache step by step.
template <Order order> void Engine<order>::fetch(std::span<const std::uint32_t> due, std::size_t k) const {
    const auto for_slots = [&](std::uint32_t queue, const auto &call) {
        for (std::uint32_t slot = queue_first_[queue]; slot < queue_first_[queue + 1]; ++slot)
            call(slot);
    };
    const auto processor_at = [&](std::uint32_t slot) {
        return processors_.data() + std::size_t{rank_at_[slot]} * lanes();
    };
    if (k < due.size())
        windows_.fetch(due[k]);
    if (k >= 1 && k - 1 < due.size()) {
        windows_.fetch_events(due[k - 1]);
        if constexpr (by_time)
            resources_.rates.fetch(due[k - 1]);
        for_slots(due[k - 1], [&](std::uint32_t slot) {
            __builtin_prefetch(processor_at(slot));
            if constexpr (by_time)
                __builtin_prefetch(resources_.running.data() + std::size_t{rank_at_[slot]} * lanes());
        });
    }
    if (k >= 2 && k - 2 < due.size()) {
        if constexpr (by_time)
            resources_.rates.fetch_jobs(due[k - 2]);
        windows_.for_coming(due[k - 2], [&](const Event &event) { fetch(event); });
        if constexpr (!by_time)
            for_slots(due[k - 2], [&](std::uint32_t slot) {
                if (nexts_[slot].job_end < windows_.end())
                    progress_.prefetch(processor_at(slot)->running);
                if (nexts_[slot].link_free < windows_.end())
                    progress_.prefetch(processor_at(slot)->on_link.head);
            });
        else
            for_slots(due[k - 2], [&](std::uint32_t slot) {
                const Processor &p = *processor_at(slot);
                if (p.running != any)
                    progress_.prefetch_one(p.running);
                if (!p.ready.empty())
                    progress_.prefetch_one(p.ready.head);
            });
    }
    if (k >= 3 && k - 3 < due.size()) {
        if constexpr (!by_time)
            for_slots(due[k - 3], [&](std::uint32_t slot) {
                if (nexts_[slot].job_end < windows_.end())
                    progress_.prefetch_released(processor_at(slot)->running);
            });
        else
            for_slots(due[k - 3], [&](std::uint32_t slot) {
                if (const std::uint32_t op = processor_at(slot)->running; op != any)
                    progress_.prefetch_released(op);
            });
    }
}

// A schedule that is partly there

/// Called before operations that became ready go on. Whenever a rank goes beyond what was read, everything is
/// renumbered that names an operation; nothing else changes, so that the engine does what it would do with
/// the whole schedule.
template <Order order> void Engine<order>::read_on() {
    std::vector<std::uint32_t> at_rest;
    for (const std::uint32_t op : progress_.freed)
        if (steps_[op].kind() == TraceWindow::rest)
            at_rest.push_back(steps_[op].rank);
    if (at_rest.empty())
        return;
    std::vector<std::uint8_t> &known = window_states_;
    known.resize(progress_.size());
    for (std::uint32_t op = 0; op < known.size(); ++op)
        known[op] = static_cast<std::uint8_t>((progress_.has(op, Progress::begun) ? TraceWindow::begun : 0) |
                                              (progress_.has(op, Progress::ended) ? TraceWindow::ended : 0) |
                                              (is_under_way(op) ? TraceWindow::under_way : 0) |
                                              (progress_.has(op, is_arrived) ? TraceWindow::arrived : 0));
    renumber(window_->read_on(known, at_rest));
    check_size();
}

/// Whether a send that has ended is still to leave, as it ended without its receive, or on its way through
/// ports and buffers.
template <Order order> bool Engine<order>::is_under_way(std::uint32_t op) {
    if (steps_[op].kind() != Kind::send)
        return false;
    if constexpr (by_time)
        if (resources_.paths.is_under_way(op))
            return true;
    return ended_sends_ > 0 && progress_.has(op, Progress::ended) && !cost_of_send(op).eager &&
           !has_left_entirely(op);
}

template <class T>
void move_to(LargeArray<T> &of_operations, std::size_t size, std::span<const std::uint32_t> now) {
    if (of_operations.empty())
        return;
    LargeArray<T> were(size);
    were.swap(of_operations);
    for (std::uint32_t op = 0; op < now.size(); ++op)
        if (now[op] != any)
            of_operations[now[op]] = were[op];
}

template <Order order> void Engine<order>::renumber(const TraceWindow::Change &change) {
    const std::span<const std::uint32_t> now = change.now;
    // Lists go through the states of their operations.
    std::vector<std::uint32_t> listed;
    std::vector<std::size_t> ends;
    for (Processor &p : processors_)
        for (List *list : {&p.ready, &p.on_link}) {
            while (!list->empty())
                listed.push_back(now[list->take(progress_)]);
            ends.push_back(listed.size());
        }
    std::vector<std::uint32_t> freed = change.ready;
    for (const std::uint32_t op : progress_.freed)
        if (now[op] != any)
            freed.push_back(now[op]);
    progress_.freed = std::move(freed);

    states_.progress = renumbered_states(states_.progress, schedule_, now, change.receives_from);
    progress_.renumber(steps_, states_.progress);
    standstills_.renumber(now);
    move_to(states_.first_byte, steps_.size(), now);
    move_to(states_.idle_at_first_byte, steps_.size(), now);
    move_to(states_.last_byte, steps_.size(), now);
    std::size_t k = 0, list_number = 0;
    for (Processor &p : processors_) {
        if (p.running != any)
            p.running = now[p.running];
        for (List *list : {&p.ready, &p.on_link})
            for (const std::size_t end = ends[list_number++]; k < end; ++k)
                list->append(progress_, listed[k]);
    }
    const auto change_event = [&](Event &event) {
        const Phase phase = phase_of(event.order);
        if (phase == core_rests || phase == job_ends) // numbers of cores, and of processors
            return;
        const std::uint32_t op = event.order & operation_mask;
        bool is_at_stage = false; // of a message's way, not at a receive
        if constexpr (by_time)
            is_at_stage = phase == enters_rx && resources_.paths.is_under_way(op);
        event.order = order_of(phase, now[op]);
        if (!is_at_stage)
            event.what = now[event.what];
    };
    only_queue_.change(change_event);
    windows_.change(change_event);
    for (std::size_t e = events_served_; e < events_.size(); ++e)
        change_event(events_[e]);
    for (std::uint32_t &send : to_end_)
        send = now[send];
    for (Event &event : to_tx_) {
        event.what = now[event.what];
        if (phase_of(event.order) != job_ends)
            event.order = order_of(phase_of(event.order), event.what);
    }
    if constexpr (by_time) {
        resources_.paths.renumber(now, steps_.size());
        for (std::uint32_t r = 0; r < resources_.unfinished.size(); ++r) {
            std::uint32_t &unfinished = resources_.unfinished[r] = 0;
            for (std::uint32_t op = schedule_.first[r]; op < schedule_.first[r + 1]; ++op)
                unfinished += progress_.has(op, Progress::ended) ? 0 : 1;
        }
    }
}

// At a standstill and at the end

/// @brief Sends of this engine's ranks end although their receives are not there, as if their messages were
/// kept in buffers; these travel when the receives are there.
template <Order order> void Engine<order>::end_sends(std::vector<std::uint32_t> sends, Picoseconds now) {
    const auto queue_of_send = [&](std::uint32_t send) { return queue_of(steps_[send].rank); };
    std::ranges::stable_sort(sends, {}, queue_of_send);
    latest_ = now_ = now;
    ended_sends_ += sends.size();
    to_end_.assign(sends.rbegin(), sends.rend());
    while (!to_end_.empty()) {
        queue_ = queue_of_send(to_end_.back());
        for (; !to_end_.empty() && queue_of_send(to_end_.back()) == queue_; to_end_.pop_back()) {
            end(to_end_.back());
            tell([&](Observer &o) { o.end_without_receive(to_end_.back()); });
        }
        release(); // the others may have other numbers now
    }
    leave_queues();
}

template <Order order> OtherEnd Engine<order>::other_end() const {
    std::unordered_map<std::uint32_t, std::uint32_t> held_up;
    if constexpr (by_time)
        held_up = resources_.paths.held_up(
            steps_, [this](std::uint32_t op) { return progress_.has(op, Progress::begun); });
    return [this, held_up = std::move(held_up)](std::uint32_t op) {
        if (const auto found = held_up.find(op); found != held_up.end())
            return found->second;
        const MatchedOperation &matched = steps_[op];
        if (window_ != nullptr && matched.kind() == Kind::receive && matched.partner == any)
            // A send that was not read comes with the rest of its rank.
            return schedule_.first[matched.peer + 1] - 1;
        return matched.partner;
    };
}

template <Order order> void Engine<order>::add_to(Prediction &result) const {
    const auto add = [](auto &sums, const auto &loads, const auto &add_one) {
        sums.resize(loads.size());
        for (std::size_t k = 0; k < loads.size(); ++k)
            add_one(sums[k], loads[k]);
    };
    const auto add_load = [](InterfaceLoad &sum, const Passage &passage) { sum += passage.load; };
    add(result.tx, interfaces_.tx, add_load);
    add(result.rx, interfaces_.rx, add_load);
    add(result.channels, channels_, [](ChannelLoad &sum, const ChannelLoad &load) {
        sum.messages += load.messages;
        sum.bytes += load.bytes;
    });
    for (std::uint32_t r = 0; r < schedule_.ranks(); ++r) {
        if (!serves(r))
            continue;
        RankTime &time = result.ranks[r];
        for (std::uint32_t c = 0; c < (by_time ? cpus_ : 1); ++c) {
            time.computation += processors_[std::size_t{r} * lanes() + c].computation;
            time.overhead += processors_[std::size_t{r} * lanes() + c].overhead;
        }
        time.finish = processors_[std::size_t{r} * lanes()].finish;
        if constexpr (by_time) {
            // Further processors are on cores of their own.
            const Longer &longer = resources_.running[std::size_t{r} * lanes()].longer;
            time.core_sharing = longer.shared;
            time.memory = longer.memory;
            time.interrupted = longer.interrupted;
        }
        std::vector<std::uint8_t> used(cpus_ > 1 ? cpus_ : 0);
        for (std::uint32_t op = schedule_.first[r]; !used.empty() && op < schedule_.first[r + 1]; ++op)
            used[steps_[op].lane.cpu] = 1;
        const auto processors = std::max<Picoseconds>(1, std::count(used.begin(), used.end(), 1));
        time.waiting = processors * time.finish - time.computation - time.overhead - time.core_sharing -
                       time.memory - time.interrupted;
    }
    if constexpr (by_time) {
        add(result.ports, resources_.paths.ports(), add_load);
        add(result.shared, resources_.loads(latest_), [](SharedLoad &sum, const SharedLoad &load) {
            sum = {load.resource, load.number, sum.busy + load.busy, sum.saturated + load.saturated};
        });
        result.alone.resize(resources_.alone.size());
        for (std::uint32_t op = 0; op < resources_.alone.size(); ++op)
            result.alone[op] += resources_.alone[op];
    }
    result.ended_sends += ended_sends_;
}

} // namespace rankwise::replay
