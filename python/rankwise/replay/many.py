# SPDX-License-Identifier: BSD-3-Clause
"""The best of many placements: all are screened, the most promising replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.placement.placement import Placement
from rankwise.replay.predict import Predictor


@dataclass(frozen=True)
class Judged:
    """Many placements, judged.

    Attributes:
        screened_s: About the predicted time of each placement, from a pass without a queue.
        makespan_s: The predicted time of those that were replayed, nan of the others.
        order: Placements from the best to the worst: those that were replayed by that, then the others.
        gap: The mean of `|screened / replayed - 1|` of those that were replayed.
    """

    screened_s: np.ndarray
    makespan_s: np.ndarray
    order: np.ndarray
    gap: float


def judge(
    predictor: Predictor, placements: Sequence[Placement], replays: int = 16, threads: int = 0
) -> Judged:
    """Screen all placements and replay the most promising ones.

    Args:
        predictor: Schedule and machine.
        placements: At least one; the order in which the first one's replay does things is the order of the screen.
        replays: How many are replayed, besides the first.
        threads: 0: as many as this process may use cores.

    Raises:
        RankwiseError: A placement does not fit the schedule or the machine; deadlock.
    """
    screened = predictor.screen_s(placements, threads)
    promising = np.union1d(np.argsort(screened, kind="stable")[:replays], [0])
    makespan = np.full(len(screened), np.nan)
    makespan[promising] = predictor.makespans_s([placements[k] for k in promising], threads)
    order = np.lexsort((screened, np.nan_to_num(makespan, nan=np.inf)))
    gap = np.mean(np.abs(screened[promising] / makespan[promising] - 1)) if makespan[0] > 0 else 0.0
    return Judged(screened, makespan, order, float(gap))
