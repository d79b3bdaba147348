# SPDX-License-Identifier: BSD-3-Clause
"""Medians of samples that belong together: not interrupted, and of one regime of virtual cores if possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rankwise.measure.fitting.disturbed import keep_undisturbed, median_of
from rankwise.measure.fitting.statistics import Median, find_modes, median

ENOUGH = 3  # samples of a point in the regime that most are of; with fewer, those of the other count too


def keep_settled(samples: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Leave out disturbed samples and those of the less frequent regime, but never a whole point.

    Args:
        samples: Of one question.
        keys: Columns that tell its points apart.
    """
    parts = []
    for _, of_channel in samples.group_by("channel", maintain_order=True):
        kept = keep_undisturbed(of_channel)
        modes = find_modes(kept["sentinel_s"].drop_nulls().to_numpy())
        if modes.two:
            faster = pl.col("sentinel_s") <= modes.border
            own = (faster if modes.faster >= 0.5 else ~faster).fill_null(True)
            kept = kept.filter(own | (own.sum().over(list(keys)) < ENOUGH))
        parts.append(kept)
    return pl.concat(parts) if parts else keep_undisturbed(samples)


def medians(samples: pl.DataFrame, keys: Sequence[str], value: pl.Expr) -> dict[tuple[Any, ...], Median]:
    """Median of `value` at every point, in the order of the keys' values; values that are no numbers are left out."""
    kept = (
        keep_settled(samples, keys)
        .select(*keys, "disturbed", "others", "waited", value.alias("_value"))
        .drop_nulls("_value")
    )
    kept = kept.filter(pl.col("_value").is_finite()).sort(*keys, maintain_order=True)
    return {key: median_of(group, "_value") for key, group in kept.group_by(list(keys), maintain_order=True)}


def scale_median(found: Median, factor: float) -> Median:
    """A median in another unit."""
    return Median(found.value * factor, found.low * factor, found.high * factor, found.count)


def per(amount: float, time: Median) -> Median:
    """`amount` over a time, for example a bandwidth; the interval's ends change places."""
    value, low, high = (amount / t if t > 0 else float("inf") for t in (time.value, time.high, time.low))
    return Median(value, low, high, time.count)


def slope(x: Sequence[float], y: Sequence[float]) -> Median | None:
    """Slope of a line with its interval, from the slopes between all pairs of points (Theil and Sen).

    The interval is that of the median slope from each point to the others; `None` with fewer than two different x.
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pairs = [
        (ys[j] - ys[i]) / (xs[j] - xs[i])
        for i in range(len(xs))
        for j in range(i + 1, len(xs))
        if xs[i] != xs[j]
    ]
    if not pairs:
        return None
    each = []
    for i in range(len(xs)):
        others = [(ys[j] - ys[i]) / (xs[j] - xs[i]) for j in range(len(xs)) if xs[i] != xs[j]]
        each += [float(np.median(others))] if others else []
    interval = median(np.array(each))
    value = float(np.median(pairs))
    return Median(value, min(value, interval.low), max(value, interval.high), len(xs))
