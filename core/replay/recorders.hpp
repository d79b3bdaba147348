// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/timeline.hpp"
#include "placement/screen/screen_program.hpp"

namespace rankwise::replay {

/// What a replay tells about itself to nobody.
struct NoRecorder {
    static constexpr bool in_windows = false; ///< see `InWindows`
    void begin(std::size_t, std::size_t) {}
    void released(std::uint32_t, std::span<const std::uint32_t>, Picoseconds) {}
    void started(std::uint32_t, std::uint32_t, bool, Picoseconds, Picoseconds) {}
    void reads(std::uint32_t, std::uint32_t, Picoseconds, Picoseconds) {}
    void resumed(std::uint32_t, std::uint32_t, Picoseconds) {}
    void posted(std::uint32_t) {}
    void sent(std::uint32_t, Picoseconds, Picoseconds) {}
    void on_tx(std::uint32_t, std::uint32_t, Picoseconds, Picoseconds) {}
    void queued_at_port(std::uint32_t, Picoseconds) {}
    void at_rx(std::uint32_t, Picoseconds) {}
    void on_rx(std::uint32_t, Picoseconds) {}
    void arrived(std::uint32_t, Picoseconds) {}
    void ended(std::uint32_t, Picoseconds) {}
    void let_go(std::uint32_t) {}
    void connected(std::uint32_t, Picoseconds) {}
    void slowed(std::uint32_t, Picoseconds, Picoseconds) {}
};

/// Keeps the order in which things are done.
struct OrderRecorder : NoRecorder {
    explicit OrderRecorder(ServiceOrder &to) : order(to) {}

    void started(std::uint32_t, std::uint32_t op, bool first_job, Picoseconds, Picoseconds) {
        if (first_job)
            add(op, ServiceOrder::job);
    }
    void posted(std::uint32_t receive) { add(receive, ServiceOrder::post); }
    void sent(std::uint32_t send, Picoseconds, Picoseconds) { add(send, ServiceOrder::data); }

    void add(std::uint32_t op, ServiceOrder::Part part) {
        order.entries.push_back(op << ServiceOrder::part_bits | part);
    }
    ServiceOrder &order;
};

/// Keeps all times.
struct TimelineRecorder : NoRecorder {
    explicit TimelineRecorder(Timeline &to) : timeline(to) {}

    void begin(std::size_t operations, std::size_t processors) {
        timeline.operations.assign(operations, {});
        last_on_processor.assign(processors, any);
    }
    /// @param[in] freed operations that became ready because `by` has begun or ended
    void released(std::uint32_t by, std::span<const std::uint32_t> freed, Picoseconds now) {
        for (const std::uint32_t op : freed) {
            timeline.operations[op].ready = now;
            timeline.operations[op].released_by = by;
        }
    }
    /// @param[in] first_job not an answer, nor the data of a rendezvous
    void started(std::uint32_t processor, std::uint32_t op, bool first_job, Picoseconds idle_since,
                 Picoseconds now) {
        OperationTimes &times = timeline.operations[op];
        const std::uint32_t before = idle_since == now ? last_on_processor[processor] : any;
        keep_gap(processor, op, idle_since, now);
        if (first_job) {
            times.begin = now;
            times.after = before;
        } else {
            times.answered = now;
            times.late_after = before;
        }
    }
    /// @param[in] receive whose message the processor reads a part of
    void reads(std::uint32_t processor, std::uint32_t receive, Picoseconds idle_since, Picoseconds now) {
        const std::uint32_t before = last_on_processor[processor];
        if (idle_since == now && before != receive && before != any)
            resumed(receive, before, now);
        keep_gap(processor, receive, idle_since, now);
    }
    /// @param[in] op    a send or receive whose message goes on because its rank is back inside MPI
    /// @param[in] after what the rank did until now
    void resumed(std::uint32_t op, std::uint32_t after, Picoseconds now) {
        timeline.operations[op].resumed = now;
        timeline.operations[op].resumed_after = after;
    }
    void keep_gap(std::uint32_t processor, std::uint32_t op, Picoseconds idle_since, Picoseconds now) {
        last_on_processor[processor] = op;
        if (idle_since < now)
            timeline.gaps.push_back({op, idle_since, now});
    }
    void sent(std::uint32_t send, Picoseconds now, Picoseconds on_link) {
        timeline.operations[send].sent = now;
        timeline.operations[send].on_link = on_link;
    }
    void on_tx(std::uint32_t send, std::uint32_t receive, Picoseconds start, Picoseconds at_receiver) {
        timeline.operations[send].on_tx = start;
        timeline.operations[receive].at_rx = timeline.operations[receive].on_rx = at_receiver;
    }
    void queued_at_port(std::uint32_t receive, Picoseconds time) {
        timeline.operations[receive].at_ports += time;
    }
    void at_rx(std::uint32_t receive, Picoseconds now) { timeline.operations[receive].at_rx = now; }
    void on_rx(std::uint32_t receive, Picoseconds start) { timeline.operations[receive].on_rx = start; }
    void arrived(std::uint32_t receive, Picoseconds now) { timeline.operations[receive].arrives = now; }
    void ended(std::uint32_t op, Picoseconds now) { timeline.operations[op].end = now; }
    /// @param[in] send that has ended although its receive is not there
    void let_go(std::uint32_t send) { timeline.operations[send].let_go = true; }
    void connected(std::uint32_t op, Picoseconds longer) { timeline.operations[op].connecting = longer; }
    /// @param[in] memory, interrupted how much longer a job of `op` took, by cause
    void slowed(std::uint32_t op, Picoseconds memory, Picoseconds interrupted) {
        timeline.operations[op].memory += memory;
        timeline.operations[op].interrupted += interrupted;
    }

    Timeline &timeline;
    std::vector<std::uint32_t> last_on_processor;
};

} // namespace rankwise::replay
