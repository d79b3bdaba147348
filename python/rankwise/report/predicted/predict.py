# SPDX-License-Identifier: BSD-3-Clause
"""A recorded run predicted with its ranks placed otherwise: times, what they consist of, timelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.explain.explanation import Explanation, explain
from rankwise.explain.losses import losses
from rankwise.explain.timeline import CALC, NONE, RECEIVE, SEND, Timeline
from rankwise.findings.on_machine import OnMachine
from rankwise.machine.placement import Placement
from rankwise.quantities import count_text
from rankwise.replay.prediction import Prediction
from rankwise.report.placements import Placed
from rankwise.report.predicted.data import PlacementPrediction, Predicted, PredictedTimeline

MOST_OPERATIONS = 2_000_000
"""Of a program that is replayed some 40 times a placement."""

PLACED = "as placed"
_MOST_PIECES = 800
# Rows, and rows x pieces; of more ranks fewer, so that the page fits in 2 MB.
_FEW_RANKS = 4096
_OF_FEW, _OF_MANY = (256, 256 * 240), (128, 128 * 120)
_STATES = "cwto."


def predicted(there: OnMachine, asked: Sequence[Placed]) -> Predicted:
    """What a report says of placements on a machine.

    Args:
        there: The recorded run on it.
        asked: Placements besides the one of the run.
    """
    try:
        operations = there.source.schedule.operations
        if operations > MOST_OPERATIONS:
            raise RankwiseError(
                f"the run has {count_text(operations)} operations, which a report does not replay so often: "
                "`rankwise predict` does"
            )
        anchored = there.predictor.anchor is not None
    except RankwiseError as error:
        return Predicted(there.path, False, [], there.search_s, why_not=error.message)
    found = [_as_it_ran(there), *(_of(there, each.name, each.placement) for each in asked)]
    best, why_none = _best(there)
    if best:
        found.append(_of(there, PLACED, best))
    return Predicted(there.path, anchored, found, there.search_s, why_none)


def better_placement(there: OnMachine) -> Placed | None:
    """The best that a short search finds, if it is not the one of the run."""
    best, _ = _best(there)
    if best is None:
        return None
    topology = there.predictor.model.topology_of(best)
    return Placed(PLACED, "", None, best, topology)


def _best(there: OnMachine) -> tuple[Placement | None, str | None]:
    try:
        best = there.candidates[-1].placement
        if best.same_seats(there.recorded):
            return None, f"a search of {there.search_s:g} s found none that is faster than as it ran"
    except RankwiseError as error:
        return None, f"no better one was searched for: {error.message}"
    return best, None


def _as_it_ran(there: OnMachine) -> PlacementPrediction:
    try:
        return _of(there, "as it ran", there.recorded)
    except RankwiseError as error:
        return PlacementPrediction("as it ran", why_not=error.message)


def _of(there: OnMachine, name: str, placement: Placement) -> PlacementPrediction:
    try:
        predictor = there.predictor.in_canonical_order(placement)
        prediction = predictor.predict_with_interval(placement)
        lost = losses(predictor, prediction)
    except RankwiseError as error:
        return PlacementPrediction(name, why_not=error.message)
    happened, why_no_timeline = None, None
    try:
        happened = explain(predictor, placement)
    except RankwiseError as error:
        why_no_timeline = error.message
    interval = prediction.interval
    return PlacementPrediction(
        name,
        prediction.makespan_s,
        interval.low_s if interval else None,
        interval.high_s if interval else None,
        _parts_s(prediction, happened),
        lost,
        timeline(Timeline.of(happened), prediction.finish_s) if happened else None,
        why_no_timeline=why_no_timeline,
    )


def _parts_s(prediction: Prediction, happened: Explanation | None) -> dict[str, float]:
    """What the time of the mean rank consists of."""
    parts = {name: float(times.mean()) for name, times in prediction.parts_s.items()}
    if happened:
        del parts["waiting"]
        parts |= {cause: float(times.mean()) for cause, times in happened.waiting.items()}
    parts["ended"] = prediction.makespan_s - float(prediction.finish_s.mean())
    return {name: part_s for name, part_s in parts.items() if part_s > 0}


def timeline(of: Timeline, finish_s: np.ndarray, pieces: int = _MOST_PIECES) -> PredictedTimeline:
    """What groups of ranks do most in each piece of the time.

    Args:
        of: What happened in the replay.
        finish_s: When each rank ends.
        pieces: How many, at most.
    """
    ranks, end_s = len(finish_s), float(finish_s.max())
    most_rows, most_spots = _OF_FEW if ranks <= _FEW_RANKS else _OF_MANY
    per_row = -(-ranks // most_rows)
    rows = -(-ranks // per_row)
    pieces = min(pieces, most_spots // rows)
    spent = np.zeros((len(_STATES), rows, pieces))
    scale = pieces / end_s * 1e-12 if end_s > 0 else 0.0
    calc = of.kind == CALC
    idle = _idle(of, ranks)
    whose, began_ps = of.rank[idle.op], _other_began(of, idle)
    for state, rank, begin, end in (
        ("c", of.rank[calc], of.begin[calc], of.end[calc]),
        ("w", whose, idle.from_ps, began_ps),
        ("t", whose, began_ps, idle.to_ps),
    ):
        _spread(spent[_STATES.index(state)], rank // per_row, begin * scale, end * scale)
    every = np.arange(ranks) // per_row
    last = finish_s * 1e12 * scale
    _spread(spent[_STATES.index(".")], every, last, np.full(ranks, float(pieces)))
    # A processor that neither computes nor has nothing to do handles messages.
    spent[_STATES.index("o")] = np.bincount(every)[:, None] - spent.sum(axis=0)
    letters = np.array(list(_STATES))[spent.argmax(axis=0)]
    return PredictedTimeline(end_s, per_row, ["".join(row) for row in letters])


class _Idle(NamedTuple):
    """When processors had nothing to do, and what they did next."""

    op: np.ndarray
    from_ps: np.ndarray
    to_ps: np.ndarray


def _idle(of: Timeline, ranks: int) -> _Idle:
    """Gaps, and what ranks whose last operation is a send wait for its message."""
    order = np.argsort(of.end, kind="stable")
    last = np.full(ranks, -1)
    last[of.rank[order]] = order
    sends = last[(last >= 0) & (of.kind[last] == SEND)]
    busy = np.zeros(ranks, np.int64)
    np.maximum.at(busy, of.rank[of.gap_op], of.gap_to)
    others = of.kind != SEND
    np.maximum.at(busy, of.rank[others], of.end[others])
    begin = np.maximum(busy[of.rank[sends]], of.begin[sends])
    posted = of.ready[np.where(of.partner[sends] == NONE, sends, of.partner[sends])]
    waits = (begin < posted) & (posted <= of.end[sends])
    return _Idle(
        np.concatenate([of.gap_op.astype(np.int64), sends[waits]]),
        np.concatenate([of.gap_from, begin[waits]]),
        np.concatenate([of.gap_to, of.end[sends][waits]]),
    )


def _other_began(of: Timeline, idle: _Idle) -> np.ndarray:
    """When the other side of the message that each gap ends with began: its send, or the receive of a rendezvous."""
    ends = idle.op.copy()
    # A computation, or a send that begins then, waited for what ended at that moment.
    waits = (of.kind[ends] == CALC) | ((of.kind[ends] == SEND) & (of.begin[ends] >= idle.to_ps))
    messages = np.flatnonzero(of.kind != CALC)
    known = pl.DataFrame({"rank": of.rank[messages], "end": of.end[messages], "op": messages})
    wanted = pl.DataFrame({"rank": of.rank[ends[waits]], "end": idle.to_ps[waits]})
    found = wanted.join(
        known.unique(["rank", "end"], keep="last"), ["rank", "end"], "left", maintain_order="left"
    )
    ends[waits] = found["op"].fill_null(-1).to_numpy()
    other = np.where(ends >= 0, of.partner[ends], NONE)
    has = other != NONE
    at = np.where(has, other, 0)
    began = np.where(of.kind[ends] == RECEIVE, of.begin[at], of.ready[at])
    return np.where(has, np.clip(began, idle.from_ps, idle.to_ps), idle.from_ps)


def _spread(spent: np.ndarray, row: np.ndarray, begin: np.ndarray, end: np.ndarray) -> None:
    """Add intervals, in pieces from 0 on, to what is spent in each piece of a row."""
    pieces = spent.shape[1]
    begin, end = np.clip(begin, 0, pieces), np.clip(end, 0, pieces)
    first, last = (np.minimum(each.astype(np.int64), pieces - 1) for each in (begin, end))
    # As a sum of steps: each interval covers its first piece from its begin and its last one to its end.
    steps = np.zeros((spent.shape[0], pieces + 1))
    np.add.at(steps, (row, first), 1.0)
    np.add.at(steps, (row, last), -1.0)
    spent += np.cumsum(steps, axis=1)[:, :pieces]
    np.add.at(spent, (row, first), first - begin)
    np.add.at(spent, (row, last), end - last)
