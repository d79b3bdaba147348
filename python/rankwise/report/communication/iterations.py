# SPDX-License-Identifier: BSD-3-Clause
"""The iterations of a program, from what its calls repeat with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.timeline import RankEvents
from rankwise.report.data.over_time import Iterations

_ALIKE = ("kind", "comm", "send_peer", "posted_peer", "root")
_SIZES = ("send_bytes", "bytes")
_LEAST_REPEATS, _LEAST_ALIKE, _LEAST_COVERED = 3, 0.8, 0.5
_MOST_TRIED, _MOST_SHOWN = 64, 2000
_Integers = npt.NDArray[np.int64]


def iterations(ranks: Sequence[RankEvents], origin_s: float) -> Iterations | None:
    """Those of the first rank that has some, of the first, the middle and the last one; `None` if none has.

    An iteration is the most calls after which four fifths of the calls are the same again, three times or more: with
    loops in loops, the longest body that all of them fit into. The same are those of the same function, ranks and
    communicator, and sizes of the same power of two; or without looking at sizes, where no others repeat.

    Args:
        ranks: Events by world rank, their times on one axis.
        origin_s: Where the report's axis begins.
    """
    for rank in sorted({0, len(ranks) // 2, len(ranks) - 1}):
        events = ranks[rank]
        rows = np.flatnonzero(events.columns["kind"] < len(CALL_NAMES))
        for with_sizes in (True, False):
            signature = _signatures(events, rows, with_sizes)
            found = _repeated(signature)
            if found is not None:
                return _of_calls(events, rows, signature, rank, *found, origin_s)
    return None


def _signatures(events: RankEvents, rows: _Integers, with_sizes: bool) -> _Integers:
    """A number for each call, the same for calls that are alike."""
    columns = [events.columns[name][rows].astype(np.int64) for name in _ALIKE]
    if with_sizes:
        columns += [
            np.frexp(events.columns[name][rows].astype(np.float64))[1].astype(np.int64) for name in _SIZES
        ]
    mixed = np.zeros(len(rows), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _repeated(signature: _Integers) -> tuple[_Integers, int] | None:
    """Where the call that each iteration begins with is, and how many calls are in one."""
    candidates = []
    order = np.argsort(signature, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(signature[order])) + 1):
        if len(places) < _LEAST_REPEATS:
            continue
        lengths, times = np.unique(np.diff(places), return_counts=True)
        most = int(times.argmax())
        length, often = int(lengths[most]), int(times[most])
        if length * often >= _LEAST_COVERED * len(signature) and often >= _LEAST_ALIKE * (len(places) - 1):
            candidates.append((length, -often, int(places[0]), places))
    candidates.sort(key=lambda each: (-each[0], *each[1:3]))
    for length, _, _, places in candidates[:_MOST_TRIED]:
        part = signature[places[0] : places[-1] + length]
        if np.mean(part[length:] == part[:-length]) >= _LEAST_ALIKE:
            return places, length
    return None


def _of_calls(
    events: RankEvents,
    rows: _Integers,
    signature: _Integers,
    rank: int,
    places: _Integers,
    length: int,
    origin_s: float,
) -> Iterations:
    begin_s, end_s = events.begin_s[rows] - origin_s, events.end_s[rows] - origin_s
    calls = np.diff(places)
    # Longer ones have something else between two loops.
    whole = np.flatnonzero((calls * 2 >= length) & (calls <= 2 * length))
    begin, end = begin_s[places[whole]], begin_s[places[whole + 1]]
    last = places[-1]
    if np.array_equal(signature[last : last + length], signature[places[-2] : places[-2] + length]):
        begin, end = np.append(begin, begin_s[last]), np.append(end, end_s[last + length - 1])
    first = np.arange(0, len(begin), max(1, -(-len(begin) // _MOST_SHOWN)))
    joined = np.diff(np.append(first, len(begin)))
    time_s = end - begin
    low_s, median_s, high_s = np.quantile(time_s, (0.25, 0.5, 0.75)).tolist()
    return Iterations(
        rank=rank,
        anchor=_anchor(events, int(rows[places[0]])),
        calls=length,
        count=len(begin),
        begin_s=begin[first].tolist(),
        end_s=end[first + joined - 1].tolist(),
        joined=joined.tolist(),
        mean_s=(np.add.reduceat(time_s, first) / joined).tolist(),
        most_s=np.maximum.reduceat(time_s, first).tolist(),
        median_s=median_s,
        low_s=low_s,
        high_s=high_s,
    )


def _anchor(events: RankEvents, row: int) -> str:
    to, source = (int(events.columns[name][row]) for name in ("send_peer", "posted_peer"))
    text = str(CALL_NAMES[events.columns["kind"][row]])
    return text + (f" to rank {to}" if to >= 0 else f" from rank {source}" if source >= 0 else "")
