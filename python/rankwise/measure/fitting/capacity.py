# SPDX-License-Identifier: BSD-3-Clause
"""What a shared resource gives in all: k pairs together get min(k b, C).

b is what one pair gets alone, C the capacity. Where even the most pairs that were tried still get k b, the capacity was
not reached and only a lower bound is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from rankwise.measure.fitting.disturbed import keep_undisturbed, taken_from_pairs
from rankwise.measure.fitting.statistics import Median, median, whole_range

# Less than this share of k b means that the pairs held each other up.
SATURATED = 0.85


@dataclass(frozen=True)
class Sweep:
    """Rates of k pairs together.

    Attributes:
        rates: By number of pairs, the sum over the pairs of one window.
        capacity: C with its interval; `None` if it was not reached.
    """

    rates: dict[int, Median]
    capacity: Median | None

    @property
    def most(self) -> float:
        """The largest rate seen."""
        return max(rate.value for rate in self.rates.values())


def sweep(samples: pl.DataFrame, size: int, column: str) -> Sweep | None:
    """Fit one sweep.

    Args:
        samples: Rows of `share`.
        size: Bytes of a message.
        column: `value1` for bytes/s, `value2` for messages/s.

    Returns:
        `None` if there are no such rows.
    """
    rows = samples.filter((pl.col("test") == "share") & (pl.col("bytes") == size))
    if not len(rows):
        return None
    # The n-th window of each pair of a step was at the same time: only such rates may be added.
    window = pl.int_range(pl.len()).over(["launch", "step", "pairs", "source", "destination"])
    together = (
        rows.with_columns(window.alias("window"))
        .group_by(["launch", "step", "test", "pairs", "bytes", "setting", "rotate_bytes", "window"])
        .agg(pl.col(column, "switches").sum(), pl.col("waited", "others").max(), pl.len().alias("seen"))
        # Samples of earlier versions counted whole messages: in a window shorter than one none may have ended.
        .filter((pl.col("seen") == pl.col("pairs")) & (pl.col(column) > 0))
    )
    # A window is disturbed as a whole: without one of its pairs it has no total.
    together = keep_undisturbed(together)
    totals = {
        k: together.filter(pl.col("pairs") == k)[column].to_numpy()
        for k in sorted(together["pairs"].unique())
    }
    return fit({k: v for k, v in totals.items() if len(v)}, taken_from_pairs(together))


def fit(totals: dict[int, np.ndarray], disturbed: Mapping[int, float] = MappingProxyType({})) -> Sweep | None:
    """Fit min(k b, C) to total rates by number of pairs; `disturbed` are those that others disturbed."""
    if not totals:
        return None
    rates = {k: whole_range(v, disturbed[k]) if k in disturbed else median(v) for k, v in totals.items()}
    counts = sorted(rates)
    if len(counts) < 2:
        return Sweep(rates, None)
    # Try every number of pairs after which it is flat: the line through the origin before, the level from there on.
    best, error = None, np.inf
    for last in range(len(counts)):
        rising, flat = counts[:last], counts[last:]
        y = np.array([rates[k].value for k in rising])
        slope = float((y * rising).sum() / np.square(rising).sum()) if rising else rates[counts[0]].value
        level = float(np.median(np.concatenate([totals[k] for k in flat])))
        off = sum((rates[k].value / (k * slope) - 1) ** 2 for k in rising)
        off += sum((rates[k].value / level - 1) ** 2 for k in flat)
        if off < error and level < SATURATED * flat[-1] * slope:
            best, error = flat, off
    straight = sum((rates[k].value / (k * rates[counts[0]].value / counts[0]) - 1) ** 2 for k in counts)
    if best is None or straight < error:
        return Sweep(rates, None)
    reached = np.concatenate([totals[k] for k in best])
    others = max((disturbed[k] for k in best if k in disturbed), default=None)
    return Sweep(rates, median(reached) if others is None else whole_range(reached, others))
