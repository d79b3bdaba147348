// SPDX-License-Identifier: BSD-3-Clause
#include "observe/numa_pages.hpp"

#include <algorithm>

namespace rankwise::tune {
namespace {

constexpr std::uint64_t most_nodes = 1024; // MAX_NUMNODES

} // namespace

std::vector<std::uint64_t> parse_numa_maps(std::string_view maps) {
    std::vector<std::uint64_t> pages, here;
    while (!maps.empty()) {
        auto line = next_line(maps);
        std::uint64_t kib = 4, own = 0, all = 0;
        here.assign(here.size(), 0);
        next_word(line); // where it begins
        // Spread on purpose: that is at home nowhere.
        if (const auto policy = next_word(line);
            policy.starts_with("interleave") || policy.starts_with("weighted")) {
            continue;
        }
        for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
            const auto equals = word.find('=');
            if (equals == std::string_view::npos) {
                continue;
            }
            const auto value = as_number(word.substr(equals + 1));
            if (word.starts_with("kernelpagesize_kB=")) {
                kib = value.value_or(4);
            } else if (word.starts_with("anon=")) {
                own = value.value_or(0);
            } else if (const auto node =
                           word[0] == 'N' ? as_number(word.substr(1, equals - 1)) : std::nullopt;
                       node && value && *node < most_nodes) {
                here.resize(std::max<std::size_t>(here.size(), *node + 1));
                here[*node] += *value;
                all += *value;
            }
        }
        if (own < all) {
            continue;
        }
        pages.resize(here.size());
        for (std::size_t node = 0; node < here.size(); ++node) {
            pages[node] += here[node] * (kib / 4);
        }
    }
    return pages;
}

} // namespace rankwise::tune
