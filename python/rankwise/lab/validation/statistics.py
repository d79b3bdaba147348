# SPDX-License-Identifier: BSD-3-Clause
"""How well predicted times agree with measured ones; nothing here knows where they come from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.measure.fitting.statistics import Median

# Runs below which a median has no interval worth the name: two enclose it as often as not.
FEWEST_RUNS = 3


@dataclass(frozen=True)
class Compared:
    """One placement of one case.

    Attributes:
        measured: Median of its runs with its interval; `None` if no run succeeded.
        predicted_s: What was predicted.
        low_s: Lower end of the predicted interval; `predicted_s` for a predictor without one.
        high_s: Its upper end.
        is_traced: Whether it is the placement of the traced run, whose time is known to predictors: that they are near
            it says nothing.
    """

    measured: Median | None
    predicted_s: float
    low_s: float
    high_s: float
    is_traced: bool = False

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1; `None` if nothing was measured."""
        return self.predicted_s / self.measured.value - 1 if self.measured else None


@dataclass(frozen=True)
class Agreement:
    """Agreement over any number of cases.

    Attributes:
        pairs: Pairs of placements of one case whose measured intervals, of `FEWEST_RUNS` or more each, do not overlap.
        ordered: How many of them the predictor orders as measured; equal predictions order nothing.
        times: Placements with a measured time.
        median_error: Median of the errors without their signs, without traced runs' placements; `None` without any.
        worst_error: The largest of them, with its sign.
        covered: Placements whose measured median lies in the predicted interval, without those of traced runs.
        to_cover: All with a measured time, without those of traced runs.
    """

    pairs: int
    ordered: int
    times: int
    median_error: float | None
    worst_error: float | None
    covered: int
    to_cover: int

    @property
    def ordered_share(self) -> float | None:
        """Part of the pairs that are ordered rightly; `None` without pairs."""
        return self.ordered / self.pairs if self.pairs else None

    @property
    def covered_share(self) -> float | None:
        """Part of the measured medians inside their predicted interval; `None` without any."""
        return self.covered / self.to_cover if self.to_cover else None


def agreement(cases: Sequence[Sequence[Compared]]) -> Agreement:
    """Compare all placements of all cases; pairs are formed inside a case only.

    Args:
        cases: For each case its placements.
    """
    pairs = ordered = 0
    for placements in cases:
        known = [(each.measured, each.predicted_s) for each in placements if each.measured]
        for two in itertools.combinations(known, 2):
            (faster, faster_s), (slower, slower_s) = sorted(two, key=lambda each: each[0].value)
            enough = min(faster.count, slower.count) >= FEWEST_RUNS
            if enough and faster.high < slower.low:
                pairs += 1
                ordered += faster_s < slower_s
    measured = [each for placements in cases for each in placements if each.measured]
    unknown = [each for each in measured if not each.is_traced]
    errors = np.array([each.error for each in unknown])
    return Agreement(
        pairs=pairs,
        ordered=ordered,
        times=len(measured),
        median_error=float(np.median(np.abs(errors))) if len(errors) else None,
        worst_error=float(errors[np.argmax(np.abs(errors))]) if len(errors) else None,
        covered=sum(
            each.measured is not None and each.low_s <= each.measured.value <= each.high_s for each in unknown
        ),
        to_cover=len(unknown),
    )
