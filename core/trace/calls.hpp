// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rankwise::trace {

/// @brief What an MPI function does, as far as recordings tell functions apart (formats/mpi_calls.txt, 2nd
/// column).
enum class CallClass : std::uint8_t {
    other, // passed through and counted
    send,
    isend,
    recv,
    irecv,
    sendrecv,
    isendrecv,
    send_init,
    recv_init,
    start,
    complete,
    probe,
    collective,
    icollective,
    collective_init,
    cancel,
    request_free,
    partitioned,
    comm,
    comm_free,
    type_free,
    init,
    finalize,
    abort,
    rma,
    io,
    // Not MPI functions: the events of formats/recording.h that stand between them.
    poll,
    sched,
    lost
};

/// @brief The collective operations of MPI, whichever of the three forms (blocking, nonblocking, persistent)
/// is called.
enum class Collective : std::uint8_t {
    none,
    barrier,
    bcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw
};

/// @brief One MPI function; its number is its index in `calls()`.
struct CallInfo {
    std::string_view name;
    CallClass call_class;
    Collective collective;
};

/// @return every MPI function recordings know, in order of their numbers
std::span<const CallInfo> calls();

/// @return class of an event kind: of the MPI function, or of poll, sched and lost; `other` for unknown
/// numbers
CallClass class_of(std::uint64_t kind);

/// @return name of a class as formats/mpi_calls.txt writes it
std::string_view class_name(CallClass call_class);

/// @return name of an operation in lower case, as `allreduce`
std::string_view collective_name(Collective collective);

/// @return CRC-32 (IEEE 802.3, as zlib's) of the text of formats/mpi_calls.txt
std::uint32_t call_table_crc();

/// The text of formats/mpi_calls.txt that was embedded when this was built.
extern const std::string_view call_table_text;

} // namespace rankwise::trace
