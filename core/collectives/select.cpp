// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/select.hpp"

#include <algorithm>

namespace rankwise::collectives {

const Algorithm &select(Library library, const Operation &operation) {
    return library == Library::mpich ? select_mpich(operation) : select_openmpi(operation);
}

std::string_view decide(std::span<const Rule> rules, std::uint32_t size, std::uint64_t bytes) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule &line) {
        return size < line.size_below && bytes < line.bytes_below;
    });
    return rule != rules.end() ? rule->algorithm : rules.back().algorithm;
}

} // namespace rankwise::collectives
