// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/scatter_gather.hpp"

namespace rankwise::collectives {
namespace {

// Ranks of the subtree of a relative rank in the binomial tree, which are consecutive.
std::uint32_t subtree(std::uint32_t relative, std::uint32_t size) {
    const std::uint32_t full = relative == 0 ? size : relative & (~relative + 1);
    return std::min(full, size - relative);
}

} // namespace

void scatter_blocks(const Operation &operation, const Blocks &blocks, bool skip_empty, Writer &writer) {
    const auto node = binomial_tree(operation.rank, operation.size, operation.root);
    const auto relative = [&](std::uint32_t rank) {
        return (rank + operation.size - operation.root) % operation.size;
    };
    const auto piece = [&](std::uint32_t rank, auto &&use) {
        const std::uint32_t first = relative(rank);
        const std::uint64_t bytes = blocks.bytes(first, subtree(first, operation.size));
        if (bytes > 0 || !skip_empty) {
            use(bytes, blocks.start(first));
        }
        writer.next();
    };
    if (node.parent) {
        piece(operation.rank, [&](std::uint64_t bytes, std::uint64_t offset) {
            writer.receive(*node.parent, bytes, offset);
        });
    }
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
        piece(*child, [&](std::uint64_t bytes, std::uint64_t offset) { writer.send(*child, bytes, offset); });
    }
}

void scatter_binomial(const Operation &operation, Writer &writer) {
    scatter_blocks(operation, Blocks::equal(operation.size, operation.bytes), false, writer);
}

void gather_binomial(const Operation &operation, Writer &writer) {
    const auto node = binomial_tree(operation.rank, operation.size, operation.root);
    const auto piece = [&](std::uint32_t rank, auto &&use) {
        const std::uint32_t first = (rank + operation.size - operation.root) % operation.size;
        use(operation.bytes * subtree(first, operation.size), operation.bytes * first);
        writer.next();
    };
    for (const auto child : node.children) {
        piece(child,
              [&](std::uint64_t bytes, std::uint64_t offset) { writer.receive(child, bytes, offset); });
    }
    if (node.parent) {
        piece(operation.rank,
              [&](std::uint64_t bytes, std::uint64_t offset) { writer.send(*node.parent, bytes, offset); });
    }
}

// Equal blocks lie in the order root, root + 1, ...; where blocks of a v-variant lie is the caller's affair.
static void linear(const Operation &operation, auto &&at_others, auto &&at_root) {
    const bool known = operation.sizes.size() == operation.size;
    const auto offset = [&](std::uint32_t rank) {
        return known ? no_offset
                     : operation.bytes * ((rank + operation.size - operation.root) % operation.size);
    };
    if (operation.rank != operation.root) {
        at_others(operation.bytes, offset(operation.rank));
        return;
    }
    for (std::uint32_t peer = 0; peer < operation.size; ++peer) {
        if (peer != operation.root) {
            at_root(peer, known ? operation.sizes[peer] : operation.bytes, offset(peer));
        }
    }
}

void scatter_linear(const Operation &operation, Writer &writer) {
    linear(
        operation,
        [&](std::uint64_t bytes, std::uint64_t offset) { writer.receive(operation.root, bytes, offset); },
        [&](std::uint32_t peer, std::uint64_t bytes, std::uint64_t offset) {
            writer.send(peer, bytes, offset);
        });
}

void gather_linear(const Operation &operation, Writer &writer) {
    linear(
        operation,
        [&](std::uint64_t bytes, std::uint64_t offset) { writer.send(operation.root, bytes, offset); },
        [&](std::uint32_t peer, std::uint64_t bytes, std::uint64_t offset) {
            writer.receive(peer, bytes, offset);
        });
}

// The root lets each rank go with an empty message; a rank's data comes as its first segment, here all of it,
// and the rest.
void gather_linear_sync(const Operation &operation, Writer &writer) {
    if (operation.rank != operation.root) {
        writer.receive(operation.root, 0, no_offset);
        writer.next();
        writer.send(operation.root, operation.bytes, no_offset);
        writer.next();
        writer.send(operation.root, 0, no_offset);
        return;
    }
    for (std::uint32_t peer = 0; peer < operation.size; ++peer) {
        if (peer != operation.root) {
            writer.send(peer, 0, no_offset);
            writer.receive(peer, operation.bytes, no_offset);
            writer.receive(peer, 0, no_offset);
            writer.next();
        }
    }
}

} // namespace rankwise::collectives
