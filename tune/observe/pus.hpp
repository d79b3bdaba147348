// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "observe/seldom.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief By number of an interrupt, how often it came to each unit.
using InterruptCounts = std::map<std::int32_t, std::vector<std::uint64_t>>;

/// @brief Put times of a /proc/stat into the units; those it does not name are offline and keep their counts.
/// @param[in] index of a unit in `pus` by OS number, -1: not asked for
void parse_pu_times(std::string_view stat, double clock_tick_s, const std::vector<int> &index,
                    std::vector<PuSample> &pus);

/// @brief Put interrupts of devices of a /proc/interrupts into the units: those of a number. Timers and what
/// cores send each other come with load, and say nothing of where a device is served.
/// @param[in,out] before counts of the last look, which these take the place of
void parse_interrupts(std::string_view interrupts, const std::vector<int> &index, std::vector<PuSample> &pus,
                      InterruptCounts &before);

/// @brief Of a first look.
inline void parse_interrupts(std::string_view interrupts, const std::vector<int> &index,
                             std::vector<PuSample> &pus) {
    InterruptCounts none;
    parse_interrupts(interrupts, index, pus, none);
}

/// @brief Processing units: /proc/stat, /proc/interrupts, cpufreq.
class PuReader {
  public:
    PuReader(const Node &node, const std::string &proc, const std::string &sys);

    /// @brief Interrupts and clocks are looked at more seldom where that takes long.
    const std::vector<PuSample> &read(Text &text);

    /// @return when clocks were read last
    Seconds clocks_at() const { return clocks_at_; }

  private:
    void read_capacities(Text &text);
    void read_clocks(Text &text);
    void read_isolated(Text &text);
    std::int32_t numa_of_line(std::int32_t line, Text &text);

    std::vector<PuSample> pus_;
    std::vector<int> index_ = std::vector<int>(most_pus, -1);
    std::map<std::int32_t, std::int32_t> numa_of_line_;
    std::string proc_, sys_;
    KeptFile stat_, interrupts_;
    InterruptCounts counts_;
    std::vector<KeptFile> clocks_;
    std::vector<double> highest_; ///< clock, in kHz; 0 where it cannot be read
    Seldom interrupts_due_{0}, clocks_due_{0.5};
    double clock_tick_s_;
    Seconds clocks_at_ = 0;
};

} // namespace rankwise::tune
