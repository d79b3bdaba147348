// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "collectives/select.hpp"

// Default decisions of Open MPI's `tuned` component (4.1 and 5.0, the same), by communicator size and message
// bytes: {communicator below, bytes below, algorithm}, the first line that applies is taken. Segmented and
// unsegmented trees send to the same ranks and, with the default segment size of 0, the same messages. Bytes
// are those of rw_collective_entry, but for reduce_scatter (the whole vector) and allgatherv (the average
// block).
namespace rankwise::collectives {

constexpr std::uint32_t any = ~std::uint32_t{0};
constexpr std::uint64_t all = ~std::uint64_t{0};

// clang-format off
constexpr Rule allreduce_rules[] = {
    {4, 8, "ring"}, {4, 4096, "recursive_doubling"}, {4, 8192, "ring"}, {4, 16384, "recursive_doubling"},
    {4, 262144, "ring"}, {4, all, "rabenseifner_halves"},
    {8, 16, "ring"}, {8, 8192, "recursive_doubling"}, {8, all, "rabenseifner_halves"},
    {16, 8192, "recursive_doubling"}, {16, all, "rabenseifner_halves"},
    {32, 64, "ring"}, {32, 4096, "recursive_doubling"}, {32, all, "rabenseifner_halves"},
    {64, 128, "ring"}, {64, all, "rabenseifner_halves"},
    {128, 262144, "recursive_doubling"}, {128, all, "rabenseifner_halves"},
    {256, 131072, "nonoverlapping"}, {256, 262144, "recursive_doubling"}, {256, all, "rabenseifner_halves"},
    {512, 4096, "nonoverlapping"}, {512, all, "rabenseifner_halves"},
    {2048, 2048, "nonoverlapping"}, {2048, 16384, "recursive_doubling"}, {2048, all, "rabenseifner_halves"},
    {4096, 2048, "nonoverlapping"}, {4096, 4096, "ring"}, {4096, 16384, "recursive_doubling"},
    {4096, all, "rabenseifner_halves"},
    {any, 2048, "nonoverlapping"}, {any, 16384, "ring"}, {any, 32768, "recursive_doubling"},
    {any, all, "rabenseifner_halves"},
};

constexpr Rule allreduce_noncommutative_rules[] = {
    {4, 131072, "recursive_doubling"}, {4, all, "linear"},
    {8, all, "recursive_doubling"},
    {16, 1048576, "recursive_doubling"}, {16, all, "nonoverlapping"},
    {128, all, "recursive_doubling"},
    {256, 131072, "nonoverlapping"}, {256, 524288, "recursive_doubling"}, {256, all, "nonoverlapping"},
    {512, 4096, "nonoverlapping"}, {512, 524288, "recursive_doubling"}, {512, all, "nonoverlapping"},
    {any, 2048, "nonoverlapping"}, {any, all, "recursive_doubling"},
};

constexpr Rule alltoall_rules[] = {
    {3, 32768, "pairwise"}, {3, 262144, "linear"}, {3, all, "pairwise"},
    {8, 524288, "linear"}, {8, 1048576, "pairwise"}, {8, all, "linear"},
    {16, all, "linear"},
    {32, 4, "linear"}, {32, 512, "bruck"}, {32, all, "linear"},
    {64, 512, "bruck"}, {64, all, "linear"},
    {256, 1024, "bruck"}, {256, 262144, "linear"}, {256, all, "pairwise"},
    {512, 1024, "bruck"}, {512, 32768, "linear"}, {512, all, "pairwise"},
    {1024, 512, "bruck"}, {1024, 262144, "linear"}, {1024, all, "pairwise"},
    {2048, 512, "bruck"}, {2048, all, "linear"},
    {4096, 1024, "bruck"}, {4096, all, "linear"},
    {any, 2048, "bruck"}, {any, all, "linear"},
};

constexpr Rule barrier_rules[] = {
    {4, all, "recursive_doubling"},
    {8, all, "linear"},
    {64, all, "recursive_doubling"},
    {256, all, "dissemination"},
    {512, all, "tree"},
    {1024, all, "dissemination"},
    {4096, all, "tree"},
    {any, all, "dissemination"},
};

constexpr Rule bcast_rules[] = {
    {4, 32, "chain"}, {4, 256, "binary"}, {4, 512, "chain"}, {4, 1024, "knomial"}, {4, 32768, "linear"},
    {4, 131072, "binary"}, {4, 262144, "chain"}, {4, 524288, "linear"}, {4, 1048576, "strided_binomial"},
    {4, all, "binary"},
    {8, 64, "binary"}, {8, 128, "strided_binomial"}, {8, 2048, "binary"}, {8, 8192, "strided_binomial"},
    {8, 1048576, "linear"}, {8, all, "chain"},
    {16, 8, "knomial"}, {16, 64, "binary"}, {16, 4096, "knomial"}, {16, 16384, "binary"},
    {16, 32768, "strided_binomial"}, {16, all, "linear"},
    {32, 4096, "knomial"}, {32, 1048576, "strided_binomial"},
    {32, all, "scatter_recursive_doubling_allgather"},
    {64, 2048, "strided_binomial"}, {64, all, "knomial"},
    {128, all, "knomial"},
    {256, 2, "strided_binomial"}, {256, 16384, "binary"}, {256, 32768, "linear"}, {256, 65536, "binary"},
    {256, all, "knomial"},
    {1024, 16384, "knomial"}, {1024, 32768, "binary"}, {1024, all, "knomial"},
    {2048, 524288, "knomial"}, {2048, all, "scatter_recursive_doubling_allgather"},
    {4096, 262144, "knomial"}, {4096, all, "scatter_recursive_doubling_allgather"},
    {any, 8192, "knomial"}, {any, 16384, "binary"}, {any, 262144, "knomial"},
    {any, all, "scatter_recursive_doubling_allgather"},
};

constexpr Rule reduce_rules[] = {
    {4, 8, "rabenseifner_halves"}, {4, 16, "binary"}, {4, 32, "chain"}, {4, 262144, "linear"}, {4, all, "chain"},
    {8, 4096, "binary"}, {8, 65536, "chain"}, {8, 262144, "binomial"}, {8, 524288, "linear"},
    {8, 1048576, "binomial"}, {8, all, "linear"},
    {16, 8192, "binary"}, {16, all, "binomial"},
    {32, 4096, "binary"}, {32, all, "binomial"},
    {256, all, "binomial"},
    {512, 8192, "binomial"}, {512, 16384, "binary"}, {512, all, "binomial"},
    {2048, all, "binomial"},
    {4096, 512, "binomial"}, {4096, 1024, "binary"}, {4096, 8192, "binomial"}, {4096, 16384, "binary"},
    {4096, all, "binomial"},
    {any, 16, "binomial"}, {any, 32, "binary"}, {any, 1024, "binomial"}, {any, 2048, "binary"},
    {any, 8192, "binomial"}, {any, 16384, "binary"}, {any, all, "binomial"},
};

constexpr Rule reduce_noncommutative_rules[] = {
    {4, 8, "in_order_binary"}, {4, all, "linear"},
    {8, all, "linear"},
    {16, 1024, "in_order_binary"}, {16, 8192, "linear"}, {16, 16384, "in_order_binary"}, {16, 262144, "linear"},
    {16, all, "in_order_binary"},
    {128, all, "in_order_binary"},
    {256, 512, "in_order_binary"}, {256, 1024, "linear"}, {256, all, "in_order_binary"},
    {any, all, "in_order_binary"},
};

constexpr Rule reduce_scatter_rules[] = {
    {4, 65536, "ring"}, {4, 131072, "recursive_halving"}, {4, all, "ring"},
    {8, 8, "nonoverlapping"}, {8, 262144, "recursive_halving"}, {8, all, "ring"},
    {32, 262144, "recursive_halving"}, {32, all, "ring"},
    {64, 64, "nonoverlapping"}, {64, 2048, "recursive_halving"}, {64, 524288, "butterfly"}, {64, all, "ring"},
    {512, 256, "nonoverlapping"}, {512, all, "recursive_halving"},
    {4096, 512, "nonoverlapping"}, {4096, all, "recursive_halving"},
    {any, 1024, "nonoverlapping"}, {any, all, "recursive_halving"},
};

constexpr Rule reduce_scatter_block_rules[] = {
    {4, 4, "recursive_doubling"}, {4, 131072, "recursive_halving"}, {4, all, "nonoverlapping"},
    {8, 8, "recursive_halving"}, {8, 32, "recursive_doubling"}, {8, 256, "butterfly"}, {8, 8192, "recursive_halving"}, {8, 16384, "butterfly"},
    {8, 1048576, "recursive_halving"}, {8, all, "nonoverlapping"},
    {16, 4, "nonoverlapping"}, {16, 32, "recursive_halving"}, {16, 128, "butterfly"}, {16, 524288, "recursive_halving"}, {16, 4194304, "nonoverlapping"},
    {16, all, "recursive_halving"},
    {32, 32, "nonoverlapping"}, {32, 524288, "recursive_halving"}, {32, 2097152, "nonoverlapping"},
    {32, all, "recursive_halving"},
    {any, 4, "recursive_halving"}, {any, 16, "nonoverlapping"}, {any, 65536, "butterfly"},
    {any, 262144, "nonoverlapping"}, {any, all, "recursive_halving"},
};

constexpr Rule allgather_rules[] = {
    {32, all, "recursive_doubling"},
    {64, 1024, "recursive_doubling"}, {64, 65536, "neighbor_exchange"}, {64, all, "ring"},
    {128, 512, "recursive_doubling"}, {128, 65536, "neighbor_exchange"}, {128, all, "ring"},
    {256, 512, "recursive_doubling"}, {256, 131072, "neighbor_exchange"}, {256, 524288, "ring"},
    {256, 1048576, "neighbor_exchange"}, {256, all, "ring"},
    {512, 32, "recursive_doubling"}, {512, 128, "bruck"}, {512, 1024, "recursive_doubling"},
    {512, 131072, "neighbor_exchange"}, {512, 524288, "ring"}, {512, 1048576, "neighbor_exchange"},
    {512, all, "ring"},
    {1024, 64, "recursive_doubling"}, {1024, 256, "bruck"}, {1024, 2048, "recursive_doubling"},
    {1024, all, "neighbor_exchange"},
    {2048, 4, "recursive_doubling"}, {2048, 8, "bruck"}, {2048, 16, "recursive_doubling"},
    {2048, 32, "bruck"}, {2048, 256, "recursive_doubling"}, {2048, 512, "bruck"},
    {2048, 4096, "recursive_doubling"}, {2048, all, "neighbor_exchange"},
    {4096, 32, "bruck"}, {4096, 128, "recursive_doubling"}, {4096, 512, "bruck"},
    {4096, 4096, "recursive_doubling"}, {4096, all, "neighbor_exchange"},
    {any, 2, "recursive_doubling"}, {any, 8, "bruck"}, {any, 16, "recursive_doubling"}, {any, 512, "bruck"},
    {any, 4096, "recursive_doubling"}, {any, all, "neighbor_exchange"},
};

constexpr Rule allgatherv_rules[] = {
    {3, 2048, "ring"}, {3, 4096, "neighbor_exchange"}, {3, 8192, "ring"}, {3, all, "neighbor_exchange"},
    {8, 256, "gather_bcast"}, {8, 4096, "neighbor_exchange"}, {8, 8192, "ring"},
    {8, 16384, "neighbor_exchange"}, {8, 262144, "bruck"}, {8, all, "neighbor_exchange"},
    {16, 1024, "gather_bcast"}, {16, all, "bruck"},
    {32, 128, "gather_bcast"}, {32, 262144, "bruck"}, {32, all, "ring"},
    {64, 256, "gather_bcast"}, {64, 8192, "bruck"}, {64, all, "ring"},
    {128, 256, "gather_bcast"}, {128, 4096, "bruck"}, {128, all, "ring"},
    {256, 1024, "bruck"}, {256, 65536, "neighbor_exchange"}, {256, all, "ring"},
    {512, 1024, "bruck"}, {512, all, "ring"},
    {1024, 512, "bruck"}, {1024, 1024, "gather_bcast"}, {1024, 4096, "bruck"},
    {1024, 1048576, "neighbor_exchange"}, {1024, all, "ring"},
    {any, 4096, "bruck"}, {any, all, "neighbor_exchange"},
};

constexpr Rule gather_rules[] = {
    {4, 2, "linear_sync"}, {4, 4, "linear"}, {4, 32768, "binomial"}, {4, 65536, "linear"},
    {4, 131072, "binomial"}, {4, all, "linear_sync"},
    {8, 1024, "binomial"}, {8, 8192, "linear"}, {8, 32768, "binomial"}, {8, 262144, "linear"},
    {8, all, "linear_sync"},
    {256, all, "binomial"},
    {512, 2048, "binomial"}, {512, 8192, "linear"}, {512, all, "binomial"},
    {any, all, "binomial"},
};

constexpr Rule scatter_rules[] = {
    {4, all, "linear"},
    {8, 2048, "binomial"}, {8, 4096, "linear"}, {8, 8192, "binomial"}, {8, all, "linear"},
    {32, 16384, "binomial"}, {32, all, "linear"},
    {64, 512, "binomial"}, {64, 8192, "linear"}, {64, 16384, "binomial"}, {64, all, "linear"},
    {any, 512, "binomial"}, {any, all, "linear"},
};

// clang-format on

} // namespace rankwise::collectives
