// SPDX-License-Identifier: BSD-3-Clause
#include "trace/chunks.hpp"

#include <algorithm>
#include <bit>

#include "error.hpp"
#include "trace/calls.hpp"

namespace rankwise::trace {

static_assert(std::endian::native == std::endian::little, "recordings are little endian and read in place");
static_assert(sizeof(rw_chunk_header) == 32 && sizeof(rw_peer_entry) == 24 &&
              sizeof(rw_collective_entry) == 48);
static_assert(sizeof(rw_call_total) == 40 && sizeof(rw_rank_run) == 12 && sizeof(rw_comm) == 40);
static_assert(sizeof(rw_rank) == 2592 && sizeof(rw_site_entry) == 32 && sizeof(rw_call_histogram) == 392 &&
              sizeof(rw_file_header) == 48);

std::uint32_t check_file_header(const std::string &path, std::span<const std::byte> bytes) {
    if (std::all_of(bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(
                                        std::min<std::size_t>(bytes.size(), RW_FILE_HEADER_BYTES)),
                    [](std::byte byte) { return byte == std::byte{0}; })) {
        return 0;
    }
    const std::string where = "`" + path + "`";
    if (bytes.size() < sizeof(rw_file_header)) {
        throw Error(where + " stops at byte " + std::to_string(bytes.size()) + " of its " +
                        std::to_string(sizeof(rw_file_header)) + "-byte header",
                    "remove it, and read what the other nodes wrote: `rm " + path + "`");
    }
    const auto header = read_at<rw_file_header>(bytes, 0);
    if (header.magic != RW_FILE_MAGIC) {
        throw Error(where + " is not a raw recording: byte 0 should hold `NWN1`",
                    "name the directory that `rankwise record` wrote");
    }
    if (header.version + 1 < RW_FORMAT_VERSION || header.version > RW_FORMAT_VERSION) {
        throw Error(where + " has format version " + std::to_string(header.version) +
                        " at byte 4; this Rankwise reads versions " + std::to_string(RW_FORMAT_VERSION - 1) +
                        " and " + std::to_string(RW_FORMAT_VERSION),
                    header.version > RW_FORMAT_VERSION
                        ? "update Rankwise: `python -m pip install --upgrade rankwise`"
                        : "record again");
    }
    if (header.chunk_bytes != RW_CHUNK_BYTES) {
        throw Error(where + " has chunks of " + std::to_string(header.chunk_bytes) +
                        " bytes at byte 8; expected " + std::to_string(RW_CHUNK_BYTES),
                    "the file is damaged; record again");
    }
    if (header.calls != calls().size() || header.calls_crc != call_table_crc()) {
        throw Error(
            where + " was written with another list of MPI functions (bytes 12 to 24) than this Rankwise has",
            "read it with the Rankwise that recorded it, or record again");
    }
    return header.version;
}

std::vector<ChunkRun> find_runs(std::span<const std::byte> bytes, std::vector<std::string> &problems) {
    std::vector<ChunkRun> runs;
    if (bytes.size() <= RW_FILE_HEADER_BYTES) {
        return runs;
    }
    const auto body = bytes.subspan(RW_FILE_HEADER_BYTES);
    std::uint64_t chunk = 0;
    while (chunk * RW_CHUNK_BYTES + sizeof(rw_chunk_header) <= body.size()) {
        const std::size_t offset = chunk * RW_CHUNK_BYTES;
        const auto header = read_at<rw_chunk_header>(body, offset);
        if (header.magic != RW_CHUNK_MAGIC) {
            ++chunk;
            continue;
        }
        const auto at = "the run at byte " + std::to_string(RW_FILE_HEADER_BYTES + offset);
        if (header.chunks == 0 || header.kind < RW_CHUNK_RANK || header.kind >= RW_CHUNK_KINDS) {
            problems.push_back(at + " has kind " + std::to_string(header.kind) + " and length " +
                               std::to_string(header.chunks) + ", and was left out");
            ++chunk;
            continue;
        }
        const std::uint64_t length = std::uint64_t{header.chunks} * RW_CHUNK_BYTES;
        const std::uint64_t there = std::min<std::uint64_t>(length, body.size() - offset);
        if (there < length) {
            problems.push_back("the file ends at byte " + std::to_string(bytes.size()) + ", inside " + at);
        }
        // A second header inside a run means that one of both is damaged; the run that started first is
        // believed up to there.
        std::uint64_t whole = there;
        for (std::uint64_t inner = RW_CHUNK_BYTES; inner + sizeof(rw_chunk_header) <= there;
             inner += RW_CHUNK_BYTES) {
            const auto other = read_at<rw_chunk_header>(body, offset + inner);
            if (other.magic == RW_CHUNK_MAGIC && other.chunks > 0 && other.kind >= RW_CHUNK_RANK &&
                other.kind < RW_CHUNK_KINDS && other.rank_chunk <= chunk + inner / RW_CHUNK_BYTES) {
                problems.push_back(at + " overlaps the one behind it, and was cut there");
                whole = inner;
                break;
            }
        }
        runs.push_back({header, chunk, body.subspan(offset + sizeof header, whole - sizeof header)});
        chunk += (whole + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES;
    }
    return runs;
}

} // namespace rankwise::trace
