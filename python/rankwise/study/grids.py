# SPDX-License-Identifier: BSD-3-Clause
"""What stays in a node of regular exchanges under blocked and cyclic allocation, counted.

Statements of Narayanaswamy, Balaji & Feng (2008), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Owner = Callable[[np.ndarray], np.ndarray]


def _blocked(cores: int) -> Owner:
    return lambda rank: rank // cores


def _cyclic(nodes: int) -> Owner:
    return lambda rank: rank % nodes


def neighbours_in_node(sides: Sequence[int], cores: int) -> tuple[float, float]:
    """Percent of neighbours in a grid of ranks, numbered row by row and without periods, that are in the node.

    Args:
        sides: Of the grid; its ranks fill the nodes.
        cores: Of a node, each with one rank.

    Returns:
        Under blocked and under cyclic allocation.
    """
    rank = np.arange(int(np.prod(sides))).reshape(tuple(sides))
    pairs = [
        (np.take(rank, range(side - 1), axis), np.take(rank, range(1, side), axis))
        for axis, side in enumerate(sides)
    ]

    def inside(owner: Owner) -> float:
        same = sum(int(np.sum(owner(a) == owner(b))) for a, b in pairs)
        return round(100 * same / sum(a.size for a, _ in pairs), 2)

    return inside(_blocked(cores)), inside(_cyclic(rank.size // cores))


def tree_edges_between_nodes(ranks: int, cores: int) -> tuple[int, int]:
    """Edges of a binomial tree that cross the network.

    Args:
        ranks: A power of two.
        cores: Of a node, likewise.

    Returns:
        Under blocked and under cyclic allocation.
    """
    child = np.arange(1, ranks)
    parent = child - (child & -child)

    def between(owner: Owner) -> int:
        return int(np.sum(owner(child) != owner(parent)))

    return between(_blocked(cores)), between(_cyclic(ranks // cores))


def doubling_between_nodes(ranks: int, cores: int) -> tuple[float, float]:
    """Share of the bytes of a recursive doubling that crosses the network: all ranks get the data of all.

    In each step a rank exchanges all that it has with the one that is as far as it has blocks.

    Args:
        ranks: A power of two.
        cores: Of a node, likewise.

    Returns:
        Under blocked and under cyclic allocation.
    """
    rank = np.arange(ranks)
    distances = [1 << step for step in range(ranks.bit_length() - 1)]

    def between(owner: Owner) -> float:
        crossing = [
            distance * float(np.mean(owner(rank) != owner(rank ^ distance))) for distance in distances
        ]
        return sum(crossing) / sum(distances)

    return between(_blocked(cores)), between(_cyclic(ranks // cores))


def branches_over_switches(ranks: int, below: int) -> tuple[int, int]:
    """Edges of a binomial tree that leave the lowest switch, with one rank a node.

    Args:
        ranks: A power of two.
        below: Nodes of a lowest switch, likewise.

    Returns:
        With branches within the lowest switches, and with ranks dealt to these in turn.
    """
    child = np.arange(1, ranks)
    parent = child - (child & -child)

    def leave(owner: Owner) -> int:
        return int(np.sum(owner(child) != owner(parent)))

    return leave(_blocked(below)), leave(_cyclic(ranks // below))
