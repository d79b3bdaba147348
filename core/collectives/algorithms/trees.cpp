// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms/trees.hpp"

#include <algorithm>
#include <bit>

namespace rankwise::collectives {
namespace {

struct Rotation {
    std::uint32_t size, root;
    std::uint32_t to_relative(std::uint32_t rank) const { return (rank + size - root) % size; }
    std::uint32_t to_rank(std::uint64_t relative) const {
        return static_cast<std::uint32_t>((relative + root) % size);
    }
};

// Trees from rank 0, with the root and rank 0 in each other's place.
TreeNode exchanged(tree_fn tree, std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    const auto other = [&](std::uint32_t of) { return of == 0 ? root : (of == root ? 0 : of); };
    TreeNode node = tree(other(rank), size, 0);
    if (node.parent) {
        node.parent = other(*node.parent);
    }
    for (auto &child : node.children) {
        child = other(child);
    }
    return node;
}

} // namespace

TreeNode exchanged_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    return exchanged(binomial_tree, rank, size, root);
}

TreeNode exchanged_strided_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    return exchanged(strided_binomial_tree, rank, size, root);
}

TreeNode binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    const Rotation ranks{size, root};
    const std::uint64_t me = ranks.to_relative(rank);
    TreeNode node;
    for (std::uint64_t mask = 1; mask < size; mask <<= 1) {
        if ((me & mask) != 0) {
            node.parent = ranks.to_rank(me ^ mask);
            break;
        }
        if ((me | mask) < size) {
            node.children.push_back(ranks.to_rank(me | mask));
        }
    }
    return node;
}

TreeNode strided_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    const Rotation ranks{size, root};
    const std::uint64_t me = ranks.to_relative(rank);
    TreeNode node;
    if (me != 0) {
        node.parent = ranks.to_rank(me ^ std::bit_floor(me));
    }
    for (std::uint64_t mask = me == 0 ? 1 : std::bit_floor(me) << 1; (me | mask) < size; mask <<= 1) {
        node.children.push_back(ranks.to_rank(me | mask));
    }
    return node;
}

TreeNode knomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    constexpr std::uint64_t radix = 4;
    const Rotation ranks{size, root};
    const std::uint64_t me = ranks.to_relative(rank);
    TreeNode node;
    std::uint64_t weight = 1;
    for (; weight < size; weight *= radix) {
        const std::uint64_t above = weight * radix;
        if (me % above != 0) {
            node.parent = ranks.to_rank(me / above * above);
            break;
        }
    }
    for (weight /= radix; weight > 0; weight /= radix) {
        for (std::uint64_t digit = 1; digit < radix && me + digit * weight < size; ++digit) {
            node.children.push_back(ranks.to_rank(me + digit * weight));
        }
    }
    return node;
}

TreeNode ascending_knomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    TreeNode node = knomial_tree(rank, size, root);
    std::reverse(node.children.begin(), node.children.end());
    return node;
}

TreeNode binary_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    const Rotation ranks{size, root};
    const std::uint64_t me = ranks.to_relative(rank);
    // Level l holds relative ranks 2^l - 1 .. 2^(l+1) - 2; children of a rank of it are 2^l and 2^(l+1)
    // further on.
    const std::uint64_t width = std::bit_floor(me + 1);
    TreeNode node;
    if (me != 0) {
        const std::uint64_t above = width / 2;
        std::uint64_t parent = me - above;
        if (parent >= width - 1) {
            parent -= above;
        }
        node.parent = ranks.to_rank(parent);
    }
    for (const std::uint64_t child : {me + width, me + 2 * width}) {
        if (child < size) {
            node.children.push_back(ranks.to_rank(child));
        }
    }
    return node;
}

// Each subtree holds consecutive ranks, with the last of them at its top: before that the upper half of the
// others, with the rank before it as their top, and before these the lower half.
TreeNode in_order_binary_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t) {
    std::uint32_t first = 0;
    TreeNode node;
    while (true) {
        const std::uint32_t top = first + size - 1;
        const std::uint32_t lower = size / 2; // ranks of the half that comes first
        if (rank == top) {
            if (size > 1) {
                node.children.push_back(top - 1);
            }
            if (size > 2) {
                node.children.push_back(first + lower - 1);
            }
            return node;
        }
        node.parent = top;
        if (rank < first + lower && size > 2) {
            size = lower;
        } else {
            const std::uint32_t skipped = size > 2 ? lower : 0;
            first += skipped;
            size -= skipped + 1;
        }
    }
}

TreeNode chain_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    const Rotation ranks{size, root};
    const std::uint64_t me = ranks.to_relative(rank);
    TreeNode node;
    if (me > 0) {
        node.parent = ranks.to_rank(me - 1);
    }
    if (me + 1 < size) {
        node.children.push_back(ranks.to_rank(me + 1));
    }
    return node;
}

TreeNode flat_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root) {
    TreeNode node;
    if (rank != root) {
        node.parent = root;
        return node;
    }
    for (std::uint32_t child = 0; child < size; ++child) {
        if (child != root) {
            node.children.push_back(child);
        }
    }
    return node;
}

} // namespace rankwise::collectives
