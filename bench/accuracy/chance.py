# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of placements that runs tell apart by chance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import comb

from rankwise.lab.validation.statistics import FEWEST_RUNS
from rankwise.measure.fitting.statistics import interval_ranks


def apart_by_chance(cases: Sequence[Sequence[int]]) -> float | None:
    """How many pairs runs would tell apart if all placements of a case took the same time.

    Args:
        cases: For each case the number of runs of each placement.

    Returns:
        The expected number; `None` where so many runs have intervals shorter than their whole range, of which this is
        not as simple.
    """
    expected = 0.0
    for counts in cases:
        for one, other in itertools.combinations(counts, 2):
            if min(one, other) < FEWEST_RUNS:
                continue
            if interval_ranks(one)[0] or interval_ranks(other)[0]:
                return None
            # All of one's runs below all of the other's, of equally likely orders.
            expected += 2 / comb(one + other, one)
    return expected
