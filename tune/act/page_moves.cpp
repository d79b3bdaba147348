// SPDX-License-Identifier: BSD-3-Clause
#include "act/page_moves.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr Seconds longest_batch_s = 0.02;
constexpr std::size_t first_batch = 64, largest_batch = 8192;
constexpr int move_own_pages = 1 << 1; // MPOL_MF_MOVE: those that no other process has mapped
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

struct OnNodes {
    bool elsewhere = false;
    std::uint64_t page_bytes = 4096;
};

OnNodes nodes_in(std::string_view line, std::int32_t to_numa) {
    OnNodes nodes;
    for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
        const auto equals = word.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        if (word.starts_with("kernelpagesize_kB=")) {
            const auto bytes = as_number(word.substr(equals + 1)).value_or(4) << 10U;
            nodes.page_bytes = std::clamp<std::uint64_t>(bytes, 4096, most_page_bytes);
        } else if (word[0] == 'N') {
            const auto node = as_number(word.substr(1, equals - 1));
            nodes.elsewhere = nodes.elsewhere || (node && static_cast<std::int64_t>(*node) != to_numa);
        }
    }
    return nodes;
}

/// @brief Takes pages until there is a batch of them.
class Batches {
  public:
    Batches(const TaskId &process, std::int32_t to_numa) : process_(process), to_numa_(to_numa) {}

    std::string add(std::uint64_t address) {
        pages_.push_back(reinterpret_cast<void *>(address));
        return pages_.size() >= batch_ ? move() : std::string();
    }

    std::string move() {
        if (pages_.empty()) {
            return {};
        }
        const std::vector<int> nodes(pages_.size(), to_numa_);
        status_.assign(pages_.size(), 0);
        const Seconds began = now();
        const long moved = syscall(SYS_move_pages, process_.number, pages_.size(), pages_.data(),
                                   nodes.data(), status_.data(), move_own_pages);
        const Seconds took = now() - began;
        if (moved < 0) {
            return std::string("its pages cannot be moved: ") + std::strerror(errno);
        }
        // Half of what would just do: not all pages take the same time.
        const double rate = static_cast<double>(pages_.size()) / std::max(took, 1e-6);
        batch_ = std::clamp(static_cast<std::size_t>(rate * longest_batch_s / 2), std::size_t{1},
                            std::min(largest_batch, 2 * batch_));
        pages_.clear();
        usleep(static_cast<useconds_t>(std::min(took, longest_batch_s) * 1e6));
        return {};
    }

  private:
    TaskId process_;
    std::int32_t to_numa_;
    std::size_t batch_ = first_batch;
    std::vector<void *> pages_;
    std::vector<int> status_;
};

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
        if (read_hexadecimal(line, end) && end > begin && found != nodes.end() && found->second.elsewhere) {
            ranges.push_back({begin, end - begin, found->second.page_bytes});
        }
    }
    return ranges;
}

std::string move_pages_of(const TaskId &process, std::int32_t to_numa, const std::string &proc) {
    const auto path = proc + "/" + std::to_string(process.number);
    const auto stat = read_task_stat(proc, process.number);
    Text maps, numa_maps;
    if (!stat || stat->start != process.start) {
        return "process " + std::to_string(process.number) + " ended";
    }
    if (!maps.read(path + "/maps") || !numa_maps.read(path + "/numa_maps")) {
        return "where its pages are cannot be read";
    }
    Batches batches(process, to_numa);
    for (const auto &range : ranges_elsewhere(maps.view(), numa_maps.view(), to_numa)) {
        for (std::uint64_t at = 0; at < range.bytes; at += range.page_bytes) {
            if (auto why = batches.add(range.begin + at); !why.empty()) {
                return why;
            }
        }
    }
    return batches.move();
}

} // namespace rankwise::tune
