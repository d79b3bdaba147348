// SPDX-License-Identifier: BSD-3-Clause
#include "act/page_moves.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <map>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/memory_policy.hpp"
#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr Seconds longest_batch_s = 0.02;
constexpr std::size_t first_batch_bytes = std::size_t{256} << 10U;
// What surely takes no longer; a larger page cannot go in a batch.
constexpr std::size_t unmeasured_batch_bytes = std::size_t{2} << 20U;
constexpr std::size_t largest_batch_bytes = std::size_t{32} << 20U;
constexpr int move_own_pages = 1 << 1; // MPOL_MF_MOVE: those that no other process has mapped
// That moved pages of all ranks are remembered in: 32 bytes each.
constexpr std::size_t most_pieces = 100'000;
constexpr std::uint64_t most_page_bytes = std::uint64_t{1} << 34U;

Seconds now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool read_hexadecimal(std::string_view &text, std::uint64_t &value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return problem == std::errc{};
}

// Of ranges with fewer pages than one in so many that they have room for.
constexpr std::uint64_t sparse = 1024;

struct OnNodes {
    std::uint64_t elsewhere = 0; ///< pages, of mappings that have the process' own only
    std::uint64_t page_bytes = 4096;
};

OnNodes nodes_in(std::string_view line, std::int32_t to_numa) {
    OnNodes nodes;
    const auto policy = next_word(line);
    if (to_numa < 0 || !nodes_of_policy(policy, line).test(static_cast<std::size_t>(to_numa))) {
        return nodes;
    }
    std::uint64_t own = 0, all = 0;
    for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
        const auto equals = word.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        if (word.starts_with("anon=")) {
            own = as_number(word.substr(equals + 1)).value_or(0);
        } else if (word.starts_with("kernelpagesize_kB=")) {
            const auto bytes = as_number(word.substr(equals + 1)).value_or(4) << 10U;
            nodes.page_bytes = std::clamp<std::uint64_t>(bytes, 4096, most_page_bytes);
        } else if (word[0] == 'N') {
            const auto node = as_number(word.substr(1, equals - 1));
            const auto count = as_number(word.substr(equals + 1)).value_or(0);
            all += count;
            nodes.elsewhere += node && static_cast<std::int64_t>(*node) != to_numa ? count : 0;
        }
    }
    nodes.elsewhere = own < all ? 0 : nodes.elsewhere;
    return nodes;
}

} // namespace

std::vector<MemoryRange> ranges_elsewhere(std::string_view maps, std::string_view numa_maps,
                                          std::int32_t to_numa) {
    std::map<std::uint64_t, OnNodes> nodes;
    while (!numa_maps.empty()) {
        auto line = next_line(numa_maps);
        std::uint64_t begin = 0;
        if (read_hexadecimal(line, begin)) {
            nodes[begin] = nodes_in(line, to_numa);
        }
    }
    std::vector<MemoryRange> ranges;
    while (!maps.empty()) {
        auto line = next_line(maps);
        std::uint64_t begin = 0, end = 0;
        if (!read_hexadecimal(line, begin) || !line.starts_with('-')) {
            continue;
        }
        line.remove_prefix(1);
        const auto found = nodes.find(begin);
        if (!read_hexadecimal(line, end) || end <= begin || found == nodes.end()) {
            continue;
        }
        const auto &[elsewhere, page_bytes] = found->second;
        if (elsewhere > 0 && page_bytes <= largest_batch_bytes &&
            elsewhere >= (end - begin) / page_bytes / sparse) {
            ranges.push_back({begin, end - begin, page_bytes, to_numa});
        }
    }
    return ranges;
}

PageMoves::PageMoves(const std::vector<Change::Pages> &moves, std::string proc)
    : proc_(std::move(proc)), batch_bytes_(first_batch_bytes), most_bytes_(unmeasured_batch_bytes) {
    add(moves);
}

void PageMoves::add(const std::vector<Change::Pages> &moves) {
    for (const auto &move : moves) {
        work_.push_back({move.process, move.to_numa, {}});
    }
}

void PageMoves::turn_back() {
    while (!work_.empty()) {
        next_process();
    }
    pieces_ = 0;
    for (auto &[process, ranges] : std::exchange(were_on_, {})) {
        work_.push_back({process, -1, std::move(ranges)});
    }
}

bool PageMoves::open(const Work &work) {
    const int number = work.process.number;
    process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, number, 0)));
    const auto stat = read_task_stat(proc_, number);
    if (!process_ || !stat || stat->start != work.process.start) {
        give_up("ended");
        return false;
    }
    if (!work.back.empty()) {
        ranges_.assign(work.back.begin(), work.back.end());
        return true;
    }
    const auto path = proc_ + "/" + std::to_string(number);
    Text maps, numa_maps;
    if (!maps.read(path + "/maps") || !numa_maps.read(path + "/numa_maps")) {
        give_up("has pages, and where they are cannot be read");
        return false;
    }
    const auto ranges = ranges_elsewhere(maps.view(), numa_maps.view(), work.to_numa);
    ranges_.assign(ranges.begin(), ranges.end());
    return true;
}

