// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "decide/observation.hpp"
#include "placement/problem.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief An Observation as `place` sees a program: slots, who talks to whom, and what ranks load.
struct Problem {
    std::vector<PuSet> slots;             ///< as many units each as a rank has
    std::vector<placement::Slot> current; ///< of each rank; where it ran last if ranks are not bound
    bool bound = true;                    ///< each rank has units of its own
    placement::Hierarchy hierarchy;
    placement::CommMatrix matrix;
    placement::Loads loads;
    std::string refused; ///< why there is none
};

/// @brief Levels that two slots may have in common, widest first, and what `Node::links` is in the order of.
enum Level { network, node, package, numa, l3, l2, core, levels };

Problem make_problem(const Observation &observation, const Node &node, const PuSet &allowed);

} // namespace rankwise::tune
