// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/event.hpp"
#include "trace/packed_trace.hpp"
#include "trace/trace_model.hpp"

namespace rankwise::trace {

/// @brief Decodes one thread's packed events one by one. The only place that knows their packing.
///
///     EventReader reader(thread.trace);
///     for (Event event; reader.next(event);) { ... }
///     if (!reader.problem().empty()) { ... partial ... }
///
/// Request numbers are counted within the stream: they identify the requests that its thread made. Of those
/// of other threads, which it completed, they are negative.
class EventReader {
  public:
    /// @param[in] trace packed events in order, as `ThreadRecord::trace`; they must outlive the reader
    explicit EventReader(const PackedTrace &trace);

    /// @brief Decode the next event.
    /// @param[out] event overwritten; its spans hold until the next call
    /// @return false at the end, or where the stream is damaged (then `problem()` says so)
    bool next(Event &event);

    /// @return why decoding stopped before the end, empty if it did not
    const std::string &problem() const noexcept { return problem_; }

    /// @return how many request numbers were taken so far
    std::int64_t requests() const noexcept { return requests_; }

  private:
    std::uint64_t take_unsigned();
    std::int64_t take_signed();
    std::int32_t take_int();
    std::uint64_t take_length(std::size_t smallest_bytes);
    std::int64_t take_request();
    Message take_message();
    Receive take_receive(bool posted_only);
    void take_completions(Event &event, bool with_status);
    void take_collective(Event &event);
    void take_payload(Event &event);
    void take_call(Event &event, std::uint64_t kind);
    void take_shape(Event &event);
    void take_known_shape(Event &event, std::uint32_t number);
    void take_other_shape(Event &event, std::span<const std::byte> shape);
    std::uint32_t take_changed_shape(Event &event, bool differences);
    void take_gap_cpu();
    std::uint32_t take_code(unsigned nibble, std::uint8_t expected);
    TimeCodes take_times(Event &event, TimeCodes expected);
    void take_coded(Event &event);
    bool more();

    std::span<const std::span<const std::byte>> runs_;
    bool exact_;
    std::uint32_t unit_shift_;
    std::size_t run_ = 0;
    std::span<const std::byte> source_; // what is being taken from: the run, or a remembered shape
    std::size_t position_ = 0;
    unsigned repeats_ = 0;         // expected events still to come
    std::int64_t gap_cpu_ns_ = -1; // of the next event of a call
    TraceModel model_;
    std::vector<std::byte> changed_; // the last shape that was given by its changes
    bool damaged_ = false;
    std::int64_t requests_ = 0;
    std::uint64_t events_ = 0;
    std::vector<Completion> completions_;
    std::vector<std::uint64_t> sizes_;
    std::vector<std::int32_t> destinations_;
    std::string problem_;
};

} // namespace rankwise::trace
