// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "rooms.hpp"
#include "trace/calls.hpp"
#include "trace/event_columns.hpp"
#include "trace/node_file.hpp"
#include "trace/size_bins.hpp"

namespace nb = nanobind;
namespace trace = rankwise::trace;
using namespace nb::literals;

namespace {

// Tables cross as their bytes; rankwise.recording.raw knows their numpy types.
template <class T> nb::bytes to_bytes(const std::vector<T> &values) {
    return nb::bytes(values.data(), values.size() * sizeof(T));
}

nb::object decoded(const std::string &bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::dict rank_fields(const trace::ThreadRecord &thread) {
    const rw_rank &rank = thread.rank;
    nb::dict fields;
    fields["world_rank"] = rank.world_rank;
    fields["world_size"] = rank.world_size;
    fields["pid"] = rank.pid;
    fields["thread"] = rank.thread;
    fields["flavour"] = rank.flavour;
    fields["flags"] = rank.flags;
    fields["thread_level"] = rank.thread_level;
    fields["cpu_at_start"] = rank.cpu_at_start;
    fields["first_ticks"] = rank.first_ticks;
    fields["first_monotonic_ns"] = rank.first_monotonic_ns;
    fields["first_realtime_ns"] = rank.first_realtime_ns;
    fields["last_ticks"] = rank.last_ticks;
    fields["last_monotonic_ns"] = rank.last_monotonic_ns;
    fields["last_realtime_ns"] = rank.last_realtime_ns;
    fields["init_ticks"] = rank.init_ticks;
    fields["finalize_ticks"] = rank.finalize_ticks;
    fields["mpi_ticks"] = rank.mpi_ticks;
    fields["runqueue_wait_ns"] = rank.runqueue_wait_ns;
    fields["cpu_ns"] = rank.cpu_ns;
    fields["schedstat_samples"] = rank.schedstat_samples;
    fields["unrecorded_messages"] = rank.unrecorded_messages;
    fields["trace_coding"] = rank.trace_coding;
    fields["trace_unit_shift"] = rank.trace_unit_shift;
    fields["call_cost_ticks_1024"] = rank.call_cost_ticks_1024;
    fields["recorder_ticks"] = rank.recorder_ticks;
    fields["affinity"] = nb::bytes(rank.affinity, sizeof rank.affinity);
    const auto text = [](const auto &field) { return decoded(trace::ThreadRecord::text(field)); };
    fields["job"] = text(rank.job);
    fields["host"] = text(rank.host);
    fields["mpi_library"] = text(rank.mpi_library);
    fields["mpi_version"] = text(rank.mpi_version);
    fields["executable"] = text(rank.executable);
    fields["note"] = text(rank.note);
    fields["sealed_ticks"] = rank.sealed_ticks;
    fields["seconds_per_tick"] = thread.seconds_per_tick;
    fields["in_call"] = static_cast<std::int64_t>(thread.progress.call) - 1;
    fields["in_call_begin_ticks"] = thread.progress.begin_ticks;
    return fields;
}

nb::list communicators(const trace::ThreadRecord &thread) {
    nb::list list;
    for (const auto &comm : thread.communicators) {
        list.append(nb::make_tuple(nb::bytes(&comm.definition, sizeof comm.definition), to_bytes(comm.runs),
                                   to_bytes(comm.remote_runs)));
    }
    return list;
}

nb::dict to_dict(trace::EventColumns &&columns) {
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
    return dict;
}

nb::dict decode_bytes(const nb::bytes &stream, std::uint32_t coding, std::uint32_t unit_shift, bool parents) {
    const std::span<const std::byte> run{static_cast<const std::byte *>(stream.data()), stream.size()};
    return to_dict(trace::decode({{run}, coding, unit_shift, parents}));
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
    room.def("decode", &decode_bytes, "stream"_a, "coding"_a = 0, "unit_shift"_a = 0, "parents"_a = false,
             "Decode packed events into numpy columns; coding as in rw_rank (rw_trace_coding), parents: "
             "calls that "
             "make communicators say what of (RW_TRACED_PARENTS).");
    nb::class_<trace::ThreadRecord>(room, "ThreadRecord")
        .def_prop_ro("rank", &rank_fields)
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
        .def_prop_ro("communicators", &communicators)
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
        .def_prop_ro("packed_trace",
                     [](const trace::ThreadRecord &thread) {
                         nb::list runs;
                         for (const auto &run : thread.trace.runs) {
                             runs.append(nb::bytes(run.data(), run.size()));
                         }
                         return runs;
                     })
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
                const auto [first, last] = file.run();
                const auto digits = nb::str("{:016x}{:016x}");
                return digits.attr("format")(first, last);
            },
            "RANKWISE_RUN as the ranks had it, 32 hexadecimal digits; all 0 if they had none.")
        .def_prop_ro("problems", [](const trace::NodeFile &file) { return file.problems(); })
        .def_prop_ro("notes", [](const trace::NodeFile &file) { return file.notes(); })
        .def_prop_ro("version", &trace::NodeFile::version)
        .def_prop_ro(
            "runs",
            [](const trace::NodeFile &file) {
                static constexpr const char *covers[] = {"whole", "uncovered", "damaged"};
                nb::list list;
                for (const auto &run : file.runs()) {
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
