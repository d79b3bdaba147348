# SPDX-License-Identifier: BSD-3-Clause
"""Two samples beside each other: Mann and Whitney's rank test, and Hodges and Lehmann's shift with its interval.

Both are exact for any sizes: sums of ranks are counted over all ways to draw the second sample from both, with equal
values sharing the mean of their ranks (Mann & Whitney 1947; Hodges & Lehmann 1963; Lehmann, Nonparametrics, 1975).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

LEVEL = 0.05
"""A difference is more than noise where chance alone makes one as large in at most one of so many cases."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankTest:
    """Of values after against values before.

    Attributes:
        p_two_sided: Part of all divisions of the values into two samples that differ at least as much.
        p_greater: Of those in which the second is at least as much greater.
    """

    p_two_sided: float
    p_greater: float


@dataclass(frozen=True)
class Shift:
    """By how much values after are greater than those before.

    Attributes:
        value: Median of all differences between one after and one before.
        low: Lower end of the interval.
        high: Upper end.
        confidence: That the interval has the shift in it: 95 % or a little more, or what so few values allow.
    """

    value: float
    low: float
    high: float
    confidence: float


def rank_test(before: _Floats, after: _Floats) -> RankTest:
    """Whether two samples differ.

    Args:
        before: One value a run, at least one.
        after: Likewise.
    """
    _, at, counts = np.unique(np.concatenate([before, after]), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    # Twice the mean rank of equal values is whole.
    doubled = (2 * last - counts + 1)[at]
    ways = _ways(tuple(sorted(doubled.tolist())), len(after))
    found = int(doubled[len(before) :].sum())
    middle = len(after) * (len(doubled) + 1)
    sums = np.arange(len(ways))
    all_ways = float(ways.sum())
    far = np.abs(sums - middle) >= abs(found - middle)
    return RankTest(float(ways[far].sum()) / all_ways, float(ways[found:].sum()) / all_ways)


def least_p(before: int, after: int) -> float:
    """The least that `p_two_sided` can be with so many values; `p_greater` can be half of it."""
    return min(2 / comb(before + after, after), 1.0)


def shift(before: _Floats, after: _Floats, level: float = LEVEL) -> Shift:
    """How much greater the second sample is.

    Args:
        before: One value a run, at least one.
        after: Likewise.
        level: 1 less the confidence of the interval.
    """
    differences = np.sort(np.subtract.outer(after, before).ravel())
    sizes = len(before), len(after)
    ways = _ways(tuple(range(2, 2 * sum(sizes) + 1, 2)), sizes[1])[::2]
    of_u = ways[sizes[1] * (sizes[1] + 1) // 2 :]
    below = np.cumsum(of_u) / of_u.sum()
    # The interval leaves out as many differences at each end as are below its share of chance.
    cut = int(np.searchsorted(below, level / 2, side="right"))
    cut = min(max(cut, 1), (len(differences) + 1) // 2)
    outside = 2 * float(below[cut - 1])
    return Shift(
        float(np.median(differences)),
        float(differences[cut - 1]),
        float(differences[-cut]),
        max(1 - outside, 0.0),
    )


@lru_cache(maxsize=64)
def _ways(values: tuple[int, ...], drawn: int) -> _Floats:
    """By sum, how many ways there are to draw so many of the values."""
    ways = np.zeros((drawn + 1, sum(values) + 1))
    ways[0, 0] = 1
    for value in values:
        for number in range(drawn, 0, -1):
            ways[number, value:] += ways[number - 1, : ways.shape[1] - value]
    drawn_all: _Floats = ways[drawn]
    return drawn_all