void PageMoves::give_up(const std::string &why) {
    troubles_.push_back("process " + std::to_string(work_.front().process.number) + " " + why);
    next_process();
}

void PageMoves::next_process() {
    work_.pop_front();
    process_.reset();
    ranges_.clear();
    batch_bytes_ = first_batch_bytes;
    most_bytes_ = unmeasured_batch_bytes;
}

/// Of pages of one size.
PageMoves::Batch PageMoves::next_batch() {
    Batch batch;
    while (!ranges_.empty() && (batch.bytes == 0 || (ranges_.front().page_bytes == batch.page_bytes &&
                                                     batch.bytes + batch.page_bytes <= batch_bytes_))) {
        MemoryRange &range = ranges_.front();
        batch.page_bytes = range.page_bytes;
        batch.pages.push_back(reinterpret_cast<void *>(range.begin)); // NOLINT(performance-no-int-to-ptr)
        batch.nodes.push_back(range.to_numa);
        batch.bytes += range.page_bytes;
        range.begin += range.page_bytes;
        range.bytes -= std::min(range.bytes, range.page_bytes);
        if (range.bytes == 0) {
            ranges_.pop_front();
        }
    }
    return batch;
}

/// Pages that are on another node than they are to go to stay in the batch.
/// @return the nodes that these are on; none, and errno, if that cannot be known
std::optional<std::vector<int>> PageMoves::keep_those_elsewhere(Batch &batch) const {
    std::vector<int> on(batch.pages.size(), -ENOENT);
    if (syscall(SYS_move_pages, work_.front().process.number, batch.pages.size(), batch.pages.data(), nullptr,
                on.data(), 0) < 0) {
        return std::nullopt;
    }
    std::size_t kept = 0;
    for (std::size_t at = 0; at < on.size(); ++at) {
        if (on[at] >= 0 && on[at] != batch.nodes[at]) {
            batch.pages[kept] = batch.pages[at];
            batch.nodes[kept] = batch.nodes[at];
            on[kept++] = on[at];
        }
    }
    batch.pages.resize(kept);
    batch.nodes.resize(kept);
    on.resize(kept);
    return on;
}

/// @return false if they are in more pieces than can be kept
bool PageMoves::remember(const TaskId &process, const Batch &batch, const std::vector<int> &on) {
    if (on.empty()) {
        return true;
    }
    auto &ranges = were_on_[process];
    for (std::size_t at = 0; at < on.size(); ++at) {
        const auto begin = reinterpret_cast<std::uint64_t>(batch.pages[at]);
        if (!ranges.empty() && ranges.back().begin + ranges.back().bytes == begin &&
            ranges.back().page_bytes == batch.page_bytes && ranges.back().to_numa == on[at]) {
            ranges.back().bytes += batch.page_bytes;
        } else if (pieces_ == most_pieces) {
            return false;
        } else {
            ranges.push_back({begin, batch.page_bytes, batch.page_bytes, on[at]});
            ++pieces_;
        }
    }
    return true;
}

Seconds PageMoves::step() {
    if (work_.empty() || (!process_ && !open(work_.front()))) {
        return now();
    }
    const TaskId process = work_.front().process;
    const bool goes_back = !work_.front().back.empty();
    Batch batch = next_batch();
    if (batch.pages.empty()) {
        next_process();
        return now();
    }
    // The number is the process' own as long as it has not ended.
    pollfd ended{process_.number(), POLLIN, 0};
    if (poll(&ended, 1, 0) != 0) {
        give_up("ended");
        return now();
    }
    const Seconds began = now();
    const auto on = keep_those_elsewhere(batch);
    if (on && !goes_back && !remember(process, batch, *on)) {
        give_up("has pages in too many pieces to move them all");
        return now();
    }
    std::vector<int> status(batch.pages.size(), 0);
    const long moved = !on ? -1
                       : batch.pages.empty()
                           ? 0
                           : syscall(SYS_move_pages, process.number, batch.pages.size(), batch.pages.data(),
                                     batch.nodes.data(), status.data(), move_own_pages);
    const int problem = errno;
    const Seconds took = now() - began;
    if (moved < 0 && problem != ENOENT) {
        give_up(std::string("has pages that cannot be moved: ") + std::strerror(problem));
        return now() + took;
    }
    if (!status.empty()) {
        touched_.insert(process);
        if (std::ranges::all_of(status, [](int page) { return page == -ENOMEM; })) {
            give_up("has pages that find no room where they are to go");
            return now() + took;
        }
    }
    // Half of what would just do: not all pages take the same time. Those that are looked at and stay say
    // nothing of how long others take to move.
    if (!batch.pages.empty()) {
        const double moved_bytes = static_cast<double>(batch.pages.size() * batch.page_bytes);
        most_bytes_ = static_cast<std::size_t>(moved_bytes / std::max(took, 1e-6) * longest_batch_s / 2);
    }
    batch_bytes_ = std::min({most_bytes_, 2 * std::max(batch.bytes, first_batch_bytes), largest_batch_bytes});
    return now() + took;
}

} // namespace rankwise::tune
