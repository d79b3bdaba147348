// SPDX-License-Identifier: BSD-3-Clause
#include "trace/event_reader.hpp"

#include <limits>
#include <utility>

#include "recording.h"

namespace rankwise::trace {
namespace {

constexpr std::uint64_t most_gap_cpu_units =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >> RW_SCHED_UNIT_SHIFT;

} // namespace

// Past the end, and in a number of more than 64 bits, these set `damaged_` and give 0: one check an event is
// enough.
std::uint64_t EventReader::take_unsigned() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (position_ >= source_.size()) {
            break;
        }
        const auto byte = static_cast<std::uint64_t>(source_[position_++]);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if (shift == 63 && byte > 1) {
                break;
            }
            return value;
        }
    }
    damaged_ = true;
    return 0;
}

std::int64_t EventReader::take_signed() {
    const std::uint64_t zigzag = take_unsigned();
    return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
}

std::int32_t EventReader::take_int() {
    const std::int64_t value = take_signed();
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
        damaged_ = true;
        return 0;
    }
    return static_cast<std::int32_t>(value);
}

// A list cannot have more elements than bytes are left for them; so a damaged length never allocates memory.
std::uint64_t EventReader::take_length(std::size_t smallest_bytes) {
    const std::uint64_t length = take_unsigned();
    if (length > (source_.size() - position_) / smallest_bytes) {
        damaged_ = true;
        return 0;
    }
    return length;
}

std::int64_t EventReader::take_request() {
    const std::uint64_t back = take_unsigned();
    if (back > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        damaged_ = true;
        return no_request;
    }
    return requests_ - static_cast<std::int64_t>(back);
}

Message EventReader::take_message() {
    Message message;
    message.peer = take_int();
    message.tag = take_int();
    message.bytes = take_unsigned();
    return message;
}

Receive EventReader::take_receive(bool posted_only) {
    Receive receive;
    receive.posted_peer = take_int();
    receive.posted_tag = take_int();
    if (posted_only) {
        receive.message = {receive.posted_peer, receive.posted_tag, take_unsigned()};
    } else {
        receive.message = take_message();
    }
    return receive;
}

void EventReader::take_completions(Event &event, bool with_status) {
    completions_.clear();
    const std::uint64_t count = take_length(with_status ? 2 : 1);
    for (std::uint64_t i = 0; i < count && !damaged_; ++i) {
        Completion completion{take_request(), false, {}};
        if (with_status && take_unsigned() != 0) {
            completion.is_receive = true;
            completion.received = take_message();
        }
        completions_.push_back(completion);
    }
    event.completions = completions_;
}

void EventReader::take_collective(Event &event) {
    event.comm = static_cast<std::uint32_t>(take_unsigned());
    event.collective.root = take_int();
    event.collective.flags = static_cast<std::uint32_t>(take_unsigned());
    event.collective.datatype_bytes = static_cast<std::uint32_t>(take_unsigned());
    event.collective.bytes = take_unsigned();
    event.collective.bytes2 = take_unsigned();
    sizes_.clear();
    destinations_.clear();
    const bool to_neighbours = calls()[event.kind].collective >= Collective::neighbor_allgather;
    const std::uint64_t count = take_length(to_neighbours ? 2 : 1);
    for (std::uint64_t i = 0; i < count && !damaged_; ++i) {
        if (to_neighbours) {
            destinations_.push_back(take_int());
        }
        sizes_.push_back(take_unsigned());
    }
    event.collective.sizes = sizes_;
    event.collective.destinations = destinations_;
}

void EventReader::take_payload(Event &event) {
    switch (event.call_class) {
    case CallClass::send:
    case CallClass::isend:
    case CallClass::send_init:
        event.comm = static_cast<std::uint32_t>(take_unsigned());
        event.send = take_message();
        break;
    case CallClass::recv:
    case CallClass::probe:
    case CallClass::irecv:
    case CallClass::recv_init:
        event.comm = static_cast<std::uint32_t>(take_unsigned());
        event.recv =
            take_receive(event.call_class == CallClass::irecv || event.call_class == CallClass::recv_init);
        break;
    case CallClass::sendrecv:
    case CallClass::isendrecv:
        event.comm = static_cast<std::uint32_t>(take_unsigned());
        event.send = take_message();
        // The receive's communicator is the send's.
        take_unsigned();
        event.recv = take_receive(event.call_class == CallClass::isendrecv);
        break;
    case CallClass::start:
        take_completions(event, false);
        break;
    case CallClass::complete:
        take_completions(event, true);
        break;
    case CallClass::collective:
    case CallClass::icollective:
    case CallClass::collective_init:
        take_collective(event);
        break;
    case CallClass::comm:
        event.comm = static_cast<std::uint32_t>(take_unsigned()) - 1;
        event.reorder = take_unsigned() != 0;
        break;
    case CallClass::cancel:
    case CallClass::request_free:
        // Back 0 is a request that has no number.
        event.request = take_request();
        if (event.request == requests_) {
            event.request = no_request;
        }
        break;
    case CallClass::poll:
    case CallClass::lost:
        event.count = take_unsigned();
        break;
    case CallClass::sched:
        event.runqueue_wait_ns = take_unsigned();
        event.cpu_ns = take_unsigned();
        break;
    default:
        break;
    }
}

