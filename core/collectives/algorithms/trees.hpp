// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rankwise::collectives {

/// @brief One rank's place in a spanning tree; ranks of the communicator.
struct TreeNode {
    std::optional<std::uint32_t> parent; // none at the root
    std::vector<std::uint32_t> children; // in the order of their subtrees' roots, as the library serves them
};

/// @brief A tree: the place of `rank` among `size` ranks with the given root.
using tree_fn = TreeNode (*)(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief Binomial tree whose subtrees are consecutive ranks: the parent clears the lowest bit; nearest child
/// first.
TreeNode binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief Binomial tree in which the parent clears the highest bit; nearest child first.
TreeNode strided_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief k-nomial tree of radix 4: the parent clears the lowest non-zero digit; largest subtree first.
TreeNode knomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief The same, smallest subtree first: how what comes from the leaves is taken.
TreeNode ascending_knomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief Binary tree filled level by level, a level's ranks having their children at equal distances.
TreeNode binary_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief The two binomial trees from rank 0, with the root and rank 0 in each other's place.
TreeNode exchanged_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);
TreeNode exchanged_strided_binomial_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief Binary tree whose subtrees are consecutive ranks with the last of them on top, so from the last
/// rank whatever the root.
TreeNode in_order_binary_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief Every rank has the next one as its only child.
TreeNode chain_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

/// @brief The root has all others as children.
TreeNode flat_tree(std::uint32_t rank, std::uint32_t size, std::uint32_t root);

} // namespace rankwise::collectives
