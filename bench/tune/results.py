# SPDX-License-Identifier: BSD-3-Clause
"""What a whole benchmark came to, as far as it came."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from rankwise.measure.fitting.statistics import Median, median
from tune.cases import Case
from tune.experiments import Experiment
from tune.faults import Outcome
from tune.own_cost import OwnCost
from tune.real_faults import RealFaults
from tune.runs import Run


@dataclass
class Results:
    """Parts are there when they have ended.

    Attributes:
        seed: Of the order of ways in a round.
        scale: Of the seconds of each run.
        rounds: By case, of each round, by name of the way; what failed is missing.
        failed: Why, how often.
        took_s: How long all of it took.
    """

    seed: int
    scale: float
    rounds: dict[str, list[dict[str, Run]]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    experiments: list[Experiment] = field(default_factory=list)
    own_cost: OwnCost | None = None
    real_faults: RealFaults | None = None
    faults: Outcome | None = None
    took_s: float = 0


def best_and_worst(case: Case, rounds: list[dict[str, Run]]) -> tuple[str, str] | None:
    """The static mappings with the highest and the lowest median rate, of all rounds; `None` without runs."""
    rates = {}
    for name in case.static:
        found = [one[name].rate() for one in rounds if name in one]
        if found:
            rates[name] = float(np.median(found))
    return (
        (max(rates, key=lambda name: rates[name]), min(rates, key=lambda name: rates[name]))
        if rates
        else None
    )


def ratios(rounds: list[dict[str, Run]], way: str, to: str, from_s: float = 0.0) -> list[float]:
    """Rate of one way by that of another in the same round, the former from a moment on."""
    both = [(one[way], one[to]) for one in rounds if way in one and to in one]
    return [run.rate(from_s) / other.rate() for run, other in both if other.rate() > 0]


def cell(values: list[float], text: str = ".3f", unit: str = "") -> str:
    """Median and interval."""
    if not values:
        return "-"
    middle = middle_of(values)
    if len(values) < 3:
        return f"{middle.value:{text}}{unit}"
    return f"{middle.value:{text}} [{middle.low:{text}}, {middle.high:{text}}]{unit}"


def middle_of(values: list[float]) -> Median:
    """Median and interval of at least one value."""
    return median(np.array(values))
