// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Bytes that caches and memory have exchanged, by NUMA node: what resctrl counts at each L3
/// (fs/resctrl/mon_data/mon_L3_NN/mbm_total_bytes, where it is mounted), of tasks that are in no group of
/// resctrl's.
class MemoryTraffic {
  public:
    MemoryTraffic(const Node &node, const std::string &sys);

    /// @return by node; empty where one of them is not counted
    std::vector<std::uint64_t> read(Text &text);

    bool is_counted() const { return !counters_.empty(); }

  private:
    struct Counter {
        std::size_t numa;
        KeptFile file;
        std::uint64_t last = 0, sum = 0; ///< the kernel begins anew where resctrl is mounted anew
    };
    std::vector<Counter> counters_;
};

} // namespace rankwise::tune
