# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a recorded run its replay does not explain: by call, channel and rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise import _core
from rankwise.explain.explanation import explain
from rankwise.explain.timeline import CALC, NONE, Timeline
from rankwise.machine.placement import Placement
from rankwise.recording.call_times import CallTimes
from rankwise.replay.convert import convert_placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

MOST_OPERATIONS = 5_000_000
"""Of a replay whose timeline is made: it takes about 150 bytes an operation."""

FAR = 1.15
"""A run and its replay that differ by more are compared part by part."""

_PICOSECOND = 1e-12


@dataclass(frozen=True)
class Unexplained:
    """Time of one rank in calls of a function, with the computation before them, recorded and replayed.

    Attributes:
        rank: Whose.
        call: The function; empty for what is before the first call.
        channel: Of the rank's message that ended last before they did; empty before the first.
        recorded_s: As recorded.
        replayed_s: In the plain replay.
    """

    rank: int
    call: str
    channel: str
    recorded_s: float
    replayed_s: float


def unexplained(predictor: Predictor, source: Source) -> list[Unexplained]:
    """Where the recorded run and its replay differ, the largest difference first; nothing where that is little.

    Args:
        predictor: Of the program on its machine.
        source: What was recorded.
    """
    run = predictor.run
    if run is None or run.factor <= FAR or source.in_windows or not source.calls or source.recorded is None:
        return []
    if source.schedule.operations > MOST_OPERATIONS:
        return []
    plain = predictor.measured or replace(predictor, anchor=None)
    return compare(plain, source.recorded, source.calls())


def compare(predictor: Predictor, placement: Placement, calls: Sequence[CallTimes]) -> list[Unexplained]:
    """A recorded run and its replay, the largest difference first.

    Each rank's time is cut where a computation begins, in the run and in the replay: a piece is a computation with the
    calls after it. Pieces of one function and channel are added up; over all of a rank's, they are its time.

    Args:
        predictor: Of the machine, plain.
        placement: Where the run was recorded.
        calls: The recorded calls of each rank.
    """
    timeline = Timeline.of(explain(predictor, placement))
    schedule = predictor.schedules.on(placement)
    assert isinstance(schedule, _core.schedule.Schedule)  # those in windows have no timeline
    origin = schedule.origin.astype(np.int64)
    channel = _channels(predictor, placement, timeline)
    names = [link.channel for link in predictor.machine.link_classes] + [""]
    functions = [call[0] for call in _core.trace.calls()]
    first = np.searchsorted(timeline.rank, np.arange(placement.ranks + 1))
    found = []
    for rank, own in enumerate(calls):
        part = slice(first[rank], first[rank + 1])
        kind, begin, end, event = timeline.kind[part], timeline.begin[part], timeline.end[part], origin[part]
        computes = np.flatnonzero((kind == CALC) & (end > begin))
        computes = computes[np.unique(event[computes], return_index=True)[1]]
        starts = np.r_[0, event[computes]]
        until = np.r_[begin[computes], end.max(initial=0)]
        replayed_s = np.diff(until, prepend=0) * _PICOSECOND
        recorded_s = _sums_from(own.before_s + own.inside_s, starts)
        calls_of = np.append(own.call, len(functions))[np.minimum(starts, len(own.call))]
        last = _last_channel(channel[part], end, until, len(names) - 1)
        keys, row = np.unique(np.stack([calls_of, last]), axis=1, return_inverse=True)
        for at, (call, link) in enumerate(keys.T.tolist()):
            here = row.ravel() == at
            name = functions[call] if call < len(functions) else ""
            sums = (float(each[here].sum()) for each in (recorded_s, replayed_s))
            found.append(Unexplained(rank, name, names[link], *sums))
    return sorted(found, key=lambda each: -abs(each.recorded_s - each.replayed_s))


def _channels(predictor: Predictor, placement: Placement, timeline: Timeline) -> np.ndarray:
    """The link class of each message's operation, -1 for what is none."""
    where = convert_placement(predictor.machine, predictor.model.topology_of(placement), placement)
    other = timeline.rank[np.where(timeline.partner != NONE, timeline.partner, 0)]
    links = where.links(timeline.rank.astype(np.uint32), other.astype(np.uint32)).astype(np.int64)
    return np.where((timeline.kind != CALC) & (timeline.partner != NONE), links, -1)


def _last_channel(channel: np.ndarray, end: np.ndarray, until: np.ndarray, none: int) -> np.ndarray:
    """For each piece the channel of the message that had ended last at its end."""
    messages = np.flatnonzero(channel >= 0)
    messages = messages[np.argsort(end[messages], kind="stable")]
    if not len(messages):
        return np.full(len(until), none)
    at = np.searchsorted(end[messages], until, side="right") - 1
    last = messages[np.maximum(at, 0)]
    return np.where(at >= 0, channel[last], none)


def _sums_from(values: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Sums of the values from each beginning to the next one."""
    sums = np.r_[0.0, np.cumsum(values)]
    found: np.ndarray = sums[np.r_[begin[1:], len(values)]] - sums[begin]
    return found
