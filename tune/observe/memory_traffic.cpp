// SPDX-License-Identifier: BSD-3-Clause
#include "observe/memory_traffic.hpp"

#include <algorithm>
#include <set>

namespace rankwise::tune {

MemoryTraffic::MemoryTraffic(const Node &node, const std::string &sys) {
    Text text;
    std::set<std::string> seen;
    const std::string data = sys + "/fs/resctrl/mon_data/mon_L3_";
    for (const auto &pu : node.pus) {
        if (pu.numa < 0 ||
            !text.read(sys + "/devices/system/cpu/cpu" + std::to_string(pu.os) + "/cache/index3/id")) {
            continue;
        }
        auto line = text.view();
        std::string cache(next_word(line));
        if (!as_number(cache) || !seen.insert(cache).second) {
            continue;
        }
        cache.insert(0, cache.size() < 2 ? 2 - cache.size() : 0, '0');
        const auto path = std::string(data).append(cache).append("/mbm_total_bytes");
        if (text.read(path)) {
            counters_.push_back({static_cast<std::size_t>(pu.numa), KeptFile(path)});
        }
    }
}

std::vector<std::uint64_t> MemoryTraffic::read(Text &text) {
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
