// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief A range of a process' memory, and the node that its pages are to go to.
struct MemoryRange {
    std::uint64_t begin, bytes, page_bytes;
    std::int32_t to_numa;
};

/// @brief Ranges of memory that may have pages on another node than `to_numa`, in a text of /proc/PID/maps.
///
/// Those are left out that numa_maps says are on `to_numa` alone, or have hardly a page: they would take long
/// to look through, and little is in them. So are those whose memory policy has other nodes, or spreads them,
/// those of very large pages, and those of files.
/// @param[in] maps      /proc/PID/maps: where ranges end
/// @param[in] numa_maps /proc/PID/numa_maps: where pages are, and how large
std::vector<MemoryRange> ranges_elsewhere(std::string_view maps, std::string_view numa_maps,
                                          std::int32_t to_numa);

/// @brief Pages of processes on their way to NUMA nodes, and back to where each was: move_pages(2), a batch
/// of at most 20 ms a step.
class PageMoves {
  public:
    PageMoves(const std::vector<Change::Pages> &moves, std::string proc);

    /// @brief Move these as well, after those that are left.
    void add(const std::vector<Change::Pages> &moves);

    /// @brief Move no others, and those that were moved to the nodes that they were on.
    void turn_back();

    /// @brief Move a batch.
    /// @return the moment of the next step: half of the time is the process'
    Seconds step();

    bool done() const { return work_.empty(); }

    /// @return processes of which pages were moved since the last call
    std::set<TaskId> touched() { return std::exchange(touched_, {}); }

    /// @brief What could not be moved, a sentence each, since the last call.
    std::vector<std::string> troubles() { return std::exchange(troubles_, {}); }

  private:
    struct Work {
        TaskId process;
        std::int32_t to_numa = -1;
        std::vector<MemoryRange> back; ///< none: wherever its pages are now
    };
    struct Batch {
        std::vector<void *> pages;
        std::vector<int> nodes; ///< that they are to go to
        std::uint64_t page_bytes = 0;
        std::size_t bytes = 0;
    };
    bool open(const Work &work);
    Batch next_batch();
    std::optional<std::vector<int>> keep_those_elsewhere(Batch &batch) const;
    bool remember(const TaskId &process, const Batch &batch, const std::vector<int> &on);
    void give_up(const std::string &why);
    void next_process();

    std::deque<Work> work_; ///< the first is under way
    std::string proc_;
    Descriptor process_;
    std::deque<MemoryRange> ranges_;                     ///< of the first, what is left
    std::map<TaskId, std::vector<MemoryRange>> were_on_; ///< pages that were moved, and their nodes before
    std::size_t pieces_ = 0;                             ///< of these
    std::set<TaskId> touched_;
    std::size_t batch_bytes_, most_bytes_;
    std::vector<std::string> troubles_;
};

} // namespace rankwise::tune
