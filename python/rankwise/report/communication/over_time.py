# SPDX-License-Identifier: BSD-3-Clause
"""What ranks did when, from an exact trace."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import numpy.typing as npt

from rankwise.recording import Recording
from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.timeline import RankEvents
from rankwise.recording.traces.waits import CoreShares, Waited
from rankwise.report.communication.iterations import iterations
from rankwise.report.communication.messages import clear_calls
from rankwise.report.data.over_time import OverTime
from rankwise.report.matrix import ranks_per_group
from rankwise.report.waiting import SplitWaits

_PIECES = 240
_LETTERS = "cqwto"
_Floats = npt.NDArray[np.float64]


def over_time(recording: Recording, split: SplitWaits | None) -> OverTime | None:
    """On one axis for all ranks; `None` without a trace.

    Args:
        recording: The run.
        split: Of `split_waits`.
    """
    if split is None:
        return None
    if split.waits is None:
        return OverTime(0.0, [], [], [], [], [], 1, [], None, split.why_not)
    unit = ranks_per_group(recording.world_size)
    edges, spent_s = spent(recording, split, _PIECES, unit)
    all_s = spent_s.sum(axis=0)
    shares = all_s[1:] / np.maximum(all_s[1:].sum(axis=0), 1e-300)
    width_s = edges[1] - edges[0]
    ranks = recording.timeline().on_one_clock()
    members = np.diff(np.append(np.arange(0, len(ranks), unit), len(ranks)))
    letters = np.array(list(_LETTERS))[spent_s[:, 1:].argmax(axis=1)]
    letters[spent_s[:, 0] < 0.5 * width_s * members[:, None]] = "."
    computation, core, waiting, transfer, other_mpi = shares.tolist()
    return OverTime(
        end_s=float(edges[-1] - edges[0]),
        computation=computation,
        core=core,
        waiting=waiting,
        transfer=transfer,
        other_mpi=other_mpi,
        ranks_per_row=unit,
        rows=["".join(row) for row in letters.tolist()],
        iterations=iterations(ranks, float(edges[0])),
        why_not=None,
    )


def spent(recording: Recording, split: SplitWaits, pieces: int, unit: int) -> tuple[_Floats, _Floats]:
    """What ranks spent their time on, piece by piece of the run.

    Args:
        recording: The run.
        split: Of `split_waits`, with waits.
        pieces: How many, of equal length.
        unit: Consecutive ranks in a group.

    Returns:
        The edges of the pieces; by group and piece the time in the run, then that computing, without a core, waiting,
        in transfer and in other calls.
    """
    timeline, clear = recording.timeline(), clear_calls(split)
    ranks = timeline.on_one_clock()
    start_s = np.array([each.start_s for each in ranks])
    # The time of a rank that did not end well may be shorter than its trace, or not known.
    time_s = np.nan_to_num(recording.ranks.sort("rank")["time_s"].to_numpy().astype(float))
    until_s = np.maximum(start_s + time_s, [each.end_s.max(initial=0.0) for each in ranks])
    edges = np.linspace(start_s.min(), max(until_s.max(), start_s.min() + 1e-9), pieces + 1)
    spent_s = np.zeros((-(-len(ranks) // unit), 6, pieces))
    for rank, (events, own) in enumerate(zip(ranks, timeline.waited, strict=True)):
        inside = np.clip(
            np.minimum(edges[1:], until_s[rank]) - np.maximum(edges[:-1], start_s[rank]), 0, None
        )
        rest = _without_computation(events, own, split.shares[rank], clear, edges, float(until_s[rank]))
        spent_s[rank // unit, 0] += inside
        spent_s[rank // unit, 1] += np.clip(inside - rest.sum(axis=0), 0, None)
        spent_s[rank // unit, 2:] += rest
    return edges, spent_s


def _without_computation(
    events: RankEvents,
    own: Waited,
    shares: CoreShares | None,
    clear: Container[str],
    edges: _Floats,
    until_s: float,
) -> _Floats:
    """How long a rank was without a core, waiting, in transfer, and in other calls, between each two edges."""
    rows = np.flatnonzero(events.columns["kind"] < len(CALL_NAMES))
    end = np.maximum.accumulate(events.end_s[rows]) if len(rows) else events.end_s[rows]
    before = np.concatenate([[events.start_s], end])
    # What waited since an earlier event's begin overlaps that.
    begin = np.maximum(events.begin_s[rows], before[:-1])
    clear_enough = np.array([name in clear for name in CALL_NAMES])[events.columns["kind"][rows]]
    split = clear_enough & own.concerned[rows]
    middle = np.clip(events.begin_s[rows] + own.waited_s[rows], begin, end)
    after = np.concatenate([begin, [max(until_s, float(before[-1]))]])
    inside, outside = np.zeros(len(rows)), np.zeros(len(rows) + 1)
    if shares is not None and events.core_waits is not None:
        interval = events.core_waits.interval[rows]
        inside = shares.inside[interval]
        outside = shares.outside[np.append(interval, len(shares.outside) - 1)]
    on_core = 1 - inside
    return np.array(
        [
            _between(begin, end, edges, inside) + _between(before, after, edges, outside),
            _between(begin[split], middle[split], edges, on_core[split]),
            _between(middle[split], end[split], edges, on_core[split]),
            _between(begin[~split], end[~split], edges, on_core[~split]),
        ]
    )


def _between(begin: _Floats, end: _Floats, edges: _Floats, part: _Floats) -> _Floats:
    """How much of parts of intervals that do not overlap is between each two edges."""
    if not len(begin):
        return np.zeros(len(edges) - 1)
    length = np.cumsum((end - begin) * part)
    at = np.column_stack([begin, end]).reshape(-1)
    past = np.column_stack([length - (end - begin) * part, length]).reshape(-1)
    found: _Floats = np.diff(np.interp(edges, at, past))
    return found
