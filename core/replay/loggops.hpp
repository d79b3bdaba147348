// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "replay/prediction.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// Parameters of the LogGOPS model (Hoefler, Schneider, Lumsdaine: LogGOPSim, 2010), one set for all
/// messages.
struct LogGOPS {
    Picoseconds L = 0;                   ///< latency
    Picoseconds o = 0;                   ///< processor time of a message at each end
    Picoseconds g = 0;                   ///< gap between messages of an interface
    double G = 0;                        ///< gap per byte, picoseconds
    double O = 0;                        ///< processor time per byte, picoseconds
    std::uint64_t S = ~std::uint64_t{0}; ///< largest eager message, bytes
};

/// @brief Replay with plain LogGOPS: nothing is shared but each rank's own processors and interfaces.
///
/// Follows formats/plain_loggops.md rule by rule, which is what LogGOPSim computes.
///
/// @throws Error deadlock, with the ranks and operations in the circle; messages left over (wildcards)
Prediction replay_loggops(const Schedule &schedule, const Matching &matching, const LogGOPS &parameters);

} // namespace rankwise::replay
