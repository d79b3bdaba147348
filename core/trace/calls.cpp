// SPDX-License-Identifier: BSD-3-Clause
#include "trace/calls.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "recording.h"

namespace rankwise::trace {
namespace {

// In the order of CallClass.
constexpr std::array<std::string_view, 29> class_names = {
    "other",     "send",         "isend",       "recv",        "irecv",
    "sendrecv",  "isendrecv",    "send_init",   "recv_init",   "start",
    "complete",  "probe",        "collective",  "icollective", "collective_init",
    "cancel",    "request_free", "partitioned", "comm",        "comm_free",
    "type_free", "init",         "finalize",    "abort",       "rma",
    "io",        "poll",         "sched",       "lost"};

// In the order of Collective.
constexpr std::array<std::string_view, 23> collective_names = {"none",
                                                               "barrier",
                                                               "bcast",
                                                               "gather",
                                                               "gatherv",
                                                               "scatter",
                                                               "scatterv",
                                                               "allgather",
                                                               "allgatherv",
                                                               "alltoall",
                                                               "alltoallv",
                                                               "alltoallw",
                                                               "reduce",
                                                               "allreduce",
                                                               "reduce_scatter",
                                                               "reduce_scatter_block",
                                                               "scan",
                                                               "exscan",
                                                               "neighbor_allgather",
                                                               "neighbor_allgatherv",
                                                               "neighbor_alltoall",
                                                               "neighbor_alltoallv",
                                                               "neighbor_alltoallw"};

CallClass parse_class(std::string_view name) {
    const auto found = std::find(class_names.begin(), class_names.end(), name);
    return found == class_names.end() ? CallClass::other
                                      : static_cast<CallClass>(found - class_names.begin());
}

// MPI_Iallreduce_c, MPI_Allreduce_init -> allreduce
Collective parse_collective(std::string_view name, CallClass call_class) {
    std::string operation(name.substr(std::string_view("MPI_").size()));
    if (operation.ends_with("_c")) {
        operation.resize(operation.size() - 2);
    }
    if (call_class == CallClass::collective_init) {
        operation.resize(operation.size() - std::string_view("_init").size());
    }
    if (call_class == CallClass::icollective) {
        operation.erase(0, 1);
    }
    std::transform(operation.begin(), operation.end(), operation.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto found = std::find(collective_names.begin(), collective_names.end(), operation);
    return found == collective_names.end() ? Collective::none
                                           : static_cast<Collective>(found - collective_names.begin());
}

std::vector<CallInfo> parse_table() {
    std::vector<CallInfo> table;
    std::string_view rest = call_table_text;
    while (!rest.empty()) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const auto name_end = line.find('\t');
        const auto class_end = line.find('\t', name_end + 1);
        const auto name = line.substr(0, name_end);
        const auto call_class = parse_class(line.substr(name_end + 1, class_end - name_end - 1));
        const bool collective = call_class == CallClass::collective || call_class == CallClass::icollective ||
                                call_class == CallClass::collective_init;
        table.push_back(
            {name, call_class, collective ? parse_collective(name, call_class) : Collective::none});
    }
    return table;
}

} // namespace

std::span<const CallInfo> calls() {
    static const std::vector<CallInfo> table = parse_table();
    return table;
}

CallClass class_of(std::uint64_t kind) {
    switch (kind) {
    case RW_EVENT_POLL:
        return CallClass::poll;
    case RW_EVENT_SCHED:
        return CallClass::sched;
    case RW_EVENT_LOST:
        return CallClass::lost;
    default:
        return kind < calls().size() ? calls()[kind].call_class : CallClass::other;
    }
}

std::string_view class_name(CallClass call_class) {
    return class_names[static_cast<std::size_t>(call_class)];
}

std::string_view collective_name(Collective collective) {
    return collective_names[static_cast<std::size_t>(collective)];
}

std::uint32_t call_table_crc() {
    std::uint32_t crc = 0xffffffffu;
    for (const char character : call_table_text) {
        crc ^= static_cast<unsigned char>(character);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
        }
    }
    return ~crc;
}

} // namespace rankwise::trace
