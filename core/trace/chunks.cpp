// SPDX-License-Identifier: BSD-3-Clause
#include "trace/chunks.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "crc32c.h"
#include "error.hpp"
#include "trace/calls.hpp"

namespace rankwise::trace {

static_assert(std::endian::native == std::endian::little, "recordings are little endian and read in place");
static_assert(sizeof(rw_chunk_header) == 64 && sizeof(rw_sealed) == 56 && sizeof(rw_peer_entry) == 24 &&
              sizeof(rw_collective_entry) == 48);
static_assert(sizeof(rw_call_total) == 40 && sizeof(rw_rank_run) == 12 && sizeof(rw_comm) == 40);
static_assert(sizeof(rw_rank) == 2600 && sizeof(rw_site_entry) == 40 && sizeof(rw_call_histogram) == 392 &&
              sizeof(rw_file_header) == 88 && sizeof(rw_samples) == 64 && sizeof(rw_note) == 24 &&
              sizeof(rw_network_peer) == 224 && sizeof(rw_transport_entry) == 240);

namespace {

bool is_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_as_written(rw_file_header header) {
    const std::uint32_t crc = header.crc;
    header.next_chunk = 0;
    return rw_crc32c(0, &header, offsetof(rw_file_header, crc)) == crc;
}

std::size_t entry_bytes(std::uint32_t kind) {
    switch (kind) {
    case RW_CHUNK_PEERS:
        return sizeof(rw_peer_entry);
    case RW_CHUNK_COLLECTIVES:
        return sizeof(rw_collective_entry);
    case RW_CHUNK_SITES:
        return sizeof(rw_site_entry);
    case RW_CHUNK_SITES_WITHOUT_BYTES:
        return sizeof(rw_site_entry_without_bytes);
    default:
        return 1;
    }
}

// As in "Checksums", formats/recording.h.
Cover cover_of(const ChunkRun &run, const rw_file_header &file) {
    const rw_chunk_header &header = run.header;
    const std::uint64_t checked = header.seal & RW_SEAL_BYTES;
    const bool closed = (header.seal & RW_SEAL_CLOSED) != 0;
    const std::size_t entry = entry_bytes(header.kind);
    if (checked > run.payload.size() || header.first_chunk != run.first_chunk ||
        header.run[0] != file.run[0] || header.run[1] != file.run[1] ||
        (header.kind == RW_CHUNK_RANK && header.rank_chunk != run.first_chunk)) {
        return Cover::damaged;
    }
    const rw_sealed sealed{header.kind,        header.chunks,
                           header.rank_chunk,  static_cast<std::uint32_t>(header.seal),
                           header.sequence,    entry > 1 ? header.used : 0,
                           header.first_chunk, {header.run[0], header.run[1]}};
    const std::uint32_t crc = rw_crc32c(rw_crc32c(0, run.payload.data(), checked), &sealed, sizeof sealed);
    const bool matches = crc == header.seal >> 32;
    const bool log = header.kind == RW_CHUNK_COMMS || header.kind == RW_CHUNK_MODULES ||
                     header.kind == RW_CHUNK_TRACE || header.kind == RW_CHUNK_NOTES ||
                     header.kind == RW_CHUNK_NODE_NOTES;
    if (header.kind == RW_CHUNK_DEAD) {
        return matches ? Cover::whole : closed ? Cover::damaged : Cover::uncovered;
    }
    const bool complete = header.used == checked / entry && checked % entry == 0;
    if (matches && complete) {
        return Cover::whole;
    }
    if (closed || (log && (!matches || header.used < checked))) {
        return Cover::damaged;
    }
    return Cover::uncovered;
}

} // namespace

const char *kind_name(std::uint32_t kind) {
    static constexpr const char *names[] = {"a run of an unknown kind",
                                            "the rank record",
                                            "the table of messages",
                                            "the table of collectives",
                                            "the log of communicators",
                                            "the trace",
                                            "an outgrown table",
                                            "the histograms of call times",
                                            "the table of call sites",
                                            "the log of modules",
                                            "the samples",
                                            "the notes",
                                            "the node's samples",
                                            "the node's notes",
                                            "the network time",
                                            "the transports' network time",
                                            "the table of call sites"};
    static_assert(std::size(names) == RW_CHUNK_KINDS);
    return names[kind < RW_CHUNK_KINDS ? kind : 0];
}

std::uint32_t check_file_header(const std::string &path, std::span<const std::byte> bytes) {
    const std::string where = "`" + path + "`";
    const std::string damaged_hint = "the file is damaged; record again";
    if (is_zero(bytes.first(std::min<std::size_t>(bytes.size(), RW_FILE_HEADER_BYTES)))) {
        if (bytes.size() > RW_FILE_HEADER_BYTES && !is_zero(bytes.subspan(RW_FILE_HEADER_BYTES))) {
            throw Error(where + " has zeros in place of its " + std::to_string(RW_FILE_HEADER_BYTES) +
                            "-byte header",
                        damaged_hint);
        }
        return 0;
    }
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
    if (header.version != RW_FORMAT_VERSION && header.version != RW_FORMAT_OLDEST) {
        throw Error(where + " has format version " + std::to_string(header.version) +
                        " at byte 4; this Rankwise reads versions " + std::to_string(RW_FORMAT_OLDEST) +
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
    if (!is_as_written(header)) {
        throw Error(where + " has a header that does not match its checksum (bytes 0 to " +
                        std::to_string(sizeof(rw_file_header)) + ")",
                    damaged_hint);
    }
    return header.version;
}

FileRuns find_runs(std::span<const std::byte> bytes, std::vector<std::string> &problems) {
    FileRuns found;
    const auto file = read_at<rw_file_header>(bytes, 0);
    constexpr std::size_t header_size = sizeof(rw_chunk_header);
    if (bytes.size() <= RW_FILE_HEADER_BYTES) {
        return found;
    }
    const auto body = bytes.subspan(RW_FILE_HEADER_BYTES);
    std::uint64_t chunk = 0;
    while (chunk * RW_CHUNK_BYTES + header_size <= body.size()) {
        const std::size_t offset = chunk * RW_CHUNK_BYTES;
        const auto header = read_at<rw_chunk_header>(body, offset);
        if (header.magic != RW_CHUNK_MAGIC) {
            if (chunk < file.next_chunk) {
                found.holes.push_back(chunk);
            }
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
        for (std::uint64_t inner = RW_CHUNK_BYTES; inner + header_size <= there; inner += RW_CHUNK_BYTES) {
            const auto other = read_at<rw_chunk_header>(body, offset + inner);
            if (other.magic == RW_CHUNK_MAGIC && other.chunks > 0 && other.kind >= RW_CHUNK_RANK &&
                other.kind < RW_CHUNK_KINDS && other.rank_chunk <= chunk + inner / RW_CHUNK_BYTES) {
                problems.push_back(at + " overlaps the one behind it, and was cut there");
                whole = inner;
                break;
            }
        }
        ChunkRun run{header, chunk, body.subspan(offset + header_size, whole - header_size), Cover::whole};
        run.cover = cover_of(run, file);
        found.runs.push_back(run);
        chunk += (whole + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES;
    }
    return found;
}

} // namespace rankwise::trace
