# SPDX-License-Identifier: BSD-3-Clause
"""The search for a program's placement, judged by its predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.constraints import Constraints
from rankwise.placement.loads import RankTimes
from rankwise.placement.search import Candidate, PlacementSearch, Progress, say_nothing
from rankwise.replay.gain import is_better
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor


def make_search(
    predictor: Predictor,
    messages: pl.DataFrame,
    topology: Topology,
    objective: str = "time",
    constraints: Constraints | None = None,
) -> PlacementSearch:
    """The search for the best placement of a program, which knows how its ranks load what they share.

    Args:
        predictor: Of the program on the machine.
        messages: The recording's messages table.
        topology: The nodes that may be used.
        objective: As of `PlacementSearch`.
        constraints: Limits of the search.

    Raises:
        RankwiseError: As `PlacementSearch`.
    """
    ranks = predictor.schedule.ranks
    search = PlacementSearch(messages, ranks, predictor.machine, topology, objective, constraints)
    parts_s = predictor.predict(search.simple()[0].placement).parts_s
    search.learn(RankTimes.of(parts_s, predictor.memory_bound))
    return search


def run_search(
    search: PlacementSearch,
    predictor: Predictor,
    current: Placement | None,
    *,
    seed: int = 1,
    budget_s: float = 10.0,
    least_gain: float = 0.0,
    progress: Progress = say_nothing,
) -> list[Candidate]:
    """What `PlacementSearch.run` finds, judged by a predictor.

    Args:
        search: Made for the predictor.
        predictor: Of the program on the machine.
        current: Where the program ran, if that fits.
        seed: Of the search.
        budget_s: Time for it.
        least_gain: Share of the time that another placement has to save; 0: whatever it saves.
        progress: As of `PlacementSearch.run`.
    """
    return search.run(
        predictor.predict,
        current,
        seed,
        budget_s,
        estimator=predictor.estimates_s,
        progress=progress,
        better=(lambda placement, present: is_better(predictor, placement, present, least_gain))
        if least_gain
        else None,
    )


def predicted(candidate: Candidate) -> Prediction:
    """What the predictor said of a candidate that `run_search` gave."""
    assert isinstance(candidate.prediction, Prediction)
    return candidate.prediction


def with_intervals(candidates: Sequence[Candidate], predictor: Predictor) -> list[Candidate]:
    """The candidates with the intervals of their times, each of which takes many replays."""
    return [replace(each, prediction=predictor.predict_with_interval(each.placement)) for each in candidates]
