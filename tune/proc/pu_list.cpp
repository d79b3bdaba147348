// SPDX-License-Identifier: BSD-3-Clause
#include "proc/pu_list.hpp"

#include <algorithm>

#include "proc/text.hpp"

namespace rankwise::tune {

std::optional<PuSet> parse_pu_list(std::string_view text) {
    PuSet set;
    const auto end = std::min(text.find_last_not_of(" \t\n") + 1, text.size());
    text = text.substr(0, end);
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const auto range = text.substr(0, comma);
        const auto dash = std::min(range.find('-'), range.size());
        const auto first = as_number(range.substr(0, dash));
        const auto last = dash < range.size() ? as_number(range.substr(dash + 1)) : first;
        if (!first || !last || *last < *first || *last >= most_pus) {
            return std::nullopt;
        }
        for (auto pu = *first; pu <= *last; ++pu) {
            set.set(pu);
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return set;
}

std::string format_pu_list(const PuSet &set) {
    std::string list;
    for (std::size_t pu = pu_from(set, 0); pu < most_pus; pu = pu_from(set, pu + 1)) {
        const std::size_t first = pu;
        while (pu + 1 < most_pus && set[pu + 1]) {
            ++pu;
        }
        list += (list.empty() ? "" : ",") + std::to_string(first);
        if (pu > first) {
            list += "-" + std::to_string(pu);
        }
    }
    return list;
}

} // namespace rankwise::tune
