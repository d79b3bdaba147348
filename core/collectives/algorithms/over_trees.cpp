// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "collectives/algorithms.hpp"

namespace rankwise::collectives {

void broadcast_over(tree_fn tree, const Operation &operation, Writer &writer) {
    const TreeNode node = tree(operation.rank, operation.size, operation.root);
    if (node.parent) {
        writer.receive(*node.parent, operation.bytes, 0);
        writer.next();
    }
    for (const auto child : node.children) {
        writer.send(child, operation.bytes, 0);
        writer.next();
    }
}

void reduce_over(tree_fn tree, const Operation &operation, Writer &writer) {
    const TreeNode node = tree(operation.rank, operation.size, operation.root);
    for (const auto child : node.children) {
        writer.reduce(child, operation.bytes, 0);
        writer.next();
    }
    if (node.parent) {
        writer.send(*node.parent, operation.bytes, 0);
        writer.next();
    }
}

namespace {

void reduce_and_move(tree_fn tree, std::uint32_t holder, const Operation &operation, Writer &writer) {
    Operation inner = operation;
    inner.root = holder;
    reduce_over(tree, inner, writer);
    if (operation.root == holder) {
        return;
    }
    if (operation.rank == holder) {
        writer.send(operation.root, operation.bytes, 0);
    } else if (operation.rank == operation.root) {
        writer.receive(holder, operation.bytes, 0);
    }
}

} // namespace

void reduce_ordered_binomial(const Operation &operation, Writer &writer) {
    reduce_and_move(binomial_tree, 0, operation, writer);
}

void reduce_in_order_binary(const Operation &operation, Writer &writer) {
    reduce_and_move(in_order_binary_tree, operation.size - 1, operation, writer);
}

// libnbc's pieces of 8 KiB: as many elements in each, the rest in the last.
void reduce_segmented_chain(const Operation &operation, Writer &writer) {
    constexpr std::uint64_t piece_bytes = 8192;
    const TreeNode node = chain_tree(operation.rank, operation.size, operation.root);
    const std::uint64_t element = std::max<std::uint32_t>(operation.element_bytes, 1);
    const std::uint64_t pieces = (operation.bytes + piece_bytes - 1) / piece_bytes;
    const std::uint64_t length = operation.bytes / element / pieces * element;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
        const std::uint64_t first = piece * length;
        const std::uint64_t bytes = piece + 1 < pieces ? length : operation.bytes - first;
        for (const auto child : node.children) {
            writer.reduce(child, bytes, first);
            writer.next();
        }
        if (node.parent) {
            writer.send(*node.parent, bytes, first);
            writer.next();
        }
    }
}

} // namespace rankwise::collectives
