// SPDX-License-Identifier: BSD-3-Clause
#include "observe/pus.hpp"

#include <algorithm>
#include <array>
#include <unistd.h>

#include "observe/rank_page.hpp"
#include "proc/pu_list.hpp"

namespace rankwise::tune {
namespace {

constexpr std::string_view cpu = "cpu";
// Highest clocks that differ by less are those of cores of one kind, some of which may be clocked higher
// while others sleep: hwloc tells kinds of cores so, too (HWLOC_CPUKINDS_MAXFREQ=adjust=10).
constexpr double same_kind = 0.9;

PuSample *unit_of(std::string_view number, const std::vector<int> &index, std::vector<PuSample> &pus) {
    const auto os = as_number(number);
    if (!os || *os >= index.size() || index[*os] < 0) {
        return nullptr;
    }
    return &pus[static_cast<std::size_t>(index[*os])];
}

} // namespace

void parse_pu_times(std::string_view stat, double clock_tick_s, const std::vector<int> &index,
                    std::vector<PuSample> &pus) {
    enum { user, nice, system, idle, iowait, irq, softirq, steal, columns };
    for (auto &pu : pus) {
        pu.online = false;
    }
    while (stat.starts_with(cpu)) {
        auto line = next_line(stat);
        const auto name = next_word(line);
        auto *const pu = unit_of(name.substr(cpu.size()), index, pus); // none for the first line, of all
        if (pu == nullptr) {
            continue;
        }
        std::array<double, columns> times{};
        for (auto &time : times) {
            time = static_cast<double>(as_number(next_word(line)).value_or(0)) * clock_tick_s;
        }
        pu->online = true;
        pu->interrupt = times[irq] + times[softirq];
        pu->stolen = times[steal];
        pu->busy = times[user] + times[nice] + times[system] + pu->interrupt;
    }
}

void parse_interrupts(std::string_view interrupts, const std::vector<int> &index, std::vector<PuSample> &pus,
                      InterruptCounts &before) {
    constexpr std::string_view upper = "CPU";
    std::vector<PuSample *> columns; // of CPUs that are online
    auto head = next_line(interrupts);
    for (auto word = next_word(head); word.starts_with(upper); word = next_word(head)) {
        columns.push_back(unit_of(word.substr(upper.size()), index, pus));
        if (columns.back() != nullptr) {
            columns.back()->interrupts = 0;
            columns.back()->line = -1;
        }
    }
    std::vector<std::uint64_t> most(pus.size()), all(pus.size());
    while (!interrupts.empty()) {
        auto line = next_line(interrupts);
        const auto name = next_word(line);
        const auto number = as_number(name.substr(0, name.find(':')));
        if (!number) {
            continue;
        }
        const auto [known, is_new] = before.try_emplace(static_cast<std::int32_t>(*number), pus.size());
        for (auto *const column : columns) {
            const auto count = as_number(next_word(line));
            if (!count) {
                break;
            }
            if (column != nullptr) {
                column->interrupts += *count;
                const auto unit = static_cast<std::size_t>(column - pus.data());
                const auto came = *count - std::min(*count, known->second[unit]);
                known->second[unit] = *count;
                all[unit] += is_new ? 0 : came;
                if (!is_new && came > most[unit]) {
                    most[unit] = came;
                    column->line = known->first;
                }
            }
        }
    }
    for (std::size_t unit = 0; unit < pus.size(); ++unit) {
        pus[unit].line_share =
            all[unit] > 0 ? static_cast<double>(most[unit]) / static_cast<double>(all[unit]) : 1;
    }
}

PuReader::PuReader(const Node &node, const std::string &proc, const std::string &sys)
    : proc_(proc), sys_(sys), stat_(proc + "/stat"), interrupts_(proc + "/interrupts"),
      clock_tick_s_(1.0 / static_cast<double>(std::max(sysconf(_SC_CLK_TCK), 1L))) {
    Text text;
    for (const auto &pu : node.pus) {
        index_[static_cast<std::size_t>(pu.os)] = static_cast<int>(pus_.size());
        pus_.push_back({.os = pu.os});
        const auto path = sys + "/devices/system/cpu/cpu" + std::to_string(pu.os) + "/cpufreq/";
        clocks_.emplace_back(path + "scaling_cur_freq");
        std::optional<std::uint64_t> highest;
        if (text.read(path + "cpuinfo_max_freq")) {
            auto line = text.view();
            highest = as_number(next_word(line));
        }
        highest_.push_back(static_cast<double>(highest.value_or(0)));
    }
    read_capacities(text);
}

/// As the kernel says, else by the highest clocks.
void PuReader::read_capacities(Text &text) {
    std::vector<double> found;
    for (const auto &pu : pus_) {
        if (text.read(sys_ + "/devices/system/cpu/cpu" + std::to_string(pu.os) + "/cpu_capacity")) {
            auto line = text.view();
            found.push_back(static_cast<double>(as_number(next_word(line)).value_or(0)));
        }
    }
    const bool by_clock = found.size() < pus_.size();
    if (by_clock) {
        found = highest_;
    }
    const double most = found.empty() ? 0 : std::ranges::max(found);
    for (std::size_t i = 0; i < pus_.size(); ++i) {
        const double capacity = found[i] > 0 ? found[i] / most : 1;
        pus_[i].capacity = by_clock && capacity > same_kind ? 1 : capacity;
    }
}

void PuReader::read_clocks(Text &text) {
    for (std::size_t i = 0; i < pus_.size(); ++i) {
        if (highest_[i] > 0 && clocks_[i].read(text)) {
            auto line = text.view();
            if (const auto clock = as_number(next_word(line))) {
                pus_[i].clock = static_cast<double>(*clock) / highest_[i];
            }
        }
    }
}

/// By the boot loader's line, and by control groups since.
void PuReader::read_isolated(Text &text) {
    PuSet isolated;
    for (const auto *const file : {"/devices/system/cpu/isolated", "/devices/system/cpu/nohz_full",
                                   "/fs/cgroup/cpuset.cpus.isolated"}) {
        if (text.read(sys_ + file)) {
            isolated |= parse_pu_list(text.view()).value_or(PuSet{}); // "(null)" without any
        }
    }
    for (auto &pu : pus_) {
        pu.isolated = isolated.test(static_cast<std::size_t>(pu.os));
    }
}

std::int32_t PuReader::numa_of_line(std::int32_t line, Text &text) {
    if (line < 0) {
        return -1;
    }
    const auto [known, is_new] = numa_of_line_.try_emplace(line, -1);
    if (is_new && text.read(proc_ + "/irq/" + std::to_string(line) + "/node")) {
        auto content = text.view();
        // "-1" where the device is near to none.
        if (const auto node = as_number(next_word(content))) {
            known->second = static_cast<std::int32_t>(*node);
        }
    }
    return known->second;
}

const std::vector<PuSample> &PuReader::read(Text &text) {
    if (stat_.read(text)) {
        parse_pu_times(text.view(), clock_tick_s_, index_, pus_);
    }
    auto began = tick_moment().at;
    if (interrupts_due_.due(began) && interrupts_.read(text)) {
        parse_interrupts(text.view(), index_, pus_, counts_);
        for (auto &pu : pus_) {
            pu.line_numa = numa_of_line(pu.line, text);
        }
        interrupts_due_.done(began, tick_moment().at);
    }
    began = tick_moment().at;
    if (clocks_due_.due(began)) {
        read_clocks(text);
        clocks_at_ = began;
        read_isolated(text);
        clocks_due_.done(began, tick_moment().at);
    }
    return pus_;
}

} // namespace rankwise::tune
