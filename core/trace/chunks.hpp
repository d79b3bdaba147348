// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recording.h"

namespace rankwise::trace {

/// @brief What the checksum of a run says of it.
enum class Cover {
    whole,     // all that is used is as it was written
    uncovered, // a part or all of it was written after the last checksum
    damaged,
};

/// @brief A run of chunks: its header, and what is behind it in the file.
struct ChunkRun {
    rw_chunk_header header;
    std::uint64_t first_chunk;
    std::span<const std::byte> payload; // behind the header, to the end of the run or of the file
    Cover cover;
};

/// @brief The runs of a file, and what lies between them.
struct FileRuns {
    std::vector<ChunkRun> runs;       // in the order they lie in the file
    std::vector<std::uint64_t> holes; // numbers of chunks that were taken and are of no run
};

/// @brief Check the header of a node's file.
/// @param[in] path  name of the file, for messages
/// @param[in] bytes the file
/// @return version of its format; 0 if the file is empty or all zeros, which is a valid recording of nothing
/// @throws Error if this is no recording, or one of a version or call table this reader does not know
std::uint32_t check_file_header(const std::string &path, std::span<const std::byte> bytes);

/// @brief All runs of a file; chunks that were never used are stepped over.
/// @param[in]  bytes    the file, its header checked
/// @param[out] problems sentences about runs that cannot be right
FileRuns find_runs(std::span<const std::byte> bytes, std::vector<std::string> &problems);

/// @return what a kind of run holds, for messages; "a run of an unknown kind" for numbers that are none
const char *kind_name(std::uint32_t kind);

/// @brief Copy of a plain struct at an offset, without assuming its alignment.
/// @pre offset + sizeof(T) is within bytes
template <class T> T read_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    __builtin_memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

} // namespace rankwise::trace
