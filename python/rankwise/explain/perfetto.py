# SPDX-License-Identifier: BSD-3-Clause
"""A timeline as Chrome trace JSON, for ui.perfetto.dev: a process a node, a track a rank, times in microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from rankwise.explain.timeline import CALC, NONE, SEND, Timeline
from rankwise.exports.perfetto import MOST_SLICES, names, shortest_of, write_events
from rankwise.machine.placement import Placement


@dataclass(frozen=True)
class Written:
    """What was written, and what was not.

    Attributes:
        slices: Operations and waits in the file.
        left_out: Those that were too short to be in it.
        shortest_s: Duration below which they were left out; 0 if nothing was.
    """

    slices: int
    left_out: int
    shortest_s: float


def write(path: Path, timeline: Timeline, placement: Placement, most: int = MOST_SLICES) -> Written:
    """Write the file; if there are more than `most` slices, only the longest.

    Raises:
        RankwiseError: The file cannot be written.
    """
    busy = timeline.end > timeline.begin
    waits = timeline.gap_to > timeline.gap_from
    durations = np.concatenate(
        [(timeline.end - timeline.begin)[busy], (timeline.gap_to - timeline.gap_from)[waits]]
    )
    shortest = int(shortest_of(durations, most))
    busy &= timeline.end - timeline.begin >= shortest
    waits &= timeline.gap_to - timeline.gap_from >= shortest
    nodes = names(placement.node_names, placement.node.tolist())
    operations, waiting = _operations(timeline, placement, busy), _waits(timeline, placement, waits)
    write_events(path, chain(nodes, operations, waiting))
    kept = int(busy.sum() + waits.sum())
    return Written(kept, len(durations) - kept, shortest * 1e-12)


def _operations(timeline: Timeline, placement: Placement, chosen: np.ndarray) -> Iterator[str]:
    kind = timeline.kind[chosen]
    partner = timeline.partner[chosen]
    peer = timeline.rank[np.where(partner == NONE, 0, partner)]
    columns = (kind, peer, timeline.bytes[chosen])
    slices = _slices(placement, timeline.rank[chosen], timeline.begin[chosen], timeline.end[chosen])
    for (what, other, size), rest in zip(
        zip(*(each.tolist() for each in columns), strict=True), slices, strict=True
    ):
        if what == CALC:
            yield f'{{"name": "compute", {rest}}}'
        else:
            name = f"send to {other}" if what == SEND else f"receive from {other}"
            yield f'{{"name": "{name}", {rest}, "args": {{"bytes": {size}}}}}'


def _waits(timeline: Timeline, placement: Placement, chosen: np.ndarray) -> Iterator[str]:
    rank = timeline.rank[timeline.gap_op[chosen]]
    for rest in _slices(placement, rank, timeline.gap_from[chosen], timeline.gap_to[chosen]):
        yield f'{{"name": "wait", {rest}}}'


def _slices(placement: Placement, rank: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Iterator[str]:
    """What all slices have, written by hand: there are many, and nothing in them needs quoting."""
    columns = (placement.node[rank], rank, begin, end - begin)
    for node, of, start, lasts in zip(*(each.tolist() for each in columns), strict=True):
        yield f'"ph": "X", "pid": {node}, "tid": {of}, "ts": {start * 1e-6}, "dur": {lasts * 1e-6}'
