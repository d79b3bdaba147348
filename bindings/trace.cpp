// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "crc32c.h"
#include "rooms.hpp"
#include "trace/calls.hpp"
#include "trace/event_columns.hpp"
#include "trace/node_file.hpp"
#include "trace/pack_events.hpp"
#include "trace/size_bins.hpp"
#include "trace/symbol_name.hpp"

namespace nb = nanobind;
namespace trace = rankwise::trace;
using namespace nb::literals;

namespace {

/// Columns by name, and `problem`, a text.
using Events = nb::typed<nb::dict, nb::str, nb::any>;

// Structs of formats/recording.h cross as their bytes; rankwise.recording.layouts has their numpy types.
template <class T> nb::bytes to_bytes(const std::vector<T> &values) {
    return nb::bytes(values.data(), values.size() * sizeof(T));
}

template <class T> nb::bytes to_bytes(const T &value) {
    return nb::bytes(&value, sizeof value);
}

nb::bytes to_bytes(std::span<const std::byte> bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

nb::str decoded(const std::string &bytes) {
    return nb::steal<nb::str>(
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::list communicators(const trace::ThreadRecord &thread) {
    nb::list list;
    for (const auto &comm : thread.communicators) {
        list.append(
            nb::make_tuple(to_bytes(comm.definition), to_bytes(comm.runs), to_bytes(comm.remote_runs)));
    }
    return list;
}

Events to_dict(trace::EventColumns &&columns) {
    nb::dict dict;
#define COLUMN(name) dict[#name] = to_numpy(std::move(columns.name))
    COLUMN(kind);
    COLUMN(gap_ticks);
    COLUMN(gap_cpu_ns);
    COLUMN(duration_ticks);
    COLUMN(comm);
    COLUMN(send_peer);
    COLUMN(send_tag);
    COLUMN(send_bytes);
    COLUMN(posted_peer);
    COLUMN(posted_tag);
    COLUMN(recv_peer);
    COLUMN(recv_tag);
    COLUMN(recv_bytes);
    COLUMN(request);
    COLUMN(root);
    COLUMN(flags);
    COLUMN(datatype_bytes);
    COLUMN(bytes);
    COLUMN(bytes2);
    COLUMN(count);
    COLUMN(runqueue_wait_ns);
    COLUMN(cpu_ns);
    COLUMN(completion_offsets);
    COLUMN(size_offsets);
    COLUMN(completion_request);
    COLUMN(completion_is_receive);
    COLUMN(completion_peer);
    COLUMN(completion_tag);
    COLUMN(completion_bytes);
    COLUMN(sizes);
    COLUMN(size_destination);
#undef COLUMN
    dict["problem"] = columns.problem;
    return Events(dict);
}

Events decode_bytes(const nb::bytes &stream, std::uint32_t coding, std::uint32_t unit_shift) {
    const std::span<const std::byte> run{static_cast<const std::byte *>(stream.data()), stream.size()};
    return to_dict(trace::decode({{run}, coding, unit_shift}));
}

nb::bytes pack(const std::vector<nb::bytes> &shapes, Array<std::uint32_t> shape_of, Array<std::uint64_t> gaps,
               Array<std::uint64_t> durations) {
    std::vector<std::span<const std::byte>> views;
    views.reserve(shapes.size());
    for (const nb::bytes &shape : shapes) {
        views.emplace_back(static_cast<const std::byte *>(shape.data()), shape.size());
    }
    const auto stream = trace::pack_events(views, {shape_of.data(), shape_of.size()},
                                           {gaps.data(), gaps.size()}, {durations.data(), durations.size()});
    return nb::bytes(stream.data(), stream.size());
}

} // namespace

void bind_trace(nb::module_ &module) {
    auto room = module.def_submodule("trace");
    room.def("size_bin", &trace::size_bin, "bytes"_a);
    room.def("size_bin_upper", &trace::size_bin_upper, "bin"_a);
    room.def(
        "calls",
        [] {
            nb::list list;
            for (const auto &call : trace::calls()) {
                list.append(nb::make_tuple(call.name, trace::class_name(call.call_class),
                                           trace::collective_name(call.collective)));
            }
            return list;
        },
        "Name, class and collective operation of every MPI function, in order of their numbers.");
    room.def("call_table_crc", &trace::call_table_crc);
    room.def(
        "readable_name", [](const std::string &symbol) { return decoded(trace::readable_name(symbol)); },
        "symbol"_a, "A function as its source has it; what is no C++ symbol stays as it is.");
    room.def(
        "crc32c", [](const nb::bytes &content) { return rw_crc32c(0, content.data(), content.size()); },
        "content"_a);
    room.def("decode", &decode_bytes, "stream"_a, "coding"_a = static_cast<int>(RW_TRACE_EXACT),
             "unit_shift"_a = 0,
             "Decode packed events into numpy columns; coding as in rw_rank (rw_trace_coding).");
    room.def("pack", &pack, "shapes"_a, "shape_of"_a, "gaps"_a, "durations"_a,
             "The other way round, as RW_TRACE_EXACT: distinct shapes (kind and payload, packed), and of "
             "each event "
             "its shape and its ticks.");
    nb::class_<trace::ThreadRecord>(room, "ThreadRecord")
        .def_prop_ro("rank", [](const trace::ThreadRecord &thread) { return to_bytes(thread.rank); })
        .def_prop_ro("progress", [](const trace::ThreadRecord &thread) { return to_bytes(thread.progress); })
        .def_ro("seconds_per_tick", &trace::ThreadRecord::seconds_per_tick)
        .def_prop_ro("calls", [](const trace::ThreadRecord &thread) { return to_bytes(thread.calls); })
        .def_prop_ro("peers", [](const trace::ThreadRecord &thread) { return to_bytes(thread.peers); })
        .def_prop_ro("collectives",
                     [](const trace::ThreadRecord &thread) { return to_bytes(thread.collectives); })
        .def_prop_ro("histograms",
                     [](const trace::ThreadRecord &thread) { return to_bytes(thread.histograms); })
        .def_prop_ro("sites", [](const trace::ThreadRecord &thread) { return to_bytes(thread.sites); })
        .def_prop_ro("modules",
                     [](const trace::ThreadRecord &thread) {
                         nb::list list;
                         for (const auto &path : thread.modules) {
                             list.append(decoded(path));
                         }
                         return list;
                     })
        .def_prop_ro("network", [](const trace::ThreadRecord &thread) { return to_bytes(thread.network); })
        .def_prop_ro("transports",
                     [](const trace::ThreadRecord &thread) { return to_bytes(thread.transports); })
        .def_prop_ro("communicators", &communicators)
        .def_prop_ro(
            "samples", [](const trace::ThreadRecord &thread) { return to_bytes(thread.samples.rows); },
            "An rw_samples with its rows.")
        .def_prop_ro(
            "notes", [](const trace::ThreadRecord &thread) { return to_bytes(thread.samples.notes); },
            "A log of rw_note.")
        .def_prop_ro("trace_bytes",
                     [](const trace::ThreadRecord &thread) {
                         std::size_t total = 0;
                         for (const auto &run : thread.trace.runs) {
                             total += run.size();
                         }
                         return total;
                     })
        .def_prop_ro("problems", [](const trace::ThreadRecord &thread) { return thread.problems; })
        .def_prop_ro("uncovered", [](const trace::ThreadRecord &thread) { return thread.uncovered; })
        .def("events",
             [](const trace::ThreadRecord &thread) { return to_dict(trace::decode(thread.trace)); });
    nb::class_<trace::NodeFile>(room, "NodeFile")
        .def(nb::init<const std::string &>(), "path"_a)
        .def_prop_ro("threads",
                     [](nb::handle self) {
                         // Each record keeps its file mapped: its trace is a view into it.
                         nb::list list;
                         for (const auto &thread : nb::cast<const trace::NodeFile &>(self).threads()) {
                             list.append(nb::cast(thread, nb::rv_policy::reference_internal, self));
                         }
                         return list;
                     })
        .def_prop_ro(
            "run",
            [](const trace::NodeFile &file) {
                const auto [first, last] = file.recorded_run();
                const auto digits = nb::str("{:016x}{:016x}");
                return digits.attr("format")(first, last);
            },
            "RANKWISE_RUN as the ranks had it, 32 hexadecimal digits; all 0 if they had none.")
        .def_prop_ro(
            "samples", [](const trace::NodeFile &file) { return to_bytes(file.node_samples().rows); },
            "Of the node: an rw_samples with its rows.")
        .def_prop_ro(
            "notes_of_samples",
            [](const trace::NodeFile &file) { return to_bytes(file.node_samples().notes); },
            "Of the node: a log of rw_note.")
        .def_prop_ro("problems", [](const trace::NodeFile &file) { return file.problems(); })
        .def_prop_ro("notes", [](const trace::NodeFile &file) { return file.notes(); })
        .def_prop_ro("version", &trace::NodeFile::version)
        .def_prop_ro(
            "runs",
            [](const trace::NodeFile &file) {
                static constexpr const char *covers[] = {"whole", "uncovered", "damaged"};
                nb::list list;
                for (const auto &run : file.chunk_runs()) {
                    list.append(nb::make_tuple(trace::kind_name(run.header.kind),
                                               RW_FILE_HEADER_BYTES + run.first_chunk * RW_CHUNK_BYTES,
                                               covers[static_cast<int>(run.cover)]));
                }
                return list;
            },
            "What each run of chunks holds, its byte, and what its checksum says of it: whole, uncovered "
            "(written "
            "to since, or without one), damaged.");
}
