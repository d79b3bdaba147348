// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "seconds.hpp"

using Placements = std::vector<rankwise::machine::Placement>;

/// Seconds for each of many placements, of a function that gives picoseconds and needs no Python.
template <class Judge>
NumpyArray<double> times_of_all(const rankwise::machine::Machine &machine, const Placements &placements,
                                std::size_t ranks, const Judge &judge) {
    std::vector<rankwise::machine::Picoseconds> times;
    {
        nanobind::gil_scoped_release unlocked;
        for (const auto &each : placements)
            each.check(machine, ranks);
        times = judge();
    }
    return column<double>(times, [](rankwise::machine::Picoseconds time) { return seconds(time); });
}
