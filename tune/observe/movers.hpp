// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Finds others that move processes, pages or interrupts of the node: `irqbalance`, `numad` (by names
/// of processes of root and of this user), `AutoNUMA` (sys/kernel/numa_balancing), `sched_ext` (its state).
class MoverReader {
  public:
    MoverReader(std::string proc, std::string sys) : proc_(std::move(proc)), sys_(std::move(sys)) {}

    /// @param[in] all look at the names of all processes; else of those that are new, at two looks: until it
    ///                executes its program, a process has its parent's name
    /// @return their names, in order
    std::vector<std::string> read(Text &text, bool all);

  private:
    struct Process {
        std::int32_t number;
        int looks;
        int mover;  ///< of those known by name; -1: none
        ino_t file; ///< of its directory: another process under this number has another one
    };
    void list();
    int mover_of(Text &text, std::int32_t number) const;
    bool has_ended(std::int32_t number) const;

    std::string proc_, sys_;
    std::vector<Process> processes_, before_; ///< by number
    bool looked_ = false;
};

/// @return whether processes of all users can be seen: not where /proc is mounted with `hidepid`, and this
/// user is not in the group that may (`gid=`)
bool sees_all_processes(Text &text, const std::string &proc);

/// @brief What is said where it does not.
inline constexpr std::string_view hidden_processes =
    "other movers and jobs: processes of other users cannot be seen, as /proc is mounted with hidepid";

/// @return whether a process has DLB's library in its memory
bool has_dlb(Text &text, const std::string &proc, const TaskId &rank);

} // namespace rankwise::tune
