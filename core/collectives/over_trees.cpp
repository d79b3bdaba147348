// SPDX-License-Identifier: BSD-3-Clause
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

} // namespace rankwise::collectives
