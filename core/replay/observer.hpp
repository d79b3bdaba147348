// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief What listens to a replay. Each call says one thing that has just happened, in the order of time
/// over all ranks; operations are numbered as in the schedule, processors rank after rank.
class Observer {
  public:
    virtual ~Observer() = default;

    virtual void begin(std::size_t /*operations*/, std::size_t /*processors*/) {}
    /// Operations became ready because `by` has begun or ended.
    virtual void release(std::uint32_t /*by*/, std::span<const std::uint32_t> /*freed*/,
                         Picoseconds /*now*/) {}
    /// A processor begins with a job. `is_first`: it is not an answer, nor the data of a rendezvous.
    virtual void start_job(std::uint32_t /*processor*/, std::uint32_t /*op*/, bool /*is_first*/,
                           Picoseconds /*idle_since*/, Picoseconds /*now*/) {}
    /// A processor begins to read a part of a receive's message.
    virtual void read_part(std::uint32_t /*processor*/, std::uint32_t /*receive*/, Picoseconds /*idle_since*/,
                           Picoseconds /*now*/) {}
    /// The message of a send or receive goes on, as its rank is back inside MPI; `after`: what it did until
    /// now.
    virtual void resume(std::uint32_t /*op*/, std::uint32_t /*after*/, Picoseconds /*now*/) {}
    virtual void post(std::uint32_t /*receive*/) {}
    /// A send's data are handed to the rank's link, which is free for them at `on_link`.
    virtual void hand_to_link(std::uint32_t /*send*/, Picoseconds /*now*/, Picoseconds /*on_link*/) {}
    /// The first byte begins to pass its node's interface, and would be at the receiver at `at_receiver`.
    virtual void pass_tx(std::uint32_t /*send*/, std::uint32_t /*receive*/, Picoseconds /*start*/,
                         Picoseconds /*at_receiver*/) {}
    virtual void wait_at_port(std::uint32_t /*receive*/, Picoseconds /*time*/) {}
    virtual void reach_rx(std::uint32_t /*receive*/, Picoseconds /*now*/) {}
    virtual void pass_rx(std::uint32_t /*receive*/, Picoseconds /*start*/) {}
    virtual void arrive(std::uint32_t /*receive*/, Picoseconds /*now*/) {}
    virtual void end(std::uint32_t /*op*/, Picoseconds /*now*/) {}
    /// A send has ended although its receive is not there, as nothing could go on.
    virtual void end_without_receive(std::uint32_t /*send*/) {}
    /// The first job of an operation takes longer, as its rank meets the other one.
    virtual void connect(std::uint32_t /*op*/, Picoseconds /*longer*/) {}
    /// How much longer than alone a job took, by cause.
    virtual void slow(std::uint32_t /*op*/, Picoseconds /*memory*/, Picoseconds /*interrupted*/) {}
};

} // namespace rankwise::replay
