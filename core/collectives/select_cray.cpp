// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/registry.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {
namespace {

// MPICH_ALLREDUCE_MAX_SMP_SIZE and MPICH_ALLTOALL_SHORT_MSG (by ranks, its largest), as Cray MPICH 8 prints
// its settings; up to them an allreduce goes by nodes, and an alltoall by few rounds.
constexpr std::uint64_t allreduce_by_nodes = 262144, alltoall_short = 512;
// Of all blocks together; larger ones go round the ring. Not published: IMB's times of 128, 512 and 2048
// ranks of ARCHER2 step between 32 and 64 KiB.
constexpr std::uint64_t allgather_short = 32768;
constexpr std::uint32_t few_ranks = 8;

std::uint64_t all_blocks(const Operation &operation) {
    return operation.total_bytes > 0 ? operation.total_bytes : operation.bytes * operation.size;
}

std::string_view name_of(const Operation &operation) {
    switch (operation.collective) {
    case Collective::bcast:
        return "smp_tree";
    case Collective::allreduce:
        return operation.commutative && operation.bytes <= allreduce_by_nodes ? "smp_tree"
                                                                              : std::string_view{};
    case Collective::allgather:
    case Collective::allgatherv:
        return all_blocks(operation) <= allgather_short ? "smp_gather_bcast" : "ring";
    case Collective::alltoall:
        if (operation.in_place) {
            return {};
        }
        return operation.size >= few_ranks && operation.bytes <= alltoall_short ? "bruck" : "throttled";
    case Collective::alltoallv:
        return operation.in_place ? std::string_view{} : "throttled";
    default:
        return {};
    }
}

} // namespace

const Algorithm &select_cray(const Operation &operation) {
    const std::string_view name = operation.nonblocking ? std::string_view{} : name_of(operation);
    return name.empty() ? select_mpich(operation) : find_algorithm(operation.collective, name);
}

} // namespace rankwise::collectives
