# SPDX-License-Identifier: BSD-3-Clause
"""Points that one regime of virtual cores lacks, as the other one foretells them."""

from __future__ import annotations

import numpy as np
import polars as pl

_VALUES = ("value1", "value2", "value3")
_NEAREST = 3  # sizes that both regimes have and that tell how they differ


def borrow_samples(own: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Samples of points (test, size) that `own` lacks, from `other`, with times as they would be in the former.

    What regimes differ by depends on the size: long messages hardly differ. So times are scaled by the ratio of medians
    at the nearest sizes that both regimes have, of the same test, else of any; without such a size they stay.
    """
    lacking = other.join(own, on=["test", "bytes"], how="anti")
    if lacking.is_empty():
        return lacking
    ratios = _ratios(own, other)
    parts = []
    for (test, size), group in lacking.group_by(["test", "bytes"], maintain_order=True):
        factor = _factor(ratios, test, size)
        parts.append(group.with_columns(pl.col(name) * factor for name in _VALUES if name in group.columns))
    return pl.concat(parts)


def _ratios(own: pl.DataFrame, other: pl.DataFrame) -> list[tuple[str, int, float]]:
    medians = [
        part.filter(pl.col("value1") > 0).group_by("test", "bytes").agg(pl.col("value1").median())
        for part in (own, other)
    ]
    both = medians[0].join(medians[1], on=["test", "bytes"])
    return [
        (test, size, mine / theirs) for test, size, mine, theirs in both.sort("test", "bytes").iter_rows()
    ]


def _factor(ratios: list[tuple[str, int, float]], test: str, size: int) -> float:
    of_test = [each for each in ratios if each[0] == test] or ratios
    nearest = sorted(of_test, key=lambda each: abs(np.log1p(each[1]) - np.log1p(size)))[:_NEAREST]
    return float(np.median([ratio for _, _, ratio in nearest])) if nearest else 1.0
