// SPDX-License-Identifier: BSD-3-Clause
#include "trace/node_file.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <unordered_map>

#include "trace/calls.hpp"
#include "trace/size_bins.hpp"

namespace rankwise::trace {
namespace {

// More ranks than any machine has; larger numbers are damage, not a job.
constexpr std::uint32_t max_ranks = 1u << 24;
// No thread counts that often, or sends that much through one entry: 7e16 B are 8 days at 100 GB/s. Sums
// pass 2^63 only with 128 such entries.
constexpr std::uint64_t most_counted = std::uint64_t{1} << RW_MOST_COUNTED_BITS;
// Clocks that tick each picosecond, as those of generated recordings, come there in 53 days, those of 10 GHz
// in 14 years.
constexpr std::uint64_t most_time = std::uint64_t{1} << RW_MOST_TIME_BITS;
constexpr std::uint16_t max_bin = RW_MOST_COUNTED_BITS + 1;
constexpr std::size_t most_runs_named = 8;

// Below this the two readings of the clocks lie too close together to give a rate.
constexpr std::uint64_t min_clock_span_ns = 1'000'000;

double clock_rate(const rw_rank &rank, std::uint64_t min_span_ns) {
    if (rank.last_ticks <= rank.first_ticks ||
        rank.last_monotonic_ns < rank.first_monotonic_ns + min_span_ns) {
        return 0.0;
    }
    const auto ns = static_cast<double>(rank.last_monotonic_ns - rank.first_monotonic_ns);
    const double rate = ns * 1e-9 / static_cast<double>(rank.last_ticks - rank.first_ticks);
    // Counters tick between 1 MHz (some RISC-V boards) and 10 GHz, generated recordings each picosecond;
    // anything else is damage.
    return rate >= 0.9e-12 && rate <= 1e-6 ? rate : 0.0;
}

std::uint64_t total_count(std::span<const std::byte> payload, std::size_t entry_bytes,
                          std::size_t count_offset) {
    std::uint64_t total = 0;
    for (std::size_t at = 0; at + entry_bytes <= payload.size(); at += entry_bytes) {
        const auto count = read_at<std::uint64_t>(payload, at + count_offset);
        total += count < most_counted ? count : 0;
    }
    return total;
}

// The live table of one kind: the last one, which is also the fullest. A process killed while it replaced a
// table leaves two; going by what is in them holds even where the node went down and not all of the last one
// came to the disk.
template <class Entry>
std::span<const std::byte> live_table(const std::vector<const ChunkRun *> &runs, ThreadRecord &record) {
    std::span<const std::byte> best;
    std::uint64_t best_total = 0;
    for (const ChunkRun *run : runs) {
        const std::uint64_t room = run->payload.size() / sizeof(Entry);
        const std::uint64_t slots = std::min(run->header.used, room);
        if (slots < run->header.used) {
            record.problems.push_back("a table of " + std::to_string(run->header.used) +
                                      " slots was cut to " + std::to_string(slots));
        }
        const auto table = run->payload.first(slots * sizeof(Entry));
        const std::uint64_t total = total_count(table, sizeof(Entry), offsetof(Entry, count));
        if (best.empty() || total > best_total) {
            best = table;
            best_total = total;
        }
    }
    return best;
}

template <class... Number> bool can_be_counts(Number... numbers) {
    return ((numbers < most_counted) && ...);
}

template <class... Number> bool can_be_times(Number... numbers) {
    return ((numbers < most_time) && ...);
}

template <std::size_t count> bool can_be_counts(const std::uint64_t (&numbers)[count]) {
    return std::all_of(numbers, numbers + count, [](std::uint64_t number) { return can_be_counts(number); });
}

template <std::size_t count> bool can_be_times(const std::uint64_t (&numbers)[count]) {
    return std::all_of(numbers, numbers + count, [](std::uint64_t number) { return can_be_times(number); });
}

bool is_sound(const rw_peer_entry &entry, const rw_rank &rank) {
    const unsigned call = entry.call & ~RW_DIRECTION_RECEIVE;
    return call < calls().size() && entry.bin <= max_bin && can_be_counts(entry.count, entry.bytes) &&
           (entry.peer < rank.world_size || entry.peer == RW_PEER_UNKNOWN);
}

bool is_sound(const rw_collective_entry &entry, const rw_rank &) {
    return entry.call < calls().size() && calls()[entry.call].collective != Collective::none &&
           can_be_counts(entry.count, entry.bytes, entry.bytes2) && can_be_times(entry.ticks) &&
           std::max(entry.bytes, entry.bytes2) < most_counted / entry.count;
}

// The upper half of all addresses is the kernel's.
bool is_address(std::uint64_t offset) {
    return offset >> 63 == 0;
}

bool is_sound(const rw_site_entry &entry, const rw_rank &) {
    return entry.call < calls().size() && can_be_counts(entry.count) && can_be_times(entry.ticks) &&
           (can_be_counts(entry.bytes) || entry.bytes == RW_SITE_BYTES_UNKNOWN) && is_address(entry.offset);
}

bool is_sound(const rw_site_entry_without_bytes &entry, const rw_rank &) {
    return entry.call < calls().size() && can_be_counts(entry.count) && can_be_times(entry.ticks) &&
           is_address(entry.offset);
}

bool is_sound(const rw_call_total &total) {
    return can_be_counts(total.count, total.bytes) && can_be_times(total.ticks);
}

// The shortest is the largest number until a call has ended, and clocks of some virtual machines go back.
void bound_extremes(rw_call_total &total) {
    if (!can_be_times(total.min_ticks)) {
        total.min_ticks = 0;
    }
    if (!can_be_times(total.max_ticks)) {
        total.max_ticks = total.ticks;
    }
}

bool is_sound(const rw_network_peer &entry) {
    return can_be_counts(entry.calls) && can_be_counts(entry.bytes) && can_be_times(entry.ticks);
}

bool is_sound(const rw_transport_entry &entry) {
    return can_be_counts(entry.calls) && can_be_counts(entry.bytes) && can_be_times(entry.ticks) &&
           can_be_counts(entry.unsized);
}

// Whose addresses these are is known all the same, and so is that there was network time.
template <class Entry> void forget_totals(Entry &entry) {
    std::fill(std::begin(entry.calls), std::end(entry.calls), 0);
    std::fill(std::begin(entry.bytes), std::end(entry.bytes), 0);
    std::fill(std::begin(entry.ticks), std::end(entry.ticks), 0);
    if constexpr (std::is_same_v<Entry, rw_transport_entry>) {
        std::fill(std::begin(entry.unsized), std::end(entry.unsized), 0);
    }
}

template <class Entry>
std::vector<Entry> used_slots(const std::vector<const ChunkRun *> &runs, ThreadRecord &record) {
    std::vector<Entry> entries;
    std::size_t damaged = 0;
    const auto table = live_table<Entry>(runs, record);
    for (std::size_t at = 0; at < table.size(); at += sizeof(Entry)) {
        const auto entry = read_at<Entry>(table, at);
        if (entry.count == 0) {
            continue;
        }
        if (is_sound(entry, record.rank)) {
            entries.push_back(entry);
        } else {
            ++damaged;
        }
    }
    if (damaged > 0) {
        record.problems.push_back(std::to_string(damaged) + " damaged table entries were left out");
    }
    return entries;
}

std::span<const std::byte> log_bytes(const ChunkRun &run, ThreadRecord &record) {
    const auto used = std::min<std::uint64_t>(run.header.used, run.payload.size());
    if (used < run.header.used) {
        record.problems.push_back("a log of " + std::to_string(run.header.used) + " bytes was cut to " +
                                  std::to_string(used));
    }
    return run.payload.first(used);
}

std::span<const std::byte> used_bytes(const ChunkRun &run) {
    return run.payload.first(std::min<std::uint64_t>(run.header.used, run.payload.size()));
}

bool covers(const std::vector<rw_rank_run> &runs, std::uint32_t size) {
    std::uint64_t members = 0;
    for (const auto &run : runs) {
        members += run.count;
        if (run.first == RW_PEER_UNKNOWN && run.count > 0) { // spawned processes: no rank in this world
            continue;
        }
        const std::int64_t last = std::int64_t{run.first} + (std::int64_t{run.count} - 1) * run.stride;
        if (run.count == 0 || last < 0 || last >= max_ranks || run.first >= max_ranks) {
            return false;
        }
    }
    return members == size;
}

void read_communicators(std::span<const std::byte> log, ThreadRecord &record) {
    std::size_t at = 0;
    const auto take_runs = [&](std::uint32_t count, std::vector<rw_rank_run> &runs) {
        for (std::uint32_t i = 0; i < count; ++i, at += sizeof(rw_rank_run)) {
            runs.push_back(read_at<rw_rank_run>(log, at));
        }
    };
    while (at + sizeof(rw_comm) <= log.size()) {
        CommunicatorDefinition comm{read_at<rw_comm>(log, at), {}, {}};
        const rw_comm &definition = comm.definition;
        const std::size_t lists =
            (std::size_t{definition.runs} + definition.remote_runs) * sizeof(rw_rank_run);
        const bool sound = definition.size > 0 && definition.size <= max_ranks &&
                           definition.rank < definition.size && lists <= log.size() - at - sizeof(rw_comm);
        at += sizeof(rw_comm);
        if (!sound) { // where the next one begins is not known either
            record.problems.push_back("communicator " + std::to_string(definition.index) +
                                      " and those after it are damaged and were left out");
            return;
        }
        take_runs(definition.runs, comm.runs);
        take_runs(definition.remote_runs, comm.remote_runs);
        if ((!comm.runs.empty() && !covers(comm.runs, definition.size)) ||
            (!comm.remote_runs.empty() && !covers(comm.remote_runs, definition.remote_size))) {
            record.problems.push_back("communicator " + std::to_string(definition.index) +
                                      " is damaged and was left out");
            continue;
        }
        record.communicators.push_back(std::move(comm));
    }
    if (at < log.size()) {
        record.problems.push_back("the log of communicators ends inside a definition");
    }
}

void read_trace(std::vector<const ChunkRun *> runs, ThreadRecord &record) {
    std::stable_sort(runs.begin(), runs.end(), [](const ChunkRun *left, const ChunkRun *right) {
        return left->header.sequence < right->header.sequence;
    });
    record.trace.coding = record.rank.trace_coding;
    record.trace.unit_shift = record.rank.trace_unit_shift;
    std::uint64_t expected = 0;
    for (const ChunkRun *run : runs) {
        if (run->header.sequence != expected) {
            record.problems.push_back("part " + std::to_string(expected) +
                                      " of the trace is missing; it ends there");
            return;
        }
        record.trace.runs.push_back(log_bytes(*run, record));
        ++expected;
    }
}

void read_histograms(std::span<const std::byte> log, ThreadRecord &record) {
    for (std::size_t at = 0; at + sizeof(rw_call_histogram) <= log.size(); at += sizeof(rw_call_histogram)) {
        const auto histogram = read_at<rw_call_histogram>(log, at);
        if (histogram.call >= calls().size() || !can_be_counts(histogram.bins)) {
            record.problems.push_back("a damaged histogram of call times was left out");
            continue;
        }
        record.histograms.push_back(histogram);
    }
}

void read_modules(std::span<const std::byte> log, ThreadRecord &record) {
    for (std::size_t at = 0; at + sizeof(rw_module) <= log.size();) {
        const std::size_t length = read_at<rw_module>(log, at).path_bytes;
        at += sizeof(rw_module);
        if (length > log.size() - at) {
            record.problems.push_back("the log of modules ends inside a path");
            return;
        }
        record.modules.emplace_back(reinterpret_cast<const char *>(log.data() + at), length);
        if (record.modules.back().find('\0') != std::string::npos) {
            record.problems.push_back("a damaged path of a module was left out");
            record.modules.back().clear();
        }
        at += (length / 8 + 1) * 8;
    }
}

template <typename Entry>
std::vector<Entry> joined(const std::vector<const ChunkRun *> &runs, ThreadRecord &record) {
    std::vector<Entry> all;
    std::size_t damaged = 0;
    for (const ChunkRun *run : runs) {
        const auto entries = log_bytes(*run, record);
        for (std::size_t at = 0; at + sizeof(Entry) <= entries.size(); at += sizeof(Entry)) {
            all.push_back(read_at<Entry>(entries, at));
            if (!is_sound(all.back())) {
                forget_totals(all.back());
                ++damaged;
            }
        }
    }
    if (damaged > 0) {
        record.problems.push_back(std::to_string(damaged) + " damaged entries of network time were left out");
    }
    return all;
}

// What was read of the clocks: without it there is no time of anything.
bool clocks_are_sound(const rw_rank &rank) {
    return can_be_times(rank.first_ticks, rank.first_monotonic_ns, rank.first_realtime_ns, rank.last_ticks,
                        rank.last_monotonic_ns, rank.last_realtime_ns, rank.init_ticks, rank.finalize_ticks);
}

// Numbers of a rank record that can be missing: 0 says so.
std::size_t leave_out_damaged(rw_rank &rank) {
    std::size_t damaged = 0;
    const auto check = [&](bool sound, auto &...numbers) {
        if (!sound) {
            ++damaged;
            ((numbers = 0), ...);
        }
    };
    // Recorders up to 2026 counted below 0 where a thread was followed by another one.
    for (std::uint64_t *time : {&rank.runqueue_wait_ns, &rank.cpu_ns}) {
        if (*time >> 63 != 0) {
            *time = 0;
        }
    }
    check(can_be_times(rank.runqueue_wait_ns, rank.cpu_ns) && can_be_counts(rank.schedstat_samples),
          rank.runqueue_wait_ns, rank.cpu_ns, rank.schedstat_samples);
    check(can_be_counts(rank.unrecorded_messages), rank.unrecorded_messages);
    for (std::uint64_t *ticks :
         {&rank.mpi_ticks, &rank.call_cost_ticks_1024, &rank.recorder_ticks, &rank.sealed_ticks}) {
        check(can_be_times(*ticks), *ticks);
    }
    return damaged;
}

bool read_rank(const ChunkRun &run, ThreadRecord &record) {
    const std::size_t total_bytes = sizeof(rw_call_total);
    if (run.payload.size() < sizeof(rw_rank)) {
        return false;
    }
    record.rank = read_at<rw_rank>(run.payload, 0);
    if (record.rank.world_size == 0 || record.rank.world_size > max_ranks ||
        record.rank.world_rank >= record.rank.world_size || !clocks_are_sound(record.rank)) {
        return false;
    }
    if (const std::size_t damaged = leave_out_damaged(record.rank)) {
        record.problems.push_back(std::to_string(damaged) +
                                  " damaged numbers of the rank record were left out");
    }
    record.calls.resize(calls().size());
    const auto totals = run.payload.subspan(sizeof(rw_rank));
    const std::size_t there = std::min(totals.size() / total_bytes, record.calls.size());
    std::size_t damaged = 0;
    for (std::size_t call = 0; call < there; ++call) {
        record.calls[call] = read_at<rw_call_total>(totals, call * total_bytes);
        if (!is_sound(record.calls[call])) {
            record.calls[call] = {};
            ++damaged;
        }
        bound_extremes(record.calls[call]);
    }
    if (damaged > 0) {
        record.problems.push_back(std::to_string(damaged) + " damaged totals of calls were left out");
    }
    if (there < record.calls.size()) {
        record.problems.push_back("the totals of calls are cut short");
    }
    if (const std::size_t at = record.calls.size() * total_bytes; at + sizeof(rw_progress) <= totals.size()) {
        record.progress = read_at<rw_progress>(totals, at);
        if (record.progress.call > calls().size() || !can_be_times(record.progress.begin_ticks)) {
            record.progress = {};
            record.problems.push_back("what it was in at the end is damaged and was left out");
        }
    }
    record.seconds_per_tick = clock_rate(record.rank, min_clock_span_ns);
    return true;
}

// Ranks killed before their clocks were read a second time take the rate of the longest observation on the
// node.
void share_clock_rate(std::vector<ThreadRecord> &threads) {
    double rate = 0.0;
    std::uint64_t longest = 0;
    for (const auto &thread : threads) {
        const double own = clock_rate(thread.rank, 1);
        const auto span = thread.rank.last_monotonic_ns - thread.rank.first_monotonic_ns;
        if (own > 0.0 && span > longest) {
            rate = own;
            longest = span;
        }
    }
    for (auto &thread : threads) {
        if (thread.seconds_per_tick == 0.0) {
            thread.seconds_per_tick = rate;
        }
    }
}

} // namespace

NodeFile::NodeFile(const std::string &path) : file_(path) {
    const auto bytes = file_.bytes();
    version_ = check_file_header(path, bytes);
    if (version_ == 0) {
        return;
    }
    const auto header = read_at<rw_file_header>(bytes, 0);
    recorded_run_ = {header.run[0], header.run[1]};
    FileRuns found = find_runs(bytes, problems_);
    chunk_runs_ = std::move(found.runs);
    // By owner: the runs of each kind.
    std::unordered_map<std::uint64_t, std::vector<const ChunkRun *>[RW_CHUNK_KINDS]> owned;
    for (const auto &run : chunk_runs_) {
        if (run.header.kind == RW_CHUNK_NODE_SAMPLES) {
            node_samples_.rows = used_bytes(run);
        } else if (run.header.kind == RW_CHUNK_NODE_NOTES) {
            node_samples_.notes = used_bytes(run);
        } else if (run.header.kind != RW_CHUNK_RANK) {
            owned[run.header.rank_chunk][run.header.kind].push_back(&run);
        }
    }
    for (const auto &run : chunk_runs_) {
        if (run.header.kind != RW_CHUNK_RANK) {
            continue;
        }
        ThreadRecord record{};
        auto node = owned.extract(run.first_chunk);
        if (!read_rank(run, record)) {
            problems_.push_back("the rank record at byte " +
                                std::to_string(RW_FILE_HEADER_BYTES + run.first_chunk * RW_CHUNK_BYTES) +
                                " is damaged and was left out");
            continue;
        }
        record.uncovered = run.cover == Cover::uncovered;
        if (!node.empty()) {
            auto &kinds = node.mapped();
            for (const auto &kind : kinds) {
                record.uncovered |= std::any_of(kind.begin(), kind.end(), [](const ChunkRun *part) {
                    return part->cover == Cover::uncovered;
                });
            }
            record.peers = used_slots<rw_peer_entry>(kinds[RW_CHUNK_PEERS], record);
            record.collectives = used_slots<rw_collective_entry>(kinds[RW_CHUNK_COLLECTIVES], record);
            for (const ChunkRun *log : kinds[RW_CHUNK_COMMS]) {
                read_communicators(log_bytes(*log, record), record);
            }
            for (const ChunkRun *log : kinds[RW_CHUNK_HISTOGRAMS]) {
                read_histograms(log_bytes(*log, record), record);
            }
            record.sites = used_slots<rw_site_entry>(kinds[RW_CHUNK_SITES], record);
            for (const auto &old :
                 used_slots<rw_site_entry_without_bytes>(kinds[RW_CHUNK_SITES_WITHOUT_BYTES], record)) {
                record.sites.push_back(
                    {old.module, old.call, 0, old.offset, old.count, old.ticks, RW_SITE_BYTES_UNKNOWN});
            }
            for (const ChunkRun *log : kinds[RW_CHUNK_MODULES]) {
                read_modules(log_bytes(*log, record), record);
            }
            for (const ChunkRun *rows : kinds[RW_CHUNK_SAMPLES]) {
                record.samples.rows = used_bytes(*rows);
            }
            for (const ChunkRun *log : kinds[RW_CHUNK_NOTES]) {
                record.samples.notes = used_bytes(*log);
            }
            record.network = joined<rw_network_peer>(kinds[RW_CHUNK_NETWORK], record);
            record.transports = joined<rw_transport_entry>(kinds[RW_CHUNK_TRANSPORTS], record);
            read_trace(kinds[RW_CHUNK_TRACE], record);
        }
        threads_.push_back(std::move(record));
    }
    if (!owned.empty()) {
        problems_.push_back("tables of " + std::to_string(owned.size()) +
                            " missing rank records were left out");
    }
    share_clock_rate(threads_);
    check_runs();
    check_chunks(found.holes);
}

void NodeFile::check_runs() {
    const auto of = [&](const ChunkRun &run) {
        return kind_name(run.header.kind) +
               (" at byte " + std::to_string(RW_FILE_HEADER_BYTES + run.first_chunk * RW_CHUNK_BYTES));
    };
    std::size_t damaged = 0;
    for (const auto &run : chunk_runs_) {
        if (run.cover == Cover::damaged && ++damaged <= most_runs_named) {
            problems_.push_back(of(run) + " does not match its checksum");
        }
    }
    if (damaged > most_runs_named) {
        problems_.push_back(std::to_string(damaged - most_runs_named) + " more do not match theirs");
    }
}

// What a rank takes it uses, unless it is killed or finds no space.
void NodeFile::check_chunks(const std::vector<std::uint64_t> &holes) {
    const bool all_ended = std::all_of(threads_.begin(), threads_.end(), [](const ThreadRecord &thread) {
        return (thread.rank.flags & (RW_FINALIZED | RW_STORAGE_FULL | RW_FILE_GONE)) == RW_FINALIZED;
    });
    auto &said = all_ended ? problems_ : notes_;
    const auto taken = read_at<rw_file_header>(file_.bytes(), 0).next_chunk;
    if (!holes.empty()) {
        said.push_back(std::to_string(holes.size()) + " of " + std::to_string(taken) +
                       " chunks hold nothing, the first at byte " +
                       std::to_string(RW_FILE_HEADER_BYTES + holes.front() * RW_CHUNK_BYTES));
    }
    if (file_.bytes().size() != RW_FILE_HEADER_BYTES + taken * RW_CHUNK_BYTES) {
        said.push_back("the file has " + std::to_string(file_.bytes().size()) + " bytes, and " +
                       std::to_string(taken) + " chunks were taken, which is another length");
    }
}

} // namespace rankwise::trace
