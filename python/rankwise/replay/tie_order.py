# SPDX-License-Identifier: BSD-3-Clause
"""Which of several events of one time is served first: an order of ranks that their names do not change."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from rankwise import _core
from rankwise.machine.placement import Placement

_ROUNDS = 3


def canonical_position(schedule: _core.schedule.Schedule, placement: Placement) -> np.ndarray:
    """The place of each rank in an order that depends on what ranks do and where they are, not on their numbers.

    Nodes are ordered by the ranks on them, the ranks of a node by what they do, with whom, and on which cores. Ranks
    that these do not tell apart within some messages' distance keep the order of their numbers: exchanging such ranks
    nearly always leaves the program as it is.
    """
    cores: dict[tuple[int, ...], int] = {}
    seat = np.array(
        [
            cores.setdefault(
                each, int.from_bytes(blake2b(repr(each).encode(), digest_size=8).digest(), "big")
            )
            for each in map(placement.cores_of, range(placement.ranks))
        ],
        dtype=np.uint64,
    )
    does = schedule.rank_hashes(seat, _ROUNDS)
    nodes = len(placement.node_names)
    for rounds in (_ROUNDS, 1):  # with whom ranks share their node tells them apart, too
        does = schedule.rank_hashes(does ^ _of_nodes(does, placement.node, nodes)[placement.node], rounds)
    of_node = _of_nodes(does, placement.node, nodes)
    least = np.full(nodes, placement.ranks)
    np.minimum.at(least, placement.node, np.arange(placement.ranks))
    order = np.lexsort((does, least[placement.node], of_node[placement.node]))
    position = np.empty(placement.ranks, dtype=np.uint32)
    position[order] = np.arange(placement.ranks, dtype=np.uint32)
    return position


def _of_nodes(of_rank: np.ndarray, node: np.ndarray, nodes: int) -> np.ndarray:
    """A number for each node of the numbers of its ranks, whatever their order."""
    total = np.zeros(nodes, dtype=np.uint64)
    np.add.at(total, node, of_rank * np.uint64(0x9E3779B97F4A7C15) ^ (of_rank >> np.uint64(29)))
    return total
