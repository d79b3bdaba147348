// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/observer.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// When things happened to one operation, and why not earlier. Times that do not apply are 0.
struct OperationTimes {
    Picoseconds ready = 0; ///< the last operation it waits for has ended (or begun); a receive is posted
    Picoseconds begin = 0; ///< the processor begins with it; of a receive: with its message
    Picoseconds end = 0;
    Picoseconds connecting = 0; ///< how much longer its first job took as its rank had not met the other
    Picoseconds memory = 0;     ///< how much longer its jobs took because others loaded their memory or cache
    Picoseconds interrupted = 0; ///< and because their core did the node's protocol work
    Picoseconds sent = 0;        ///< of a send: its data are handed to the rank's link
    Picoseconds on_link = 0;     ///< its first byte leaves the rank
    Picoseconds on_tx = 0;       ///< and enters the network through the interface of the node
    Picoseconds at_ports = 0;    ///< of a receive: how long the first byte waited for others at switch ports
    Picoseconds at_rx = 0;       ///< and is at the node's interface
    Picoseconds on_rx = 0;       ///< and passes it
    Picoseconds arrives = 0;     ///< its last byte is there
    std::uint32_t released_by = any; ///< operation that it waited for last, `any` if for none
    std::uint32_t after = any;       ///< operation that had the processor until `begin`, `any` if it was idle
    Picoseconds answered = 0;        ///< of a receive: the processor answers a rendezvous (in-call progress)
    std::uint32_t late_after =
        any; ///< operation that had the processor until `answered`, or of a send until `sent`
    /// Where buffers can be full: the last time that its rank was back inside MPI and went on with a
    /// message's parts, at a send to hand them over, at a receive to read them; and the operation until then.
    Picoseconds resumed = 0;
    std::uint32_t resumed_after = any;
    bool ended_sends = false; ///< of a send: what comes after it did not wait for its message
};

/// @brief What a replay did at what time, for every operation.
struct Timeline {
    /// A processor that had nothing to do.
    struct Gap {
        std::uint32_t op; ///< what it did next
        Picoseconds from, to;
    };

    std::vector<OperationTimes> operations;
    std::vector<Gap> gaps;
};

/// Keeps all times of a replay.
class TimelineObserver : public Observer {
  public:
    explicit TimelineObserver(Timeline &to) : timeline_(to) {}

    void begin(std::size_t operations, std::size_t processors) override {
        timeline_.operations.assign(operations, {});
        last_on_processor_.assign(processors, any);
    }
    void release(std::uint32_t by, std::span<const std::uint32_t> freed, Picoseconds now) override {
        for (const std::uint32_t op : freed) {
            timeline_.operations[op].ready = now;
            timeline_.operations[op].released_by = by;
        }
    }
    void start_job(std::uint32_t processor, std::uint32_t op, bool is_first, Picoseconds idle_since,
                   Picoseconds now) override {
        OperationTimes &times = timeline_.operations[op];
        const std::uint32_t before = idle_since == now ? last_on_processor_[processor] : any;
        keep_gap(processor, op, idle_since, now);
        if (is_first) {
            times.begin = now;
            times.after = before;
        } else {
            times.answered = now;
            times.late_after = before;
        }
    }
    void read_part(std::uint32_t processor, std::uint32_t receive, Picoseconds idle_since,
                   Picoseconds now) override {
        const std::uint32_t before = last_on_processor_[processor];
        if (idle_since == now && before != receive && before != any)
            resume(receive, before, now);
        keep_gap(processor, receive, idle_since, now);
    }
    void resume(std::uint32_t op, std::uint32_t after, Picoseconds now) override {
        timeline_.operations[op].resumed = now;
        timeline_.operations[op].resumed_after = after;
    }
    void hand_to_link(std::uint32_t send, Picoseconds now, Picoseconds on_link) override {
        timeline_.operations[send].sent = now;
        timeline_.operations[send].on_link = on_link;
    }
    void pass_tx(std::uint32_t send, std::uint32_t receive, Picoseconds start,
                 Picoseconds at_receiver) override {
        timeline_.operations[send].on_tx = start;
        timeline_.operations[receive].at_rx = timeline_.operations[receive].on_rx = at_receiver;
    }
    void wait_at_port(std::uint32_t receive, Picoseconds time) override {
        timeline_.operations[receive].at_ports += time;
    }
    void reach_rx(std::uint32_t receive, Picoseconds now) override {
        timeline_.operations[receive].at_rx = now;
    }
    void pass_rx(std::uint32_t receive, Picoseconds start) override {
        timeline_.operations[receive].on_rx = start;
    }
    void arrive(std::uint32_t receive, Picoseconds now) override {
        timeline_.operations[receive].arrives = now;
    }
    void end(std::uint32_t op, Picoseconds now) override { timeline_.operations[op].end = now; }
    void end_without_receive(std::uint32_t send) override { timeline_.operations[send].ended_sends = true; }
    void connect(std::uint32_t op, Picoseconds longer) override {
        timeline_.operations[op].connecting = longer;
    }
    void slow(std::uint32_t op, Picoseconds memory, Picoseconds interrupted) override {
        timeline_.operations[op].memory += memory;
        timeline_.operations[op].interrupted += interrupted;
    }

  private:
    void keep_gap(std::uint32_t processor, std::uint32_t op, Picoseconds idle_since, Picoseconds now) {
        last_on_processor_[processor] = op;
        if (idle_since < now)
            timeline_.gaps.push_back({op, idle_since, now});
    }

    Timeline &timeline_;
    std::vector<std::uint32_t> last_on_processor_;
};

} // namespace rankwise::replay
