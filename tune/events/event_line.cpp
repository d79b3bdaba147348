// SPDX-License-Identifier: BSD-3-Clause
#include "events/event_line.hpp"

#include <cmath>

#include "events/json.hpp"
#include "proc/pu_list.hpp"

namespace rankwise::tune {
namespace {

std::string number(const std::optional<double> &value) {
    return value ? json_number(*value) : "null";
}

template <class List, class Show> std::string list(const List &items, Show show) {
    std::string line = "[";
    for (const auto &item : items) {
        line += (line.size() > 1 ? ", " : "") + show(item);
    }
    return line + "]";
}

std::string process(const TaskId &id) {
    return "{\"pid\": " + std::to_string(id.number) + ", \"start\": " + std::to_string(id.start);
}

std::string change_of(const Change &change) {
    return "{\"moves\": " +
           list(change.moves,
                [](const RankMove &move) {
                    return process(move.process) + ", \"from\": " + json_quoted(format_pu_list(move.from)) +
                           ", \"to\": " + json_quoted(format_pu_list(move.to)) + "}";
                }) +
           ", \"pages\": " +
           list(change.pages,
                [](const Change::Pages &pages) {
                    return process(pages.process) + ", \"to_numa\": " + std::to_string(pages.to_numa) + "}";
                }) +
           ", \"interrupts\": " +
           list(change.interrupts,
                [](const Change::Interrupt &interrupt) {
                    return "{\"number\": " + std::to_string(interrupt.number) +
                           ", \"to\": " + json_quoted(format_pu_list(interrupt.to)) + "}";
                }) +
           "}";
}

} // namespace

std::string event_line(const Event &event, Seconds clock_offset_s) {
    return "{\"schema\": \"rankwise.tune.event/1\", \"monotonic_s\": " + json_number(event.at) +
           ", \"unix_s\": " + json_number(event.at + clock_offset_s) +
           ", \"what\": " + json_quoted(event_names[event.what]) +
           ", \"group\": " + (event.group.empty() ? "null" : json_quoted(event.group)) +
           ", \"why\": " + (event.why.empty() ? "null" : json_quoted(event.why)) +
           ", \"ranks\": " + list(event.ranks, [](std::int32_t rank) { return std::to_string(rank); }) +
           ", \"change\": " + (event.change.empty() ? "null" : change_of(event.change)) +
           ", \"estimated_gain\": " + number(event.estimated_gain) +
           ", \"measured_gain\": " + number(event.measured_gain) +
           ", \"gain_low\": " + number(event.gain_low) + ", \"gain_high\": " + number(event.gain_high) +
           ", \"rate_per_s\": " + number(event.rate) +
           ", \"rate_of\": " + (event.rate_of.empty() ? "null" : json_quoted(event.rate_of)) + "}";
}

std::string event_text(const Event &event) {
    const auto percent = [](double part) { return json_number(std::round(1000 * part) / 10) + " %"; };
    std::string text(event_names[event.what]);
    if (!event.group.empty()) {
        text += " in " + json_quoted(event.group);
    }
    text += event.why.empty() ? "" : ": " + event.why;
    for (const auto &move : event.change.moves) {
        text += ", process " + std::to_string(move.process.number) + " from PU " + format_pu_list(move.from) +
                " to " + format_pu_list(move.to);
    }
    if (event.estimated_gain) {
        text += ", estimated " + percent(*event.estimated_gain);
    }
    if (event.measured_gain && event.gain_low && event.gain_high) {
        text += ", measured " + percent(*event.measured_gain) + " (" + percent(*event.gain_low) + " to " +
                percent(*event.gain_high) + ")";
    }
    for (char &letter : text) {
        letter = letter >= 0x20 && letter < 0x7f ? letter : '?'; // one line, whatever the group is called
    }
    return text;
}

} // namespace rankwise::tune
