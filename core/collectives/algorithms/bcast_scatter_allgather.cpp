// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"
#include "collectives/algorithms/scatter_gather.hpp"

namespace rankwise::collectives {
namespace {

// Pieces of ceil(bytes / size): the last ones may be shorter or empty.
Blocks pieces(const Operation &operation) {
    const std::uint64_t length = (operation.bytes + operation.size - 1) / operation.size;
    return Blocks::filled(operation.size, operation.bytes, length);
}

} // namespace

void bcast_scatter_recursive_doubling(const Operation &operation, Writer &writer) {
    scatter_blocks(operation, pieces(operation), true, writer);
    doubling_blocks(operation, pieces(operation), operation.root, writer);
}

void bcast_scatter_ring(const Operation &operation, Writer &writer) {
    scatter_blocks(operation, pieces(operation), true, writer);
    ring_blocks(operation, pieces(operation), operation.root, writer);
}

} // namespace rankwise::collectives
