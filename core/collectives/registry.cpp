// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/registry.hpp"

#include <algorithm>
#include <string>

#include "collectives/algorithms.hpp"
#include "error.hpp"

namespace rankwise::collectives {
namespace {

template <tree_fn tree> void bcast_tree(const Operation &operation, Writer &writer) {
    broadcast_over(tree, operation, writer);
}

template <tree_fn tree> void reduce_tree(const Operation &operation, Writer &writer) {
    reduce_over(tree, operation, writer);
}

void allreduce_reduce_bcast(const Operation &operation, Writer &writer) {
    Operation at_first = operation;
    at_first.root = 0;
    reduce_over(binomial_tree, at_first, writer);
    broadcast_over(strided_binomial_tree, at_first, writer);
}

using enum Collective;

constexpr Algorithm table[] = {
    {"binomial", bcast, &bcast_tree<&binomial_tree>},
    {"strided_binomial", bcast, &bcast_tree<&strided_binomial_tree>},
    {"exchanged_strided_binomial", bcast, &bcast_tree<&exchanged_strided_binomial_tree>},
    {"knomial", bcast, &bcast_tree<&knomial_tree>},
    {"binary", bcast, &bcast_tree<&binary_tree>},
    {"chain", bcast, &bcast_tree<&chain_tree>},
    {"linear", bcast, &bcast_tree<&flat_tree>},
    {"scatter_recursive_doubling_allgather", bcast, &bcast_scatter_recursive_doubling},
    {"scatter_ring_allgather", bcast, &bcast_scatter_ring},
    {"binomial", reduce, &reduce_tree<&binomial_tree>},
    {"exchanged_binomial", reduce, &reduce_tree<&exchanged_binomial_tree>},
    {"ordered_binomial", reduce, &reduce_ordered_binomial},
    {"binary", reduce, &reduce_tree<&binary_tree>},
    {"in_order_binary", reduce, &reduce_in_order_binary},
    {"chain", reduce, &reduce_tree<&chain_tree>},
    {"linear", reduce, &reduce_tree<&flat_tree>},
    {"rabenseifner", reduce, &reduce_rabenseifner},
    {"rabenseifner_halves", reduce, &reduce_rabenseifner_halves},
    {"segmented_chain", reduce, &reduce_segmented_chain},
    {"recursive_doubling", allreduce, &allreduce_recursive_doubling},
    {"rabenseifner", allreduce, &allreduce_rabenseifner},
    {"rabenseifner_halves", allreduce, &allreduce_rabenseifner_halves},
    {"ring", allreduce, &allreduce_ring},
    {"linear", allreduce, &allreduce_linear},
    {"reduce_bcast", allreduce, &allreduce_reduce_bcast},
    {"nonoverlapping", allreduce, &allreduce_nonoverlapping},
    {"binomial", gather, &gather_binomial},
    {"linear", gather, &gather_linear},
    {"linear_sync", gather, &gather_linear_sync},
    {"linear", gatherv, &gather_linear},
    {"binomial", scatter, &scatter_binomial},
    {"linear", scatter, &scatter_linear},
    {"linear", scatterv, &scatter_linear},
    {"ring", allgather, &allgather_ring},
    {"linear", allgather, &allgather_linear},
    {"recursive_doubling", allgather, &allgather_recursive_doubling},
    {"bruck", allgather, &allgather_bruck},
    {"neighbor_exchange", allgather, &allgather_neighbor_exchange},
    {"ring", allgatherv, &allgather_ring},
    {"linear", allgatherv, &allgather_linear},
    {"recursive_doubling", allgatherv, &allgather_recursive_doubling},
    {"bruck", allgatherv, &allgather_bruck},
    {"neighbor_exchange", allgatherv, &allgather_neighbor_exchange},
    {"gather_bcast", allgatherv, &allgatherv_gather_bcast},
    {"pairwise", alltoall, &alltoall_pairwise},
    {"linear", alltoall, &alltoall_linear},
    {"bruck", alltoall, &alltoall_bruck},
    {"pairwise", alltoallv, &alltoall_pairwise},
    {"linear", alltoallv, &alltoall_linear},
    {"pairwise", alltoallw, &alltoall_pairwise},
    {"linear", alltoallw, &alltoall_linear},
    {"recursive_halving", reduce_scatter, &reduce_scatter_recursive_halving},
    {"pairwise", reduce_scatter, &reduce_scatter_pairwise},
    {"ring", reduce_scatter, &reduce_scatter_ring},
    {"reduce_scatterv", reduce_scatter, &reduce_scatter_reduce_scatterv},
    {"nonoverlapping", reduce_scatter, &reduce_scatter_nonoverlapping},
    {"butterfly", reduce_scatter, &reduce_scatter_butterfly},
    {"recursive_halving", reduce_scatter_block, &reduce_scatter_recursive_halving},
    {"pairwise", reduce_scatter_block, &reduce_scatter_pairwise},
    {"reduce_scatterv", reduce_scatter_block, &reduce_scatter_reduce_scatterv},
    {"nonoverlapping", reduce_scatter_block, &reduce_scatter_nonoverlapping},
    {"recursive_doubling", reduce_scatter_block, &reduce_scatter_recursive_doubling},
    {"butterfly", reduce_scatter_block, &reduce_scatter_block_butterfly},
    {"linear", scan, &scan_linear},
    {"recursive_doubling", scan, &scan_recursive_doubling},
    {"linear", exscan, &scan_linear},
    {"recursive_doubling", exscan, &scan_recursive_doubling},
    {"dissemination", barrier, &barrier_dissemination},
    {"recursive_doubling", barrier, &barrier_recursive_doubling},
    {"linear", barrier, &barrier_linear},
    {"tree", barrier, &barrier_tree},
    {"sparbit", allgather, &allgather_sparbit},
    {"bine_doubling", allreduce, &allreduce_bine_doubling},
    {"composition_alpha", bcast, &bcast_composition_alpha},
    {"composition_beta", bcast, &bcast_composition_beta},
    {"composition_alpha", reduce, &reduce_composition_alpha},
    {"composition_beta", reduce, &reduce_composition_beta},
    {"composition_alpha", allreduce, &allreduce_composition_alpha},
    {"composition_alpha", barrier, &barrier_composition_alpha},
    {"composition_alpha", scan, &scan_composition_alpha},
    {"smp_tree", bcast, &bcast_smp_tree},
    {"smp_tree", allreduce, &allreduce_smp_tree},
    {"smp_gather_bcast", allgather, &allgather_smp_gather_bcast},
    {"smp_gather_bcast", allgatherv, &allgather_smp_gather_bcast},
    {"throttled", alltoall, &alltoall_throttled},
    {"throttled", alltoallv, &alltoall_throttled},
    {"han", bcast, &bcast_han},
    {"han", reduce, &reduce_han},
    {"han", allreduce, &allreduce_han},
    {"han", gather, &gather_han},
    {"han", scatter, &scatter_han},
    {"han", allgather, &allgather_han},
    {"han", barrier, &barrier_han},
};

} // namespace

std::span<const Algorithm> algorithms() {
    return table;
}

const Algorithm &find_algorithm(Collective collective, std::string_view name) {
    const auto found = std::find_if(std::begin(table), std::end(table), [&](const Algorithm &algorithm) {
        return algorithm.collective == collective && algorithm.name == name;
    });
    if (found == std::end(table)) {
        throw Error("no algorithm `" + std::string(name) + "` for `" +
                        std::string(collective_name(collective)) + "`",
                    "see docs/internals/collectives.md for the names");
    }
    return *found;
}

void expand(const Algorithm &algorithm, const Operation &operation, std::vector<CollectiveStep> &steps) {
    steps.clear();
    const bool empty = operation.bytes == 0 && operation.total_bytes == 0 && operation.sizes.empty();
    if (operation.size < 2 || (empty && operation.collective != Collective::barrier)) {
        return;
    }
    Writer writer(steps);
    algorithm.expand(operation, writer);
}

} // namespace rankwise::collectives
