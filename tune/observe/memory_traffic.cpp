// SPDX-License-Identifier: BSD-3-Clause
#include "observe/memory_traffic.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rankwise::tune {

MemoryTraffic::MemoryTraffic(const Node &node, const std::string &sys)
    : controllers_(count_at_caches(node, sys) ? Node{} : node, sys) {}

bool MemoryTraffic::count_at_caches(const Node &node, const std::string &sys) {
    Text text;
    std::map<std::string, std::set<std::int32_t>> caches; // the NUMA nodes that use each
    std::set<std::int32_t> nodes, counted;
    for (const auto &pu : node.pus) {
        if (pu.numa < 0) {
            continue;
        }
        nodes.insert(pu.numa);
        if (text.read(sys + "/devices/system/cpu/cpu" + std::to_string(pu.os) + "/cache/index3/id")) {
            auto line = text.view();
            const std::string cache(next_word(line));
            if (as_number(cache)) {
                caches[cache].insert(pu.numa);
            }
        }
    }
    for (const auto &[cache, used_by] : caches) {
        auto path = sys + "/fs/resctrl/mon_data/mon_L3_";
        path += cache.size() < 2 ? "0" : "";
        path.append(cache).append("/mbm_total_bytes");
        // Of a cache that several nodes have together, nobody says which of them moved what.
        if (used_by.size() == 1 && text.read(path)) {
            counters_.push_back({static_cast<std::size_t>(*used_by.begin()), KeptFile(path)});
            counted.insert(*used_by.begin());
        }
    }
    // One that is not counted would look as if it moved nothing.
    if (counted != nodes) {
        counters_.clear();
    }
    return !counters_.empty();
}

std::string MemoryTraffic::why_not() const {
    return "resctrl does not count it by NUMA node here (mbm_total_bytes), and memory controllers do not "
           "either: " +
           controllers_.why_not();
}

std::vector<std::uint64_t> MemoryTraffic::read(Text &text) {
    if (is_at_memory()) {
        return controllers_.read();
    }
    std::vector<std::uint64_t> bytes;
    for (auto &[numa, file, last, sum] : counters_) {
        if (!file.read(text)) {
            return {};
        }
        auto line = text.view();
        const auto count = as_number(next_word(line)); // not of `Unavailable`, which is said for a moment
        if (!count) {
            return {};
        }
        bytes.resize(std::max(bytes.size(), numa + 1));
        sum += *count - std::min(*count, last);
        last = *count;
        bytes[numa] += sum;
    }
    return bytes;
}

} // namespace rankwise::tune
