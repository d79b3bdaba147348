// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "collectives/node_partition.hpp"
#include "collectives/openmpi_rules.hpp"
#include "collectives/registry.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {
namespace {

std::uint64_t elements(const Operation &operation) {
    return operation.bytes / std::max<std::uint32_t>(operation.element_bytes, 1);
}

std::uint64_t total_bytes(const Operation &operation) {
    return operation.total_bytes > 0 ? operation.total_bytes : operation.bytes * operation.size;
}

// What `tuned` decides; then what its algorithms do instead where they cannot run.
std::string_view allreduce(const Operation &operation) {
    const std::span<const Rule> rules =
        operation.commutative ? std::span<const Rule>(allreduce_rules) : allreduce_noncommutative_rules;
    const auto name = decide(rules, operation.size, operation.bytes);
    if (name == "ring" && elements(operation) < operation.size) {
        return "recursive_doubling";
    }
    if (name == "rabenseifner_halves" && elements(operation) < std::bit_floor(operation.size)) {
        return "linear";
    }
    return name;
}

std::string_view reduce(const Operation &operation) {
    const std::span<const Rule> rules =
        operation.commutative ? std::span<const Rule>(reduce_rules) : reduce_noncommutative_rules;
    const auto name = decide(rules, operation.size, operation.bytes);
    if (name == "rabenseifner_halves" && elements(operation) < std::bit_floor(operation.size)) {
        return "linear";
    }
    return name;
}

std::string_view allgather(std::string_view name, std::uint32_t size) {
    if (name == "recursive_doubling" && !std::has_single_bit(size)) {
        return "bruck";
    }
    return name == "neighbor_exchange" && size % 2 != 0 ? "ring" : name;
}

std::string_view blocking(const Operation &operation) {
    switch (operation.collective) {
    case Collective::barrier:
        return decide(barrier_rules, operation.size, 0);
    case Collective::bcast:
        return decide(bcast_rules, operation.size, operation.bytes);
    case Collective::reduce:
        return reduce(operation);
    case Collective::allreduce:
        return allreduce(operation);
    case Collective::allgather:
        return allgather(decide(allgather_rules, operation.size, operation.bytes), operation.size);
    case Collective::allgatherv:
        return allgather(decide(allgatherv_rules, operation.size, total_bytes(operation) / operation.size),
                         operation.size);
    case Collective::alltoall:
        return operation.in_place ? "pairwise" : decide(alltoall_rules, operation.size, operation.bytes);
    case Collective::gather:
        return decide(gather_rules, operation.size, operation.bytes);
    case Collective::scatter:
        return decide(scatter_rules, operation.size, operation.bytes);
    case Collective::reduce_scatter:
        return operation.commutative ? decide(reduce_scatter_rules, operation.size, total_bytes(operation))
                                     : "nonoverlapping";
    case Collective::reduce_scatter_block:
        return operation.commutative ? decide(reduce_scatter_block_rules, operation.size, operation.bytes)
                                     : "nonoverlapping";
    default:
        return "linear"; // scan, exscan, gatherv, scatterv, alltoallv, alltoallw
    }
}

// Whether `han` is asked before `tuned`, and does it.
bool by_han(const Operation &operation) {
    if (operation.nonblocking || operation.nodes == nullptr || !operation.nodes->has_levels()) {
        return false;
    }
    switch (operation.collective) {
    case Collective::barrier:
        return true;
    case Collective::allreduce:
        return operation.commutative;
    case Collective::reduce:
        return operation.commutative && operation.nodes->is_even();
    case Collective::bcast:
    case Collective::gather:
    case Collective::scatter:
    case Collective::allgather:
        return operation.nodes->is_even();
    default:
        return false;
    }
}

// The rules of `libnbc`, in bytes.
std::string_view nonblocking(const Operation &operation) {
    constexpr std::uint64_t long_message = 65536;
    const bool can_be_halved = elements(operation) >= std::bit_floor(operation.size);
    switch (operation.collective) {
    case Collective::barrier:
        return "dissemination";
    case Collective::bcast:
        return operation.size <= 4 ? "linear" : "exchanged_strided_binomial";
    case Collective::reduce:
        if (operation.commutative && operation.size > 2 && can_be_halved) {
            return "rabenseifner_halves";
        }
        if (!operation.commutative) {
            return "ordered_binomial";
        }
        return operation.size > 4 || operation.bytes < long_message ? "exchanged_binomial"
                                                                    : "segmented_chain";
    case Collective::allreduce:
        if (operation.size < 4 || operation.bytes < long_message || !operation.commutative ||
            operation.in_place) {
            return "reduce_bcast";
        }
        return can_be_halved ? "rabenseifner_halves" : "ring";
    case Collective::alltoall:
        return operation.in_place ? "pairwise" : "linear";
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
        return "reduce_scatterv";
    default:
        return "linear";
    }
}

} // namespace

const Algorithm &select_openmpi(const Operation &operation) {
    if (by_han(operation)) {
        return find_algorithm(operation.collective, "han");
    }
    return find_algorithm(operation.collective,
                          operation.nonblocking ? nonblocking(operation) : blocking(operation));
}

} // namespace rankwise::collectives
