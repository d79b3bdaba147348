// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "collectives/algorithms/trees.hpp"
#include "collectives/operation.hpp"

// The algorithms, one family a file. Each writes one rank's steps of one operation; they are joined to names
// in registry.cpp.
namespace rankwise::collectives {

// Over a tree: the whole buffer down to the leaves, or up from them.
void broadcast_over(tree_fn tree, const Operation &operation, Writer &writer);
void reduce_over(tree_fn tree, const Operation &operation, Writer &writer);

// Operators that do not commute: over a tree that keeps the order of ranks, then from its root to that of the
// operation.
void reduce_ordered_binomial(const Operation &operation, Writer &writer);
void reduce_in_order_binary(const Operation &operation, Writer &writer);

// Broadcast of long messages (van de Geijn): the buffer is scattered, then gathered by all.
void bcast_scatter_recursive_doubling(const Operation &operation, Writer &writer);
void bcast_scatter_ring(const Operation &operation, Writer &writer);

// Blocks from or to one rank.
void scatter_binomial(const Operation &operation, Writer &writer);
void scatter_linear(const Operation &operation, Writer &writer);
void gather_binomial(const Operation &operation, Writer &writer);
void gather_linear(const Operation &operation, Writer &writer);
void gather_linear_sync(const Operation &operation, Writer &writer);

// Blocks to everyone.
void allgather_ring(const Operation &operation, Writer &writer);
void allgather_recursive_doubling(const Operation &operation, Writer &writer);
void allgather_linear(const Operation &operation, Writer &writer);
void allgather_bruck(const Operation &operation, Writer &writer);
void allgather_neighbor_exchange(const Operation &operation, Writer &writer); // even sizes
void allgather_sparbit(const Operation &operation, Writer &writer);

// Open MPI's compositions of other operations, each with the algorithm it would choose for that one.
void allreduce_nonoverlapping(const Operation &operation, Writer &writer);
void allgatherv_gather_bcast(const Operation &operation, Writer &writer);
void reduce_scatter_nonoverlapping(const Operation &operation, Writer &writer);

// Open MPI 5's `han`, where ranks of several nodes take part.
void bcast_han(const Operation &operation, Writer &writer);
void reduce_han(const Operation &operation, Writer &writer);
void allreduce_han(const Operation &operation, Writer &writer);
void gather_han(const Operation &operation, Writer &writer);
void scatter_han(const Operation &operation, Writer &writer);
void allgather_han(const Operation &operation, Writer &writer);
void barrier_han(const Operation &operation, Writer &writer);

// MPICH's compositions of what is done within nodes and between them.
void bcast_composition_alpha(const Operation &operation, Writer &writer);
void bcast_composition_beta(const Operation &operation, Writer &writer);
void reduce_composition_alpha(const Operation &operation, Writer &writer);
void reduce_composition_beta(const Operation &operation, Writer &writer);
void allreduce_composition_alpha(const Operation &operation, Writer &writer);
void barrier_composition_alpha(const Operation &operation, Writer &writer);
void scan_composition_alpha(const Operation &operation, Writer &writer);

// Cray MPICH's, over trees within nodes and between them.
void bcast_smp_tree(const Operation &operation, Writer &writer);
void allreduce_smp_tree(const Operation &operation, Writer &writer);
void allgather_smp_gather_bcast(const Operation &operation, Writer &writer);

// Everyone's buffers combined, for everyone.
void allreduce_recursive_doubling(const Operation &operation, Writer &writer);
void allreduce_rabenseifner(const Operation &operation, Writer &writer);
void allreduce_rabenseifner_halves(const Operation &operation, Writer &writer);
void allreduce_ring(const Operation &operation, Writer &writer);
void allreduce_linear(const Operation &operation, Writer &writer);
void allreduce_bine_doubling(const Operation &operation, Writer &writer);

// ... for one rank.
void reduce_rabenseifner(const Operation &operation, Writer &writer);
void reduce_rabenseifner_halves(const Operation &operation, Writer &writer);
void reduce_segmented_chain(const Operation &operation, Writer &writer);

// ... a block for each.
void reduce_scatter_recursive_halving(const Operation &operation, Writer &writer);
void reduce_scatter_pairwise(const Operation &operation, Writer &writer);
void reduce_scatter_ring(const Operation &operation, Writer &writer);
void reduce_scatter_reduce_scatterv(const Operation &operation, Writer &writer);
void reduce_scatter_recursive_doubling(const Operation &operation, Writer &writer);
void reduce_scatter_butterfly(const Operation &operation, Writer &writer);
void reduce_scatter_block_butterfly(const Operation &operation, Writer &writer);

// ... of the ranks up to each.
void scan_linear(const Operation &operation, Writer &writer);
void scan_recursive_doubling(const Operation &operation, Writer &writer);

// A block from everyone to everyone.
void alltoall_pairwise(const Operation &operation, Writer &writer);
void alltoall_linear(const Operation &operation, Writer &writer);
void alltoall_throttled(const Operation &operation, Writer &writer);
void alltoall_bruck(const Operation &operation, Writer &writer);

// Nothing, but to everyone.
void barrier_dissemination(const Operation &operation, Writer &writer);
void barrier_recursive_doubling(const Operation &operation, Writer &writer);
void barrier_linear(const Operation &operation, Writer &writer);
void barrier_tree(const Operation &operation, Writer &writer);

} // namespace rankwise::collectives
