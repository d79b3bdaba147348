# SPDX-License-Identifier: BSD-3-Clause
"""Which of several events of one time is served first: an order of ranks that their names do not change.

What other orders would change is told with a prediction. What is recorded hardly ever has ties, what is generated has
many.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from rankwise import _core
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor

ORDERS = 5
_ROUNDS = 3


@dataclass(frozen=True)
class TieSpread:
    """Makespans with ties served in other orders.

    Attributes:
        low_s: The least, or the prediction.
        high_s: The largest, or the prediction.
        orders: How many other orders were replayed.
    """

    low_s: float
    high_s: float
    orders: int


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


def in_canonical_order(predictor: Predictor, placement: Placement) -> Predictor:
    """The predictor with ties served in that order; as it is where they are served by number only.

    Raises:
        RankwiseError: The placement does not fit the program or the machine.
    """
    if predictor.is_coarse or predictor.in_windows:
        return predictor
    predictor.check(placement)
    return predictor.in_order(canonical_position(predictor.schedule, placement))


def _of_nodes(of_rank: np.ndarray, node: np.ndarray, nodes: int) -> np.ndarray:
    """A number for each node of the numbers of its ranks, whatever their order."""
    total = np.zeros(nodes, dtype=np.uint64)
    np.add.at(total, node, of_rank * np.uint64(0x9E3779B97F4A7C15) ^ (of_rank >> np.uint64(29)))
    return total


def tie_spread(
    predictor: Predictor, placement: Placement, predicted_s: float, orders: int = ORDERS, seed: int = 1
) -> TieSpread:
    """Replay with ties served in other orders of ranks, drawn at random.

    Args:
        predictor: Of the program and the machine.
        placement: Where the ranks are.
        predicted_s: What was predicted.
        orders: How many.
        seed: Of the draws.

    Raises:
        RankwiseError: As `Predictor.predict`.
    """
    rng = np.random.default_rng(seed)
    times = [
        predictor.in_order(rng.permutation(placement.ranks).astype(np.uint32)).makespan_s(placement)
        for _ in range(orders)
    ]
    return TieSpread(min([predicted_s, *times]), max([predicted_s, *times]), orders)