void EventReader::take_call(Event &event, std::uint64_t kind) {
    if (kind >= calls().size() && kind != RW_EVENT_POLL && kind != RW_EVENT_SCHED && kind != RW_EVENT_LOST) {
        damaged_ = true;
    }
    if (!damaged_) {
        event.kind = static_cast<std::uint16_t>(kind);
        event.call_class = class_of(kind);
        take_payload(event);
    }
}

// Kind and payload.
void EventReader::take_shape(Event &event) {
    take_call(event, take_unsigned());
}

// A shape that is not in the stream is an event of its own, to its last byte.
void EventReader::take_other_shape(Event &event, std::span<const std::byte> shape) {
    const auto stream = source_;
    const std::size_t position = position_;
    source_ = shape;
    position_ = 0;
    take_shape(event);
    damaged_ = damaged_ || position_ != source_.size();
    source_ = stream;
    position_ = position;
}

void EventReader::take_known_shape(Event &event, std::uint32_t number) {
    take_other_shape(event, model_.shape(number));
}

namespace {

std::uint64_t packed_number(std::span<const std::byte> shape, std::size_t &at) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    while (at < shape.size()) {
        const auto byte = static_cast<std::uint64_t>(shape[at++]);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
        if ((byte & 0x80) == 0) {
            break;
        }
    }
    return value;
}

void pack_number(std::vector<std::byte> &shape, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        shape.push_back(static_cast<std::byte>(value | 0x80));
    }
    shape.push_back(static_cast<std::byte>(value));
}

} // namespace

/// @return the number of the shape it is like
std::uint32_t EventReader::take_changed_shape(Event &event, bool differences) {
    const std::uint64_t given = take_unsigned();
    std::uint64_t mask = take_unsigned();
    const std::uint32_t base = given == 0 ? model_.expected().number : model_.last_of_kind(given - 1);
    if (damaged_ || base == TraceModel::none) {
        damaged_ = true;
        return TraceModel::none;
    }
    const auto from = model_.shape(base);
    changed_.clear();
    std::size_t at = 0;
    pack_number(changed_, packed_number(from, at));
    for (; at < from.size(); mask >>= 1) {
        std::uint64_t number = packed_number(from, at);
        if ((mask & 1) != 0) {
            number = differences ? number + static_cast<std::uint64_t>(take_signed()) : take_unsigned();
        }
        pack_number(changed_, number);
    }
    damaged_ = damaged_ || mask != 0;
    if (!damaged_) {
        take_other_shape(event, changed_);
    }
    return base;
}

// Said of a gap, and then nothing of an event; a damaged number is no time.
void EventReader::take_gap_cpu() {
    while (!damaged_ && repeats_ == 0 && more() &&
           static_cast<unsigned>(source_[position_]) == RW_TOKEN_GAP_CPU) {
        ++position_;
        const std::uint64_t units = take_unsigned();
        damaged_ = damaged_ || units > most_gap_cpu_units;
        gap_cpu_ns_ = static_cast<std::int64_t>(units << RW_SCHED_UNIT_SHIFT);
    }
}

std::uint32_t EventReader::take_code(unsigned nibble, std::uint8_t expected) {
    if (nibble != RW_NIBBLE_BYTE) {
        return expected + nibble - RW_CODE_REACH;
    }
    if (position_ >= source_.size()) {
        damaged_ = true;
        return 0;
    }
    return static_cast<std::uint32_t>(source_[position_++]);
}

TimeCodes EventReader::take_times(Event &event, TimeCodes expected) {
    if (exact_) {
        event.gap_ticks = take_unsigned();
        event.duration_ticks = take_unsigned();
        return {};
    }
    if (position_ >= source_.size()) {
        damaged_ = true;
        return {};
    }
    const auto nibbles = static_cast<unsigned>(source_[position_++]);
    const std::uint32_t gap = take_code(nibbles >> 4, expected.gap);
    const std::uint32_t duration = take_code(nibbles & 15, expected.duration);
    if (gap > RW_CODE_MOST || duration > RW_CODE_MOST) { // a code below zero is a large one here
        damaged_ = true;
        return {};
    }
    event.gap_ticks = time_of_code(gap, unit_shift_);
    event.duration_ticks = time_of_code(duration, unit_shift_);
    return {static_cast<std::uint8_t>(gap), static_cast<std::uint8_t>(duration)};
}

