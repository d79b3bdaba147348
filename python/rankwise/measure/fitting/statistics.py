# SPDX-License-Identifier: BSD-3-Clause
"""Medians with intervals that assume no distribution.

The interval comes from order statistics: whether a timing lies below the true median is a fair coin, so the number of
timings below it is binomial (T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015,
section 3.1.3; J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

CONFIDENCE = 0.95
EXACT = 500  # counts up to here are treated exactly


@dataclass(frozen=True)
class Median:
    """A median and its confidence interval.

    Attributes:
        value: The median.
        low: Lower end of the interval.
        high: Upper end. With fewer than 6 timings the interval is their whole range and holds less than 95 %.
        count: Number of timings.
    """

    value: float
    low: float
    high: float
    count: int

    @property
    def half_width(self) -> float:
        """Half the interval relative to the median, 0 for a median of 0."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def interval_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Positions (from 0) of the order statistics that enclose the median with at least this confidence.

    The whole range where no interval of `count` values is that sure.
    """
    if count > EXACT:
        # The binomial is close to normal, and its numbers are too large for floating point.
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        rank = int((count - z * math.sqrt(count)) / 2) - 1
        return rank, count - 1 - rank
    below = 0.0
    rank = 0
    for k in range((count + 1) // 2):
        below += math.comb(count, k) * 0.5**count
        if 2 * below > 1 - confidence:
            break
        rank = k
    return rank, count - 1 - rank


def confidence_of(count: int) -> float:
    """Probability with which the interval of `interval_ranks` encloses the median of `count` values."""
    if count > EXACT:
        return CONFIDENCE
    rank, _ = interval_ranks(count)
    return 1 - 2 * sum(math.comb(count, k) for k in range(rank + 1)) * 0.5**count


def median(values: np.ndarray) -> Median:
    """Median of at least one timing."""
    ordered = np.sort(np.asarray(values, dtype=float))
    low, high = interval_ranks(len(ordered))
    return Median(float(np.median(ordered)), float(ordered[low]), float(ordered[high]), len(ordered))


def whole_range(values: np.ndarray, taken: float) -> Median:
    """Median of at least one timing that somebody disturbed: without that it may lie wherever they do, and beyond.

    The interval holds the central part of them (`CONFIDENCE`), however many there are. Whoever takes a share of the
    processors makes all longer by 1 / (1 - share) at most, while nobody is kept from his core for a whole timing; a
    rate is less by as much.

    Args:
        values: Timings or rates.
        taken: Share of the processors' time that others took, below 1.
    """
    ends = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Median(
        float(np.median(values)), float(ends[0] * (1 - taken)), float(ends[1] / (1 - taken)), len(values)
    )


@dataclass(frozen=True)
class Modes:
    """Two regimes in a set of values; with one regime only, `border` is infinite.

    Attributes:
        border: Values up to it belong to the faster regime.
        faster: Share of the values there.
        ratio: Median of the slower regime over that of the faster.
    """

    border: float
    faster: float
    ratio: float

    @property
    def two(self) -> bool:
        """Whether there are two."""
        return math.isfinite(self.border)


def find_modes(values: np.ndarray, least_share: float = 0.05, least_ratio: float = 1.4) -> Modes:
    """Split positive values into two regimes where they clearly fall apart.

    The split minimises the spread of logarithms inside both parts (N. Otsu, A Threshold Selection Method from
    Gray-Level Histograms, 1979). Two regimes are seen if each has its share, medians differ by the ratio, and their
    distance is more than four times the spread inside (median absolute deviations, so that a tail is no regime).
    """
    one = Modes(math.inf, 1.0, 1.0)
    positive = np.sort(np.asarray(values, dtype=float))
    positive = positive[positive > 0]
    count = len(positive)
    least = max(3, math.ceil(least_share * count))
    if count < 2 * least:
        return one
    logs = np.log(positive)
    sums, squares = np.cumsum(logs), np.cumsum(logs**2)
    left = np.arange(1, count)
    inside = squares[-1] - sums[:-1] ** 2 / left - (sums[-1] - sums[:-1]) ** 2 / (count - left)
    allowed = inside[least - 1 : count - least]
    if not len(allowed):
        return one
    cut = int(np.argmin(allowed)) + least
    parts = logs[:cut], logs[cut:]
    middles = [float(np.median(part)) for part in parts]
    spread = max(
        1.4826 * float(np.median(np.abs(part - middle))) for part, middle in zip(parts, middles, strict=True)
    )
    ratio = math.exp(middles[1] - middles[0])
    if ratio < least_ratio or middles[1] - middles[0] < 4 * spread:
        return one
    return Modes(float(math.exp((logs[cut - 1] + logs[cut]) / 2)), cut / count, ratio)
