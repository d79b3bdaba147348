// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "collectives/node_partition.hpp"
#include "collectives/registry.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {
namespace {

// Thresholds in bytes, of MPICH's generic selection rules (the same in 4.0 to 5.0), also found in Thakur,
// Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH" (2005).
constexpr std::uint64_t bcast_short = 12288, bcast_long = 524288;
constexpr std::uint64_t reduce_short = 2048, allreduce_short = 8, iallreduce_short = 2048;
constexpr std::uint64_t mpich2_allreduce_short = 2048;
constexpr std::uint64_t allgather_short = 81920, allgather_long = 524288, reduce_scatter_long = 524288;
constexpr std::uint64_t alltoall_short = 256, ialltoall_short = 2048, alltoall_medium = 32768;
constexpr std::uint64_t allreduce_by_nodes = 32768;
constexpr std::uint32_t few_ranks = 8;

std::string_view bcast(const Operation &operation) {
    // The blocking rules include the limit, the nonblocking ones do not.
    const auto up_to = [&](std::uint64_t limit) {
        return operation.nonblocking ? operation.bytes < limit : operation.bytes <= limit;
    };
    if (operation.size < few_ranks || up_to(bcast_short)) {
        return "binomial";
    }
    return std::has_single_bit(operation.size) && up_to(bcast_long) ? "scatter_recursive_doubling_allgather"
                                                                    : "scatter_ring_allgather";
}

// Halving needs an element for each of the power of two of ranks.
bool can_be_halved(const Operation &operation) {
    return operation.bytes / std::max<std::uint32_t>(operation.element_bytes, 1) >=
           std::bit_floor(operation.size);
}

std::string_view allgather(const Operation &operation) {
    const std::uint64_t total =
        operation.total_bytes > 0 ? operation.total_bytes : operation.bytes * operation.size;
    if (std::has_single_bit(operation.size)) {
        return total < allgather_long ? "recursive_doubling" : "ring";
    }
    return total < allgather_short ? "bruck" : "ring";
}

std::string_view alltoall(const Operation &operation) {
    if (operation.in_place) {
        return "pairwise";
    }
    const std::uint64_t short_limit = operation.nonblocking ? ialltoall_short : alltoall_short;
    if (operation.size >= few_ranks && operation.bytes <= short_limit) {
        return "bruck";
    }
    return operation.bytes <= alltoall_medium ? "linear" : "pairwise";
}

// Whether a part is done within each node: the rules of MPICH's device ch4, the same in 4.0 to 5.0. Empty: it
// is not.
std::string_view composition_of(const Operation &operation) {
    if (operation.nonblocking || operation.nodes == nullptr || !operation.nodes->has_levels()) {
        return {};
    }
    switch (operation.collective) {
    case Collective::barrier:
        return "composition_alpha";
    case Collective::bcast:
        if (operation.size < few_ranks || operation.bytes < bcast_short) {
            return "composition_alpha";
        }
        return std::has_single_bit(operation.size) && operation.bytes < bcast_long ? "composition_beta"
                                                                                   : std::string_view{};
    case Collective::reduce:
        if (!operation.commutative) {
            return {};
        }
        return operation.bytes <= reduce_short ? "composition_beta" : "composition_alpha";
    case Collective::allreduce:
        return operation.commutative && operation.bytes <= allreduce_by_nodes ? "composition_alpha"
                                                                              : std::string_view{};
    case Collective::scan:
        return operation.nodes->is_consecutive() ? "composition_alpha" : std::string_view{};
    default:
        return {};
    }
}

std::string_view name_of(const Operation &operation) {
    if (const std::string_view composition = composition_of(operation); !composition.empty()) {
        return composition;
    }
    switch (operation.collective) {
    case Collective::barrier:
        // k-dissemination with k = 2; the nonblocking one is called recursive doubling, but sends the same
        // messages.
        return "dissemination";
    case Collective::bcast:
        return bcast(operation);
    case Collective::reduce:
        if (!operation.commutative) {
            return "ordered_binomial";
        }
        return operation.bytes > reduce_short && can_be_halved(operation) ? "rabenseifner" : "binomial";
    case Collective::allreduce: {
        const std::uint64_t limit = operation.nonblocking ? iallreduce_short : allreduce_short;
        return operation.bytes > limit && can_be_halved(operation) && operation.commutative
                   ? "rabenseifner"
                   : "recursive_doubling";
    }
    case Collective::allgather:
    case Collective::allgatherv:
        return allgather(operation);
    case Collective::alltoall:
        return alltoall(operation);
    case Collective::alltoallv:
    case Collective::alltoallw:
        return operation.in_place ? "pairwise" : "linear";
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: {
        const std::uint64_t total =
            operation.total_bytes > 0 ? operation.total_bytes : operation.bytes * operation.size;
        return total < reduce_scatter_long ? "recursive_halving" : "pairwise";
    }
    case Collective::scan:
    case Collective::exscan:
        return "recursive_doubling";
    case Collective::gather:
    case Collective::scatter:
        return "binomial";
    default:
        return "linear"; // gatherv, scatterv
    }
}

} // namespace

const Algorithm &select_mpich2(const Operation &operation) {
    // Of blocking operations these are the rules of today, but for reductions of more than one element.
    if (operation.collective == Collective::allreduce && operation.bytes <= mpich2_allreduce_short) {
        return find_algorithm(Collective::allreduce, "recursive_doubling");
    }
    return select_mpich(operation);
}

const Algorithm &select_mpich(const Operation &operation) {
    return find_algorithm(operation.collective, name_of(operation));
}

} // namespace rankwise::collectives
