// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "observe/seldom.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief What holds processing units back: cpufreq's highest clock (scaling_max_freq), heat
/// (thermal_throttle) and the power that a package may take (RAPL, in powercap).
class LimitReader {
  public:
    LimitReader(const Node &node, const std::string &sys);

    /// @brief Put each unit's into it.
    /// @param[in,out] pus in the order of the node's
    const Limits &read(Text &text, std::vector<PuSample> &pus);

  private:
    struct Unit {
        KeptFile clock, core, package;
        double highest = 0; ///< clock, in kHz; 0 where it cannot be read
        std::optional<double> clock_limit;
        std::optional<std::uint64_t> throttled, throttled_before;
    };
    struct Zone {
        std::string name;
        KeptFile power;
    };
    void look(Text &text);
    void find_zones(Text &text, const std::string &powercap);

    std::vector<Unit> units_;
    std::vector<Zone> zones_;
    Limits limits_;
    Seldom due_{5};
};

} // namespace rankwise::tune
