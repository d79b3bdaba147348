// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief Of a line of /proc/N/stat or /proc/N/task/M/stat (proc_pid_stat(5)).
struct TaskStat {
    std::int32_t number = 0;
    char state = '?';
    std::int32_t parent = 0, session = 0;
    std::uint64_t major_faults = 0;
    std::uint64_t ticks = 0; ///< of a processor, user and system; sysconf(_SC_CLK_TCK) a second
    std::uint32_t threads = 0;
    std::uint64_t start = 0;
    std::int32_t pu = -1;
};

/// @return none if it is not such a line
std::optional<TaskStat> parse_task_stat(std::string_view line);

/// @param[in] proc root of the tree, `/proc`
/// @return none if there is no such process
std::optional<TaskStat> read_task_stat(const std::string &proc, std::int32_t process);

/// @brief Whether a process has ended, and nobody has waited for it. One whose main thread has ended goes on
/// with the others.
bool is_zombie(const TaskStat &process);

/// @brief Whether a process has ended.
/// @return false where that cannot be found out, as without descriptors
bool has_ended(const std::string &proc, const TaskId &process);

/// @brief Thread numbers of a process, the main thread first.
/// @param[in] task open directory /proc/N/task
/// @return false if the process is gone
bool list_threads(int task, std::int32_t process, std::vector<std::int32_t> &threads);

/// @brief Whether a number is that of a thread of the process.
/// @param[in] task open directory /proc/N/task: of this process, whoever has its number later
bool is_thread_of(int task, std::int32_t thread);

/// @brief The mask a thread has now, by system call.
/// @return none if there is no such thread
std::optional<PuSet> affinity_of(std::int32_t thread);

/// @return the mask that a task/TID/status says, units that are offline with it
std::optional<PuSet> mask_in_status(std::string_view status);

/// @return the NUMA nodes that a cpuset lets a process have memory on (`cpuset.mems`), as its status says
std::optional<PuSet> memories_in_status(std::string_view status);

/// @brief Give a thread of a process a mask. Where it ends before that, and a stranger gets its number, the
/// stranger is given what it was born with: the mask of whoever made it.
/// @param[in] task open directory /proc/N/task
/// @return 0, or errno; ESRCH also where it was a stranger
int set_affinity(const std::string &proc, int task, std::int32_t thread, const PuSet &mask);

} // namespace rankwise::tune
