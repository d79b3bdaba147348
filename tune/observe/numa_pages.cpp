// SPDX-License-Identifier: BSD-3-Clause
#include "observe/numa_pages.hpp"

#include <algorithm>

#include "proc/memory_policy.hpp"

namespace rankwise::tune {
namespace {

constexpr std::uint64_t most_nodes = 1024; // MAX_NUMNODES

} // namespace

NumaPages parse_numa_maps(std::string_view maps, const PuSet &allowed) {
    NumaPages pages;
    std::vector<std::uint64_t> here;
    while (!maps.empty()) {
        auto line = next_line(maps);
        std::uint64_t kib = 4, own = 0, all = 0;
        here.assign(here.size(), 0);
        next_word(line); // where it begins
        const auto policy = next_word(line);
        // Spread on purpose: that is at home nowhere.
        if (policy.starts_with("interleave") || policy.starts_with("weighted")) {
            continue;
        }
        const auto may_be_on = nodes_of_policy(policy, line) & allowed;
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
        pages.on.resize(std::max(pages.on.size(), here.size()));
        for (std::size_t node = 0; node < here.size(); ++node) {
            pages.on[node] += here[node] * (kib / 4);
        }
        if (may_be_on.all()) {
            continue;
        }
        pages.bound += all * (kib / 4);
        for (auto node = pu_from(may_be_on, 0); node < most_nodes; node = pu_from(may_be_on, node + 1)) {
            pages.bound_to.resize(std::max(pages.bound_to.size(), node + 1));
            pages.bound_to[node] += all * (kib / 4);
        }
    }
    return pages;
}

} // namespace rankwise::tune
