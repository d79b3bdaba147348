# SPDX-License-Identifier: BSD-3-Clause
"""What would change if events of one time were served in other orders: what is recorded hardly ever has such ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor

ORDERS = 5


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
