// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/resources/shared_core.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Which ranks share a core under a placement; on emulated machines these can be of different nodes.
struct SharedCores {
    SharedCores(const Schedule &schedule, const machine::Machine &machine,
                const machine::Placement &placement);

    bool empty() const noexcept { return core_of.empty(); }
    /// @return the shared core of a rank, `any` if it has its own
    std::uint32_t of(std::uint32_t rank) const noexcept { return empty() ? any : core_of[rank]; }

    std::vector<std::uint32_t> core_of; ///< of each rank; empty if all have their own
    std::vector<SharedCore> cores;
    std::vector<std::uint32_t> unfinished; ///< of each core: ranks that have not finished
};

} // namespace rankwise::replay
