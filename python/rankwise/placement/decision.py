# SPDX-License-Identifier: BSD-3-Clause
"""Many placements: all are screened, the best of them replayed, and how far the one is from the other is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Each = TypeVar("Each")
Judge = Callable[[Sequence[Each]], np.ndarray]


@dataclass(frozen=True)
class Decision:
    """Which of many placements is the best, and how it was found.

    Attributes:
        best: Index of the placement with the least replayed time.
        screened_s: About the time of each placement.
        replayed: Indices of those that were replayed, best screened ones first.
        replayed_s: Their predicted times.
        gap: Mean of how far screened times are from replayed ones, as a part of these.
        tau: Kendall's tau-b of both orders; NaN if fewer than two were replayed or all are equal.
    """

    best: int
    screened_s: np.ndarray
    replayed: np.ndarray
    replayed_s: np.ndarray
    gap: float
    tau: float


def decide(screen: Judge, replay: Judge, placements: Sequence[Each], part: float = 0.1) -> Decision:
    """Screen all placements, and let replays decide between the best of them.

    The first placement is replayed, too: the screen has its order from there.

    Args:
        screen: About the times of placements, as `Predictor.screen_s`.
        replay: Their times, as `Predictor.makespans_s`.
        placements: At least one.
        part: How many of the placements are replayed, at least one.
    """
    screened = screen(placements)
    count = max(1, math.ceil(part * len(placements)))
    first = np.argsort(screened, kind="stable")[:count]
    chosen = first if 0 in first else np.append(first, 0)
    times = replay([placements[k] for k in chosen])
    return Decision(
        best=int(chosen[np.argmin(times)]),
        screened_s=screened,
        replayed=chosen,
        replayed_s=times,
        gap=_gap(screened[chosen], times),
        tau=kendall(screened[chosen], times),
    )


@dataclass(frozen=True)
class ScreenError:
    """How far screened times of placements are from their replayed ones.

    Attributes:
        placements: How many were compared.
        gap: Mean of how far screened times are from replayed ones, as a part of these; `None` if a time is 0.
        tau: Kendall's tau-b of both orders; `None` if there is no order to compare.
    """

    placements: int
    gap: float | None
    tau: float | None

    @classmethod
    def of(cls, screened_s: np.ndarray, replayed_s: np.ndarray) -> ScreenError:
        """Of the same placements in the same order."""
        tau = kendall(screened_s, replayed_s)
        gap = _gap(screened_s, replayed_s)
        return cls(len(replayed_s), *(None if math.isnan(value) else value for value in (gap, tau)))


def _gap(screened_s: np.ndarray, replayed_s: np.ndarray) -> float:
    return float(np.mean(np.abs(screened_s / replayed_s - 1))) if (replayed_s > 0).all() else math.nan


def kendall(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's tau-b: 1 for the same order, -1 for the opposite one, 0 for none; NaN if one has no order."""
    a, b = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    pairs = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / pairs) if pairs else math.nan
