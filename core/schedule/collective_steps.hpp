// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/operation.hpp"
#include "schedule/rank_program.hpp"

namespace rankwise::replay {

/// @brief Write one rank's messages of a collective; the first round begins where its program is.
///
/// @param[in] members world ranks of the communicator, by rank in it
/// @param[in] tag     of all messages of collectives of that communicator
/// @param[in] combine_ps_per_byte processor time to combine what a reduction receives with the rank's own
/// @return what ends with this rank's part of the collective
std::vector<std::uint32_t> write_collective(RankProgram &program,
                                            std::span<const collectives::CollectiveStep> steps,
                                            std::span<const std::uint32_t> members, std::uint32_t tag,
                                            double combine_ps_per_byte = 0);

} // namespace rankwise::replay
