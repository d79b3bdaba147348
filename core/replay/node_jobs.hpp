// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/node_rank.hpp"
#include "replay/time_range.hpp"

namespace rankwise::replay {

/// @brief What the replay by node does with processors, each one job after the other.
/// @tparam Replay that it is a base of
template <class Replay> struct NodeJobs {
    void queue_job(std::uint32_t rank, std::uint32_t op, Job job) {
        self().set_job(op, job);
        NodeRank &r = self().ranks_[rank];
        if (r.running == any)
            start(r, op, job);
        else
            r.ready.append(self().progress_, op);
    }

    void start(NodeRank &r, std::uint32_t op, Job job) {
        r.running = op;
        self().progress_.prefetch_released(op);
        self().progress_.prefetch_ahead(op);
        self().nexts_[r.slot].job_end = self().now_ + start_job(op, job, r);
    }

    /// @return how long the job takes
    Picoseconds start_job(std::uint32_t op, Job job, NodeRank &r) {
        switch (job) {
        case Job::calc:
            self().progress_.begin(op);
            r.computation += self().steps_[op].time();
            return self().steps_[op].time();
        case Job::send: {
            self().progress_.begin(op);
            const MessageCost &cost = self().cost_of_send(op);
            ++self().channels_[cost.link].messages;
            self().channels_[cost.link].bytes += cost.bytes;
            const Picoseconds overhead = cost.o_send + connect(op, cost);
            r.overhead += overhead;
            return overhead;
        }
        case Job::data: {
            const MessageCost &cost = self().cost_of_send(op);
            if (cost.in_call)
                self().messages().enter_link(op, cost, r);
            r.overhead += cost.on_core;
            return cost.on_core;
        }
        case Job::receive: {
            const MessageCost &cost = self().cost_of_receive(op);
            const Picoseconds overhead = cost.o_receive + connect(op, cost);
            r.overhead += overhead + cost.on_core;
            if (cost.on_core == 0)
                return overhead;
            // A processor that was idle has dealt with the bytes while they came in.
            const Picoseconds idle = self().now_ - std::max(self().first_byte_[op], r.idle_since);
            return overhead + std::max<Picoseconds>(0, cost.on_core - std::max<Picoseconds>(0, idle));
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
        return self().contacts_.begin(self().steps_[op].rank, self().steps_[op].peer, cost.connect);
    }

    /// The jobs of a rank that end before a time.
    void end_jobs(std::uint32_t rank, Picoseconds before) {
        NodeRank &r = self().ranks_[rank];
        Picoseconds &end = self().nexts_[r.slot].job_end;
        while (end < before) {
            self().now_ = in_range(end);
            self().served_ = job_ends << phase_shift | rank; // a rank's in the order in which they end
            end = machine::never;
            end_job(r);
            self().release(rank);
        }
    }

    void end_job(NodeRank &r) {
        const std::uint32_t op = r.running;
        r.idle_since = self().now_;
        switch (self().job(op)) {
        case Job::send: {
            const MessageCost &cost = self().cost_of_send(op);
            if (!cost.eager) {
                self().at_rank(self().steps_[op].peer, self().now_ + cost.control, request_arrives, op,
                               self().steps_[op].partner);
                break;
            }
            self().messages().enter_link(op, cost, r);
            if (cost.on_core > 0) {
                self().set_job(op, Job::send_bytes);
                r.overhead += cost.on_core;
                self().nexts_[r.slot].job_end = self().now_ + cost.on_core;
                return;
            }
            self().end(op, r);
            break;
        }
        case Job::clear:
            self().messages().answer(op);
            break;
        case Job::data:
            self().messages().finish_send(op, core_is_done);
            break;
        default:
            self().end(op, r);
            break;
        }
        r.running = any;
        if (!r.ready.empty()) {
            const std::uint32_t next = r.ready.take(self().progress_);
            start(r, next, self().job(next));
        }
    }

  private:
    Replay &self() { return static_cast<Replay &>(*this); }
};

} // namespace rankwise::replay
