// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "trace/calls.hpp"

namespace rankwise::trace {

constexpr std::int32_t proc_null = -1;    // peers: MPI_PROC_NULL
constexpr std::int32_t any_source = -2;   // posted peers: MPI_ANY_SOURCE
constexpr std::int32_t unknown_peer = -3; // a rank outside MPI_COMM_WORLD, or an unresolved handle
constexpr std::int32_t any_tag = -1;      // posted tags: MPI_ANY_TAG
constexpr std::int64_t no_request = -1;
constexpr std::uint32_t no_comm = ~0u; // the communicator that another was made of: none, or it is not known

/// @brief One end of a point-to-point message. Peers are world ranks.
struct Message {
    std::int32_t peer = proc_null;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0; // for a receive that is only posted: its capacity
};

/// @brief A receive as posted: its wildcards, and what it matched, or for nonblocking ones its capacity.
struct Receive {
    std::int32_t posted_peer = proc_null;
    std::int32_t posted_tag = 0;
    Message message; // nonblocking: peer and tag as posted, bytes is the capacity
};

/// @brief A request that a completion call ended.
struct Completion {
    std::int64_t request; // number, or negative if it was taken before the stream starts
    bool is_receive;
    Message received; // receives only
};

/// @brief A collective call's arguments, as in rw_collective_entry.
struct CollectiveArguments {
    std::int32_t root = -1;  // rank in the communicator
    std::uint32_t flags = 0; // enum rw_collective_flag
    std::uint32_t datatype_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes2 = 0;
    std::span<const std::uint64_t> sizes; // v-variants: bytes per rank, where this rank knows them
    /// Neighbourhood collectives: world rank of the destination of each of `sizes`; empty for the others.
    std::span<const std::int32_t> destinations;
};

/// @brief One event of a thread's trace (formats/recording.h), decoded. Which members hold something depends
/// on the class:
///
/// | class | members |
/// |---|---|
/// | send | comm, send |
/// | isend, send_init | comm, send, request |
/// | recv, probe | comm, recv |
/// | irecv, recv_init | comm, recv (capacity), request |
/// | sendrecv | comm, send, recv |
/// | isendrecv | comm, send, recv (capacity), request |
/// | start | completions (request only) |
/// | complete | completions |
/// | collective | comm, collective |
/// | icollective, collective_init | comm, collective, request |
/// | comm | comm (what it is made of, or `no_comm`), reorder |
/// | cancel, request_free | request (the one concerned; `no_request` if it has no number) |
/// | poll | count (failed tests and probes) |
/// | sched | runqueue_wait_ns, cpu_ns |
/// | lost | count (events that were not recorded) |
///
/// The spans are views into the reader and hold until its next event.
struct Event {
    std::uint16_t kind = 0; // number of the MPI function (`calls()`), or RW_EVENT_*
    CallClass call_class = CallClass::other;
    std::uint64_t gap_ticks = 0;      // since the end of the event before: computation
    std::uint64_t duration_ticks = 0; // inside the call
    std::int64_t gap_cpu_ns = -1;     // processor time of the gap, -1 where it was not measured
    std::uint32_t comm = 0;           // index among the process's communicators
    bool reorder = false;
    Message send;
    Receive recv;
    std::int64_t request = no_request; // the number the call took, counted from 0 in this stream
    std::span<const Completion> completions;
    CollectiveArguments collective;
    std::uint64_t count = 0;
    std::uint64_t runqueue_wait_ns = 0;
    std::uint64_t cpu_ns = 0;
};

} // namespace rankwise::trace
