# SPDX-License-Identifier: BSD-3-Clause
"""Messages that a program looks for and passes on: when a replay finds them, so that its calls are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.explain.explanation import explain
from rankwise.explain.timeline import CALC
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.predictor import Predictor
from rankwise.schedule.schedules import Schedule
from rankwise.schedule.source import Source
from rankwise.workloads.program import RECEIVES, SENDS, Kind

Events = dict[str, np.ndarray]
PICOSECOND = 1e-12


def passes_on(events: Events) -> bool:
    """Whether a rank looks for messages that it passes on."""
    return bool(np.any(events["kind"] == Kind.RELAY_RECV))


def settled(
    schedule: Schedule,
    machine: Machine,
    topology: Topology,
    placement: Placement,
    seconds_per_operation: float,
) -> Callable[[int, Events], Events]:
    """When each message that is looked for is found, by a replay of the program's own schedule.

    Args:
        schedule: The program's own.
        machine: What it is replayed on.
        topology: Its nodes.
        placement: Where its ranks are.
        seconds_per_operation: Of a core.

    Returns:
        Of a rank and its events the events with these messages received and sent on where they were found, as blocking
        calls: computation is cut there. Looks that find nothing are not among them.
    """
    predictor = Predictor.of(Source(schedule), machine, topology, plain=True).in_canonical_order(placement)
    timeline = explain(predictor, placement).timeline
    order = np.argsort(timeline["rank"], kind="stable")
    ends = np.searchsorted(timeline["rank"][order], np.arange(placement.ranks + 1))

    def of_rank(rank: int, events: Events) -> Events:
        own = order[ends[rank] : ends[rank + 1]]
        kind, begin, end = (timeline[name][own] for name in ("kind", "begin", "end"))
        message_end = end[kind != CALC]
        is_message = np.isin(events["kind"], (*SENDS, *RECEIVES))
        assert len(message_end) == np.count_nonzero(is_message)
        found = np.flatnonzero(events["kind"] == Kind.RELAY_RECV)
        at = message_end[(np.cumsum(is_message) - 1)[found]]
        computed = _computed_by(begin[kind == CALC], end[kind == CALC], at) * PICOSECOND
        return _moved(events, found, computed / seconds_per_operation)

    return of_rank


def _computed_by(begin: np.ndarray, end: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Computation before each of these times: intervals are in their order and do not overlap."""
    behind = np.searchsorted(begin, at, side="right")
    whole = np.concatenate([[0], np.cumsum(end - begin)])
    last = np.maximum(behind - 1, 0)
    part = np.where(behind > 0, np.minimum(at, end[last]) - begin[last], 0) if len(begin) else 0
    return whole[last] + part


def _moved(events: Events, found: np.ndarray, operations: np.ndarray) -> Events:
    """The events with each relay where so many operations are done, between its begin and its end."""
    done = np.cumsum(events["operations"])
    ends = np.flatnonzero(events["kind"] == Kind.RELAY_END)
    share = np.ones(len(done))
    place = np.arange(len(done), dtype=np.float64)
    rows, places, shares = [np.arange(len(done))], [], []
    for first, wanted in zip(found.tolist(), operations.tolist(), strict=True):
        until = int(ends[np.searchsorted(ends, first)])
        own = [first, first + 1] if events["kind"][first + 1] == Kind.RELAY_SEND else [first]
        cut = int(np.clip(np.searchsorted(done, wanted, side="right"), own[-1] + 1, until))
        whole = float(events["operations"][cut])
        place[own] = cut - 0.25
        if whole > 0:
            # The computation before the cut; what is left of it comes behind what is received and sent on.
            before = float(np.clip(wanted - (done[cut] - whole), 0, whole)) / whole
            share[cut] -= before
            rows.append(np.array([cut]))
            places.append(np.array([cut - 0.5]))
            shares.append(np.array([before]))
    of_row = np.concatenate([share, *shares])
    order = np.argsort(np.concatenate([place, *places]), kind="stable")
    row = np.concatenate(rows)[order]
    moved = {name: column if name == "counts" else column[row] for name, column in events.items()}
    kind = moved["kind"].copy()
    kind[kind == Kind.RELAY_RECV] = Kind.RECV
    kind[kind == Kind.RELAY_SEND] = Kind.SEND
    return moved | {"kind": kind, "operations": moved["operations"] * of_row[order]}
