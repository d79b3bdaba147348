// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief A range of a process' memory that may have pages on another node than one.
struct MemoryRange {
    std::uint64_t begin, bytes, page_bytes;
};

/// @brief Ranges of memory in a text of /proc/PID/maps, with those left out that numa_maps says are on
/// `to_numa` alone, or have hardly a page: they would take long to look through, and little is in them. So
/// are those whose memory policy has other nodes, or spreads them, those of very large pages, and those of
/// files.
/// @param[in] maps      /proc/PID/maps: where ranges end
/// @param[in] numa_maps /proc/PID/numa_maps: where pages are, and how large
std::vector<MemoryRange> ranges_elsewhere(std::string_view maps, std::string_view numa_maps,
                                          std::int32_t to_numa);

/// @brief Pages of processes on their way to NUMA nodes: move_pages(2), a batch of at most 20 ms a step.
class PageMoves {
  public:
    PageMoves(std::vector<Change::Pages> moves, std::string proc);

    /// @brief Move these as well, after those that are left.
    void add(const std::vector<Change::Pages> &moves) {
        moves_.insert(moves_.end(), moves.begin(), moves.end());
    }

    /// @brief Move a batch.
    /// @return the moment of the next step: half of the time is the process'
    Seconds step();

    bool done() const { return moves_.empty(); }

    /// @brief What could not be moved, a sentence each, since the last call.
    std::vector<std::string> troubles() { return std::exchange(troubles_, {}); }

  private:
    bool open(const Change::Pages &move);
    void give_up(const std::string &why);
    void next_process();

    std::deque<Change::Pages> moves_; ///< the first is under way
    std::string proc_;
    Descriptor process_;
    std::deque<MemoryRange> ranges_; ///< of the first, what is left
    std::size_t batch_bytes_;
    std::vector<std::string> troubles_;
};

} // namespace rankwise::tune
