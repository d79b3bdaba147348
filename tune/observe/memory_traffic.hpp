// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "observe/memory_controllers.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Bytes that caches and memory have exchanged, by NUMA node: what resctrl counts at each L3
/// (fs/resctrl/mon_data/mon_L3_NN/mbm_total_bytes, where it is mounted), of tasks that are in no group of
/// resctrl's; else what memory controllers count.
class MemoryTraffic {
  public:
    MemoryTraffic(const Node &node, const std::string &sys);

    /// @return by node; empty where one of them is not counted
    std::vector<std::uint64_t> read(Text &text);

    bool is_counted() const { return !counters_.empty() || controllers_.are_counted(); }

    /// @return whether it is counted at the memory itself, not at the caches of those who use it
    bool is_at_memory() const { return counters_.empty(); }

    /// @return why it is not counted, as a sentence
    std::string why_not() const;

  private:
    struct Counter {
        std::size_t numa;
        KeptFile file;
        std::uint64_t last = 0, sum = 0; ///< the kernel begins anew where resctrl is mounted anew
    };
    bool count_at_caches(const Node &node, const std::string &sys);

    std::vector<Counter> counters_;
    MemoryControllers controllers_;
};

} // namespace rankwise::tune
