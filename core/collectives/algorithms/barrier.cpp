// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"
#include "collectives/algorithms/halving.hpp"

namespace rankwise::collectives {

void barrier_dissemination(const Operation &operation, Writer &writer) {
    const std::uint32_t size = operation.size;
    for (std::uint32_t distance = 1; distance < size; distance <<= 1) {
        writer.send((operation.rank + distance) % size, 0, no_offset);
        writer.receive((operation.rank + size - distance) % size, 0, no_offset);
        writer.next();
    }
}

// The ranks beyond the power of two report to those a power of two below them, and are released by them.
void barrier_recursive_doubling(const Operation &operation, Writer &writer) {
    const std::uint32_t core = std::bit_floor(operation.size);
    const std::uint32_t rank = operation.rank;
    if (rank >= core) {
        writer.send(rank - core, 0, no_offset);
        writer.next();
        writer.receive(rank - core, 0, no_offset);
        return;
    }
    const bool speaks_for_two = rank + core < operation.size;
    if (speaks_for_two) {
        writer.receive(rank + core, 0, no_offset);
        writer.next();
    }
    for (std::uint32_t mask = 1; mask < core; mask <<= 1) {
        writer.send(rank ^ mask, 0, no_offset);
        writer.receive(rank ^ mask, 0, no_offset);
        writer.next();
    }
    if (speaks_for_two) {
        writer.send(rank + core, 0, no_offset);
    }
}

namespace {

void up_and_down(tree_fn tree, const Operation &operation, Writer &writer) {
    const TreeNode node = tree(operation.rank, operation.size, 0);
    for (const auto child : node.children) {
        writer.receive(child, 0, no_offset);
    }
    writer.next();
    if (node.parent) {
        writer.send(*node.parent, 0, no_offset);
        writer.next();
        writer.receive(*node.parent, 0, no_offset);
        writer.next();
    }
    for (const auto child : node.children) {
        writer.send(child, 0, no_offset);
    }
}

} // namespace

void barrier_linear(const Operation &operation, Writer &writer) {
    up_and_down(flat_tree, operation, writer);
}

void barrier_tree(const Operation &operation, Writer &writer) {
    up_and_down(binomial_tree, operation, writer);
}

} // namespace rankwise::collectives
