// SPDX-License-Identifier: BSD-3-Clause
#include "observe/limits.hpp"

#include <algorithm>
#include <array>

#include "observe/rank_page.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_packages = 256;

std::optional<std::uint64_t> number_in(KeptFile &file, Text &text) {
    if (!file.read(text)) {
        return std::nullopt;
    }
    auto line = text.view();
    return as_number(next_word(line));
}

} // namespace

LimitReader::LimitReader(const Node &node, const std::string &sys) {
    Text text;
    for (const auto &pu : node.pus) {
        const auto path = sys + "/devices/system/cpu/cpu" + std::to_string(pu.os);
        auto &unit = units_.emplace_back();
        unit.clock = KeptFile(path + "/cpufreq/scaling_max_freq");
        unit.core = KeptFile(path + "/thermal_throttle/core_throttle_count");
        unit.package = KeptFile(path + "/thermal_throttle/package_throttle_count");
        KeptFile highest(path + "/cpufreq/cpuinfo_max_freq");
        unit.highest = static_cast<double>(number_in(highest, text).value_or(0));
    }
    find_zones(text, sys + "/class/powercap");
}

void LimitReader::find_zones(Text &text, const std::string &powercap) {
    for (int package = 0; package < most_packages; ++package) {
        const auto path = powercap + "/intel-rapl:" + std::to_string(package);
        if (!text.read(path + "/name")) {
            break;
        }
        auto line = text.view();
        zones_.push_back({std::string(next_word(line)), KeptFile(path + "/constraint_0_power_limit_uw")});
    }
}

const Limits &LimitReader::read(Text &text, std::vector<PuSample> &pus) {
    const auto began = tick_moment().at;
    if (due_.due(began)) {
        look(text);
        due_.done(began, tick_moment().at);
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
        pus[i].clock_limit = units_[i].clock_limit;
        pus[i].throttled = units_[i].throttled;
    }
    return limits_;
}

void LimitReader::look(Text &text) {
    limits_ = {};
    for (auto &unit : units_) {
        const auto clock = unit.highest > 0 ? number_in(unit.clock, text) : std::nullopt;
        unit.clock_limit.reset();
        if (clock) {
            unit.clock_limit = static_cast<double>(*clock) / unit.highest;
            limits_.clock = std::min(limits_.clock.value_or(1), *unit.clock_limit);
        }
        unit.throttled.reset();
        for (auto *const file : {&unit.core, &unit.package}) {
            if (const auto count = number_in(*file, text)) {
                unit.throttled = unit.throttled.value_or(0) + *count;
            }
        }
        if (unit.throttled) {
            unit.throttled_before =
                std::min(unit.throttled_before.value_or(*unit.throttled), *unit.throttled);
            limits_.throttled =
                std::max(limits_.throttled.value_or(0), *unit.throttled - *unit.throttled_before);
        }
    }
    for (auto &zone : zones_) {
        if (const auto power = number_in(zone.power, text)) {
            limits_.power.push_back({zone.name, static_cast<double>(*power) * 1e-6});
        }
    }
    if (!limits_.throttled) {
        limits_.unknown.emplace_back(
            "throttling by heat: the kernel has no thermal_throttle for these cores");
    }
    if (!limits_.clock) {
        limits_.unknown.emplace_back("the highest clock allowed: the kernel has no cpufreq for these cores");
    }
    if (limits_.power.empty()) {
        limits_.unknown.emplace_back(zones_.empty() ? "power: the kernel has no RAPL in /sys/class/powercap"
                                                    : "power: RAPL's limits may not be read");
    }
}

} // namespace rankwise::tune
