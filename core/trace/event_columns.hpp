// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/event_reader.hpp"

namespace rankwise::trace {

/// @brief A whole stream of events, one vector a member of `Event`, for numpy. Absent values are those of
/// `Event{}`.
///
/// The completions of event i are rows [completion_offsets[i], completion_offsets[i + 1]) of the completion
/// vectors, and likewise the per-rank sizes of a collective.
struct EventColumns {
    std::vector<std::uint16_t> kind;
    std::vector<std::uint64_t> gap_ticks, duration_ticks;
    std::vector<std::int64_t> gap_cpu_ns;
    std::vector<std::uint32_t> comm;
    std::vector<std::int32_t> send_peer, send_tag;
    std::vector<std::uint64_t> send_bytes;
    std::vector<std::int32_t> posted_peer, posted_tag, recv_peer, recv_tag;
    std::vector<std::uint64_t> recv_bytes;
    std::vector<std::int64_t> request;
    std::vector<std::int32_t> root;
    std::vector<std::uint32_t> flags, datatype_bytes;
    std::vector<std::uint64_t> bytes, bytes2, count, runqueue_wait_ns, cpu_ns;
    std::vector<std::uint64_t> completion_offsets{0}, size_offsets{0};
    std::vector<std::int64_t> completion_request;
    std::vector<std::uint8_t> completion_is_receive;
    std::vector<std::int32_t> completion_peer, completion_tag;
    std::vector<std::uint64_t> completion_bytes, sizes;
    std::vector<std::int32_t> size_destination; // parallel to sizes: of neighbourhood collectives, else -1
    std::string problem;                        // why the stream ends before its end, empty if it does not
};

/// @brief Decode all events of a stream.
EventColumns decode(const PackedTrace &trace);

} // namespace rankwise::trace
