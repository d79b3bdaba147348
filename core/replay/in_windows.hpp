// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "replay/machine_events.hpp"
#include "replay/progress.hpp"
#include "replay/recorders.hpp"
#include "schedule/windows/trace_window.hpp"

namespace rankwise::replay {

/// @brief Makes an engine go through a traced run in windows.
///
/// Whenever a rank goes beyond what was read, everything is renumbered that names an operation; nothing else
/// changes, so that the engine does what it would do with the whole schedule.
class InWindows : public NoRecorder {
  public:
    static constexpr bool in_windows = true;

    explicit InWindows(TraceWindow &window) : window_(&window) {}

    /// @brief Called before operations that became ready go on.
    template <class Engine> void read_on(Engine &engine) {
        at_rest_.clear();
        for (const std::uint32_t op : engine.progress_.freed)
            if (engine.steps_[op].kind() == TraceWindow::rest)
                at_rest_.push_back(engine.steps_[op].rank);
        if (at_rest_.empty())
            return;
        note_states(engine);
        queues_.clear();
        for (std::uint32_t p = 0; p < engine.processors_.size(); ++p)
            while (!engine.processors_[p].ready.empty())
                queues_.push_back({p, engine.processors_[p].ready.take(engine.progress_)});
        freed_.swap(engine.progress_.freed);
        renumber(engine, window_->read_on(states_, at_rest_));
        engine.check_size();
    }

    Picoseconds computation(std::uint32_t rank) const { return window_->computation[rank]; }

  private:
    struct Queued {
        std::uint32_t processor, op;
    };

    template <class Engine> void note_states(Engine &engine) {
        const Progress &progress = engine.progress_;
        states_.resize(progress.size());
        for (std::uint32_t op = 0; op < states_.size(); ++op)
            states_[op] = static_cast<std::uint8_t>(
                (progress.has(op, Progress::begun) ? TraceWindow::begun : 0) |
                (progress.has(op, Progress::ended) ? TraceWindow::ended : 0) |
                (engine.letting_go().is_under_way(op) ? TraceWindow::under_way : 0) |
                (engine.message_is_there(op) ? TraceWindow::arrived : 0));
    }

    template <class Engine> void renumber(Engine &engine, const TraceWindow::Change &change) {
        const std::vector<std::uint32_t> &now = change.now;
        Progress &progress = engine.progress_;
        progress.renumber(now, change.receives_from, engine.steps_);
        engine.standstills_.renumber(now);
        progress.freed = change.ready;
        for (const std::uint32_t op : freed_)
            if (now[op] != any)
                progress.freed.push_back(now[op]);
        for (auto &processor : engine.processors_)
            if (processor.running != any)
                processor.running = now[processor.running];
        for (const Queued &queued : queues_)
            engine.processors_[queued.processor].ready.append(progress, now[queued.op]);
        for (std::uint32_t r = 0; r < engine.schedule_.ranks(); ++r) {
            std::uint32_t &unfinished = engine.first_processor(r).unfinished = 0;
            for (std::uint32_t op = engine.schedule_.first[r]; op < engine.schedule_.first[r + 1]; ++op)
                unfinished += progress.has(op, Progress::ended) ? 0 : 1;
        }
        engine.queue_.change([&](Event &event) { replay::renumber(event, now); });
        move(engine.first_byte_, engine.steps_.size(), now);
        move(engine.spare_at_first_byte_, engine.steps_.size(), now);
        move(engine.last_byte_, engine.steps_.size(), now);
    }

    template <class T>
    static void move(LargeArray<T> &of_operations, std::size_t size, const std::vector<std::uint32_t> &now) {
        if (of_operations.empty())
            return;
        LargeArray<T> were(size);
        were.swap(of_operations);
        for (std::uint32_t op = 0; op < now.size(); ++op)
            if (now[op] != any)
                of_operations[now[op]] = were[op];
    }

    TraceWindow *window_;
    std::vector<std::uint8_t> states_;
    std::vector<std::uint32_t> at_rest_, freed_;
    std::vector<Queued> queues_;
};

} // namespace rankwise::replay
