// SPDX-License-Identifier: BSD-3-Clause
#include "proc/memory_policy.hpp"

#include <algorithm>

#include "proc/pu_list.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {

PuSet nodes_of_policy(std::string_view policy, std::string_view rest) {
    if (policy == "default" || policy == "local") {
        return PuSet{}.set();
    }
    if (!policy.starts_with("bind") && !policy.starts_with("prefer")) {
        return {};
    }
    const auto list = policy.find(':') == std::string_view::npos ? next_word(rest) : policy;
    return parse_pu_list(list.substr(std::min(list.rfind(':') + 1, list.size()))).value_or(PuSet{});
}

} // namespace rankwise::tune