void EventReader::take_coded(Event &event) {
    auto token = repeats_ > 0 ? 0u : static_cast<unsigned>(source_[position_++]);
    if (token == RW_TOKEN_FORGET) {
        model_.forget();
        if (position_ >= source_.size()) {
            damaged_ = true;
            return;
        }
        token = static_cast<unsigned>(source_[position_++]);
    }
    if (token >= 1 && token <= RW_TOKEN_MOST_REPEATS) {
        repeats_ = token;
        token = 0;
    }
    if (token == RW_TOKEN_SCHED) {
        event.kind = RW_EVENT_SCHED;
        event.call_class = CallClass::sched;
        event.runqueue_wait_ns = take_unsigned() << RW_SCHED_COARSE_SHIFT;
        event.cpu_ns = take_unsigned() << RW_SCHED_COARSE_SHIFT;
        return;
    }
    const bool changed = token == RW_TOKEN_CHANGED_BY || token == RW_TOKEN_CHANGED_TO;
    std::uint32_t number = TraceModel::none;
    TimeCodes codes;
    if (token == 0 && repeats_ > 0) {
        --repeats_;
        const auto expected = model_.expected();
        number = expected.number;
        codes = expected.codes;
    } else if (token == RW_TOKEN_KNOWN) {
        const std::uint64_t given = take_unsigned();
        number = given < model_.size() ? static_cast<std::uint32_t>(given) : TraceModel::none;
        codes = number != TraceModel::none ? model_.codes(number) : TimeCodes{};
    } else if (token == RW_TOKEN_NEW || token == RW_TOKEN_SINGLE) {
        const std::size_t start = position_;
        take_shape(event);
        if (token == RW_TOKEN_SINGLE) {
            event.gap_ticks = take_unsigned();
            event.duration_ticks = take_unsigned();
            return;
        }
        codes = model_.last();
        if (!damaged_ && model_.add(source_.subspan(start, position_ - start))) {
            number = model_.size() - 1;
        }
    } else if (changed) {
        const std::uint32_t base = take_changed_shape(event, token == RW_TOKEN_CHANGED_BY);
        if (!damaged_ && model_.add(changed_)) {
            codes = model_.codes(base);
            number = model_.size() - 1;
        }
    }
    if (damaged_ || number == TraceModel::none) {
        damaged_ = true;
        return;
    }
    if (token != RW_TOKEN_NEW && !changed) {
        take_known_shape(event, number);
    }
    codes = take_times(event, codes);
    model_.came(number, event.kind, codes);
}

EventReader::EventReader(const PackedTrace &trace)
    : runs_(trace.runs), exact_(trace.coding == RW_TRACE_EXACT), unit_shift_(trace.unit_shift) {
    if (!runs_.empty() && !exact_ && trace.coding != RW_TRACE_QUANTISED) {
        damaged_ = true;
        problem_ = "the trace has coding " + std::to_string(trace.coding) + ", which should be " +
                   std::to_string(RW_TRACE_EXACT) + " or " + std::to_string(RW_TRACE_QUANTISED);
    } else if (!runs_.empty() && unit_shift_ > 32) {
        damaged_ = true;
        problem_ = "the trace has a unit of more than a second";
    }
    if (!runs_.empty()) {
        source_ = runs_.front();
    }
}

// Go to the next run that has something; what was expected of the one before does not come any more.
bool EventReader::more() {
    while (run_ < runs_.size() && position_ >= source_.size()) {
        source_ = ++run_ < runs_.size() ? runs_[run_] : std::span<const std::byte>{};
        position_ = 0;
        repeats_ = 0;
    }
    return run_ < runs_.size();
}

bool EventReader::next(Event &event) {
    if (damaged_ || !more()) {
        return false;
    }
    event = Event{};
    std::size_t start = position_;
    take_gap_cpu();
    if (!damaged_) {
        if (!more()) {
            return false;
        }
        start = position_;
        take_coded(event);
    }
    if (damaged_) {
        problem_ = "the trace is damaged or cut short after event " + std::to_string(events_) + " (byte " +
                   std::to_string(start) + " of part " + std::to_string(run_) + ")";
        return false;
    }
    switch (event.call_class) {
    case CallClass::isend:
    case CallClass::irecv:
    case CallClass::isendrecv:
    case CallClass::send_init:
    case CallClass::recv_init:
    case CallClass::icollective:
    case CallClass::collective_init:
        event.request = requests_++;
        break;
    default:
        break;
    }
    if (event.kind < RW_EVENT_FIRST) {
        event.gap_cpu_ns = std::exchange(gap_cpu_ns_, -1);
    }
    ++events_;
    return true;
}

} // namespace rankwise::trace
