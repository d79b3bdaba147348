// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/select.hpp"

#include <algorithm>

namespace rankwise::collectives {

const Algorithm &select(Library library, const Operation &operation) {
    if (library == Library::mpich) {
        return select_mpich(operation);
    }
    if (library == Library::cray) {
        return select_cray(operation);
    }
    Operation asked = operation;
    if (library == Library::openmpi_4 || library == Library::mpich2) {
        asked.nodes = nullptr;
    }
    return library == Library::mpich2 ? select_mpich2(asked) : select_openmpi(asked);
}

bool goes_by_nodes(Library library, Collective collective) {
    switch (collective) {
    case Collective::barrier:
    case Collective::bcast:
    case Collective::reduce:
    case Collective::allreduce:
        return library == Library::mpich || library == Library::cray || library == Library::openmpi;
    case Collective::allgather:
    // Some of their algorithms are made of the others.
    case Collective::allgatherv:
        return library == Library::cray || library == Library::openmpi;
    case Collective::gather:
    case Collective::scatter:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
        return library == Library::openmpi;
    case Collective::scan:
        return library == Library::mpich || library == Library::cray;
    default:
        return false;
    }
}

std::string_view decide(std::span<const Rule> rules, std::uint32_t size, std::uint64_t bytes) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule &line) {
        return size < line.size_below && bytes < line.bytes_below;
    });
    return rule != rules.end() ? rule->algorithm : rules.back().algorithm;
}

} // namespace rankwise::collectives
