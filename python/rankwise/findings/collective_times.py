# SPDX-License-Identifier: BSD-3-Clause
"""Time in collectives when all ranks have come to them, and what other algorithms would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rankwise import _core
from rankwise.recording.raw import CALL_COLLECTIVES
from rankwise.recording.traces.waits import Timeline

SEND = 0
"""Kind of a step, as `_core.collectives.steps` has it."""


def inside_s(timeline: Timeline) -> npt.NDArray[np.float64]:
    """By call of `timeline.collectives`, how long it took when the last of its members had come."""
    ranks, calls = timeline.on_one_clock(), timeline.collectives
    last = np.full(len(calls.kind), -np.inf)
    np.maximum.at(last, calls.number, calls.begin_s)
    end = np.empty(len(calls.rank))
    for each, mine in zip(ranks, _parts(calls.rank, len(ranks)), strict=True):
        end[mine] = each.end_s[calls.row[mine]]
    found: npt.NDArray[np.float64] = np.clip(end - np.maximum(last[calls.number], calls.begin_s), 0, None)
    return found


def _parts(rank_of: npt.NDArray[np.int64], ranks: int) -> list[slice]:
    """By rank, where its calls are: calls are in the order of their ranks."""
    ends = np.searchsorted(rank_of, np.arange(ranks + 1)).tolist()
    return [slice(*each) for each in pairwise(ends)]


def lasts_s(
    timeline: Timeline, chosen: npt.NDArray[np.intp], group: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """By collective, the time from when the last member has come until the last one leaves, with a core for each.

    Of one communicator, these times follow each other: the member that leaves last comes to the next one after that.
    What the member waited for a core that waited most in a collective is taken off: the others may have waited for it.
    That is known between samples. All that a member waited then counts as in these calls, and evenly.

    Args:
        timeline: The exact trace.
        chosen: Calls of `timeline.collectives`; 0 for all collectives of others.
        group: By chosen call, what it is alike with: waiting for a core counts for each group alone.
    """
    calls, spent_s = timeline.collectives, inside_s(timeline)[chosen]
    interval, waits_s = np.zeros(len(chosen), np.int64), []
    begin = 0
    for each, mine in zip(timeline.ranks, _parts(calls.rank[chosen], len(timeline.ranks)), strict=True):
        own = np.zeros(1) if each.core_waits is None else each.core_waits.wait_s
        if each.core_waits is not None:
            interval[mine] = each.core_waits.interval[calls.row[chosen[mine]]]
        interval[mine] += begin
        waits_s.append(own)
        begin += len(own)
    places, of = np.unique(group * begin + interval, return_inverse=True)
    within_s = np.bincount(of.reshape(-1), weights=spent_s, minlength=len(places))
    wait_s = np.concatenate(waits_s)[places % begin] if len(places) else np.zeros(0)
    part = np.divide(np.minimum(wait_s, within_s), within_s, out=np.zeros_like(within_s), where=within_s > 0)
    found, core_s = np.zeros(len(calls.kind)), np.zeros(len(calls.kind))
    np.maximum.at(found, calls.number[chosen], spent_s)
    np.maximum.at(core_s, calls.number[chosen], spent_s * part[of.reshape(-1)])
    return found - core_s


@dataclass(frozen=True)
class Alike:
    """Collectives of one kind, communicator and size.

    Attributes:
        kind: Of their calls.
        members: World ranks, in the communicator's order.
        root: In the communicator; -1 where there is none.
        bytes: As in the trace.
        element_bytes: Size of one element.
        total_bytes: As in the trace.
        count: How many.
        lasts_s: What they take all together, from when all members have come until the last one leaves, with a core for
            each (`lasts_s`). It is as many times the median, since no algorithm makes good what disturbs a few of them,
            and no more than the sum.
    """

    kind: int
    members: tuple[int, ...]
    root: int
    bytes: int
    element_bytes: int
    total_bytes: int
    count: int
    lasts_s: float

    @property
    def operation(self) -> str:
        """As the registry of algorithms names it."""
        return str(CALL_COLLECTIVES[self.kind])

    def default(self, library: str, nodes: Sequence[int]) -> str:
        """The algorithm that a library takes by itself.

        Args:
            library: As `_core.collectives.select` has it.
            nodes: Of each member; empty where all share one.
        """
        return str(
            _core.collectives.select(
                library,
                self.operation,
                size=len(self.members),
                bytes=self.bytes,
                element_bytes=self.element_bytes,
                total_bytes=self.total_bytes,
                nodes=list(nodes),
            )
        )

    def schedule(self, algorithm: str, nodes: Sequence[int]) -> _core.schedule.Schedule:
        """One of them alone, with an algorithm of the registry: rounds follow each other on each rank."""
        builder = _core.schedule.ProgramBuilder(len(self.members), "mpich", "member")
        for rank in range(len(self.members)):
            steps = _core.collectives.steps(
                self.operation,
                algorithm,
                rank=rank,
                size=len(self.members),
                root=max(self.root, 0),
                bytes=self.bytes,
                element_bytes=self.element_bytes,
                total_bytes=self.total_bytes,
                nodes=list(nodes),
            )
            requests: list[int] = []
            current = None
            for kind, peer, number, size, _ in steps:
                if number != current and requests:
                    builder.wait(rank, requests)
                    requests = []
                current = number
                begin = builder.isend if kind == SEND else builder.ireceive
                requests.append(begin(rank, peer, size, 0, 0))
            if requests:
                builder.wait(rank, requests)
        return builder.finish()


def alike(timeline: Timeline, wanted: Callable[[int], bool]) -> list[Alike]:
    """Blocking collectives of at least two members by kind, communicator and size, the costliest first.

    Args:
        timeline: The exact trace.
        wanted: Whether a kind of call is looked at.
    """
    calls = timeline.collectives
    columns = {
        name: np.empty(len(calls.rank), np.int64) for name in ("bytes", "bytes2", "datatype_bytes", "root")
    }
    for each, mine in zip(timeline.ranks, _parts(calls.rank, len(timeline.ranks)), strict=True):
        for name, column in columns.items():
            column[mine] = each.columns[name][calls.given[mine]].astype(np.int64)
    kind = np.append(calls.kind, -1)[calls.number] if len(calls.kind) else np.zeros(0, np.int64)
    looked_at = np.isin(kind, [each for each in np.unique(kind).tolist() if each >= 0 and wanted(each)])
    chosen = np.flatnonzero(looked_at & (calls.comm >= 0))
    keys = np.column_stack([kind, calls.comm, columns["bytes"], columns["root"]])[chosen]
    distinct, of = np.unique(keys, axis=0, return_inverse=True)
    of = of.reshape(-1)
    by_number_s = lasts_s(timeline, chosen, of)
    found = []
    for number, (call, comm, size, root) in enumerate(distinct.tolist()):
        members = timeline.members[comm]
        rows = chosen[of == number]
        if members is None or len(members) < 2:
            continue
        numbers = np.unique(calls.number[rows])
        each_s = by_number_s[numbers]
        found.append(
            Alike(
                call,
                tuple(int(member) for member in members),
                root,
                size,
                max(int(columns["datatype_bytes"][rows[0]]), 1),
                int(columns["bytes2"][rows[0]]),
                len(numbers),
                min(len(numbers) * float(np.median(each_s)), float(each_s.sum())),
            )
        )
    return sorted(found, key=lambda each: -each.lasts_s)
