// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recording.h"
#include "trace/chunks.hpp"
#include "trace/mapped_file.hpp"
#include "trace/packed_trace.hpp"

namespace rankwise::trace {

/// @brief A communicator as one of its members wrote it down.
struct CommunicatorDefinition {
    rw_comm definition;
    std::vector<rw_rank_run> runs;        // empty where another member wrote the list
    std::vector<rw_rank_run> remote_runs; // intercommunicators only
};

/// @brief Samples over time as they are in the file: an rw_samples with its rows, and a log of rw_note.
struct Samples {
    std::span<const std::byte> rows;
    std::span<const std::byte> notes;
};

/// @brief What one thread of one MPI process left behind: its rw_rank record and all tables and logs of that
/// record.
struct ThreadRecord {
    rw_rank rank;
    std::vector<rw_call_total> calls;             // by call number
    rw_progress progress;                         // the call it was in, if any
    std::vector<rw_peer_entry> peers;             // used slots only
    std::vector<rw_collective_entry> collectives; // used slots only
    std::vector<CommunicatorDefinition> communicators;
    std::vector<rw_call_histogram> histograms; // of the calls that were made, if they were timed
    std::vector<rw_site_entry> sites;          // used slots only
    std::vector<std::string> modules;          // paths of the files that `sites` are in
    std::vector<rw_network_peer> network; // of its process; the first thread has it; the first is of no peer
    std::vector<rw_transport_entry> transports; // likewise; the first RW_TRANSPORTS are of no peer
    PackedTrace trace;                          // packed events, in order
    Samples samples;                            // of its process; the first thread has them
    std::vector<std::string> problems;          // what could not be read of this record, one sentence each
    bool uncovered;                             // some of it was written after its last checksum

    /// @brief Seconds per tick, from this record's two clock relations; 0 if they are too close together to
    /// tell.
    ///
    /// `NodeFile` replaces 0 by the rate of another rank of the node: one node has one tick rate.
    double seconds_per_tick;

    /// @return a field of fixed length up to its first zero
    template <std::size_t length> static std::string text(const char (&field)[length]) {
        std::size_t used = 0;
        while (used < length && field[used] != '\0') {
            ++used;
        }
        return {field, used};
    }
};

/// @brief The reader of one node's raw recording file (formats/recording.h).
///
/// Takes whatever is there: runs that were never used, tables that were outgrown, a file that was cut short.
/// Only a file that is none of ours, or of another version, is an error; everything else that is wrong is a
/// sentence in `problems`.
class NodeFile {
  public:
    /// @param[in] path raw/HOST.NODE.RUN.rwn
    /// @throws Error naming file, byte, and what was expected there
    explicit NodeFile(const std::string &path);

    /// @return the records in order of their place in the file
    const std::vector<ThreadRecord> &threads() const noexcept { return threads_; }

    /// @return what is wrong with the file as a whole, and with runs that do not match their checksums
    const std::vector<std::string> &problems() const noexcept { return problems_; }

    /// @return what is unusual, but comes of ranks that were killed or had no space
    const std::vector<std::string> &notes() const noexcept { return notes_; }

    /// @return what one rank at a time sampled of the node
    const Samples &node_samples() const noexcept { return node_samples_; }

    /// @return version of the file's format; 0 if it is empty
    std::uint32_t version() const noexcept { return version_; }

    /// @return all runs of the file
    const std::vector<ChunkRun> &chunk_runs() const noexcept { return chunk_runs_; }

    /// @return what the ranks were given as RANKWISE_RUN, its first and last 16 digits; 0, 0 if nothing
    std::pair<std::uint64_t, std::uint64_t> recorded_run() const noexcept { return recorded_run_; }

  private:
    MappedFile file_;
    std::pair<std::uint64_t, std::uint64_t> recorded_run_{};
    std::uint32_t version_ = 0;
    std::vector<ChunkRun> chunk_runs_;
    std::vector<ThreadRecord> threads_;
    Samples node_samples_;
    std::vector<std::string> problems_;
    std::vector<std::string> notes_;

    void check_chunks(const std::vector<std::uint64_t> &holes);
    void check_runs();
};

} // namespace rankwise::trace
