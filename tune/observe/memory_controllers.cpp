// SPDX-License-Identifier: BSD-3-Clause
#include "observe/memory_controllers.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "counters/seccomp.h"

namespace rankwise::tune {
namespace {

constexpr std::size_t most_events = 512;

/// Of each package that is one NUMA node, that; -1 of those that are several.
std::map<std::int32_t, std::int32_t> numa_of_packages(const Node &node) {
    std::map<std::int32_t, std::int32_t> found;
    for (const auto &pu : node.pus) {
        const auto [at, is_new] = found.emplace(pu.package, pu.numa);
        if (!is_new && at->second != pu.numa) {
            at->second = -1;
        }
    }
    return found;
}

std::set<std::int32_t> numa_nodes(const Node &node) {
    std::set<std::int32_t> found;
    for (const auto &pu : node.pus) {
        if (pu.numa >= 0) {
            found.insert(pu.numa);
        }
    }
    return found;
}

} // namespace

MemoryControllers::MemoryControllers(const Node &node, const std::string &sys) : why_not_(open(node, sys)) {
    if (!why_not_.empty()) {
        counters_.clear();
    }
}

std::string MemoryControllers::open(const Node &node, const std::string &sys) {
    const auto nodes = numa_nodes(node);
    if (nodes.size() < 2) {
        return "there is only one NUMA node";
    }
    if (node.memory_bytes_per_s <= 0) {
        return "no machine file says what its memory has";
    }
    std::vector<rw_controller_event> events(most_events);
    int unknown = 0;
    const int found = rw_find_controller_events((sys + "/bus/event_source/devices").c_str(), events.data(),
                                                most_events, &unknown);
    // One that is not counted would look as if it moved nothing.
    if (unknown != 0) {
        return "the kernel does not say what they count";
    }
    if (found <= 0) {
        return "the kernel has no counters of them";
    }
    if (static_cast<std::size_t>(found) > most_events) {
        return "there are more than " + std::to_string(most_events) + " of them";
    }
    events.resize(static_cast<std::size_t>(found));
    const auto of_package = numa_of_packages(node);
    std::vector<std::size_t> numa_of_event;
    std::set<std::int32_t> counted;
    for (const auto &event : events) {
        const auto pu = std::ranges::find(node.pus, event.cpu, &Pu::os);
        if (pu == node.pus.end() || pu->package < 0) {
            return "the package of CPU " + std::to_string(event.cpu) + " is not known";
        }
        const auto numa = of_package.at(pu->package);
        if (numa < 0) {
            return "they count several NUMA nodes together";
        }
        numa_of_event.push_back(static_cast<std::size_t>(numa));
        counted.insert(numa);
    }
    if (counted != nodes) {
        return "not every NUMA node has one";
    }
    if (const auto *const kills = rw_perf_kills()) {
        return kills;
    }
    for (std::size_t at = 0; at < events.size(); ++at) {
        Descriptor file(rw_open_controller_event(&events[at]));
        if (!file) {
            return "the kernel does not allow to open them: " + std::generic_category().message(errno);
        }
        counters_.push_back({events[at], numa_of_event[at], std::move(file)});
    }
    return "";
}

std::vector<std::uint64_t> MemoryControllers::read() {
    std::vector<double> bytes;
    for (const auto &[event, numa, file] : counters_) {
        bytes.resize(std::max(bytes.size(), numa + 1));
        if (rw_read_controller_event(&event, file.number(), &bytes[numa]) == 0) {
            return {};
        }
    }
    most_.resize(bytes.size());
    for (std::size_t numa = 0; numa < bytes.size(); ++numa) {
        most_[numa] = std::max(most_[numa], static_cast<std::uint64_t>(bytes[numa]));
    }
    return most_;
}

} // namespace rankwise::tune
