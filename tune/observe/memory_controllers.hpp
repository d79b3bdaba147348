// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "counters/memory_controllers.h"
#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Bytes that memory controllers read and wrote, by NUMA node, of all programs: perf's counters of
/// them (uncore_imc, amd_umc), which are of a package.
///
/// They are opened only where somebody asks for what they count: a node of several NUMA nodes, of whose
/// memory a machine file says what it has. Controllers have few counters, and others want them, too.
class MemoryControllers {
  public:
    MemoryControllers(const Node &node, const std::string &sys);

    /// @return by node, since they were opened; empty where one of them is not counted
    std::vector<std::uint64_t> read();

    bool are_counted() const { return !counters_.empty(); }

    /// @return why they are not: a part of a sentence
    const std::string &why_not() const { return why_not_; }

  private:
    struct Counter {
        rw_controller_event event;
        std::size_t numa;
        Descriptor file;
    };
    std::string open(const Node &node, const std::string &sys);

    std::vector<Counter> counters_;
    std::vector<std::uint64_t> most_; ///< an estimate may go back where counters take turns
    std::string why_not_;
};

} // namespace rankwise::tune
