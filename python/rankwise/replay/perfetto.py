# SPDX-License-Identifier: BSD-3-Clause
"""A timeline as Chrome trace JSON, for ui.perfetto.dev: a process a node, a track a rank, times in microseconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise import whole_files
from rankwise.placement.placement import Placement
from rankwise.replay.timeline import CALC, SEND, Timeline

MOST_SLICES = 500_000  # about 60 MB, which the viewer takes in a few seconds


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
    shortest = 0
    if len(durations) > most:
        shortest = int(np.partition(durations, len(durations) - most)[len(durations) - most])
        busy &= timeline.end - timeline.begin >= shortest
        waits &= timeline.gap_to - timeline.gap_from >= shortest
    lines = [*_names(placement), *_operations(timeline, placement, busy), *_waits(timeline, placement, waits)]
    text = '{"displayTimeUnit": "ns", "traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"
    whole_files.write(path, text.encode())
    kept = int(busy.sum() + waits.sum())
    return Written(kept, len(durations) - kept, shortest * 1e-12)


def _names(placement: Placement) -> Iterator[str]:
    for node, name in enumerate(placement.node_names):
        yield _event("process_name", ph="M", pid=node, args={"name": name})
    for rank in range(placement.ranks):
        where = {"pid": int(placement.node[rank]), "tid": rank}
        yield _event("thread_name", ph="M", **where, args={"name": f"rank {rank}"})
        yield _event("thread_sort_index", ph="M", **where, args={"sort_index": rank})


def _operations(timeline: Timeline, placement: Placement, chosen: np.ndarray) -> Iterator[str]:
    for op in np.flatnonzero(chosen).tolist():
        rank, kind = int(timeline.rank[op]), int(timeline.kind[op])
        if kind == CALC:
            name, arguments = "compute", {}
        else:
            peer = int(timeline.rank[timeline.partner[op]])
            name = f"send to {peer}" if kind == SEND else f"receive from {peer}"
            arguments = {"args": {"bytes": int(timeline.bytes[op])}}
        yield _slice(name, placement, rank, int(timeline.begin[op]), int(timeline.end[op]), **arguments)


def _waits(timeline: Timeline, placement: Placement, chosen: np.ndarray) -> Iterator[str]:
    for gap in np.flatnonzero(chosen).tolist():
        rank = int(timeline.rank[timeline.gap_op[gap]])
        yield _slice("wait", placement, rank, int(timeline.gap_from[gap]), int(timeline.gap_to[gap]))


def _slice(name: str, placement: Placement, rank: int, begin: int, end: int, **more) -> str:
    where = {"pid": int(placement.node[rank]), "tid": rank}
    return _event(name, ph="X", **where, ts=begin * 1e-6, dur=(end - begin) * 1e-6, **more)


def _event(name: str, **fields) -> str:
    return json.dumps({"name": name, **fields})
