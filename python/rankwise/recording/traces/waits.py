# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring, where MPI's semantics allow it.

A receive cannot end before its send began, nor a barrier or an all-to-all before the last member came: until then its
caller waited. What a call took beyond is the library's and the network's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from rankwise.record.manifest import is_generated
from rankwise.recording.communicators import unify
from rankwise.recording.job import choose_job
from rankwise.recording.raw import CALL_COLLECTIVES, CALL_NAMES, read
from rankwise.recording.traces.clocks import HostClock, relate, same
from rankwise.recording.traces.timeline import (
    CollectiveCalls,
    Messages,
    RankEvents,
    match,
    match_collectives,
    rank_events,
)

# Nobody leaves before everybody has come: each member needs something of each other one (MPI 5.0, chapter 6).
SYNCHRONISING = (
    "barrier",
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "reduce_scatter",
    "reduce_scatter_block",
)

SYNCHRONISES: npt.NDArray[np.bool_] = np.isin(CALL_COLLECTIVES, SYNCHRONISING) | (
    CALL_NAMES == "MPI_Win_fence"
)
"""By kind of call, whether nobody leaves it before all have come."""

_COLUMNS = {
    "rank": pl.Int64,
    "call": pl.String,
    "count": pl.Int64,
    "time_s": pl.Float64,
    "waiting_s": pl.Float64,
} | {
    f"{part}_{bound}_s": pl.Float64 for part in ("core", "waiting", "transfer") for bound in ("least", "most")
}


@dataclass(frozen=True)
class Timeline:
    """A recording's traces with all that relates them.

    Attributes:
        ranks: Events by world rank, each by the clock of its host.
        messages: Messages between them.
        clocks: How the hosts' clocks relate.
        host: By rank, its host as an index of `clocks`.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
        members: By that number, world ranks in the communicator's order; `None` where they are not known.
    """

    ranks: list[RankEvents]
    messages: Messages
    clocks: list[HostClock]
    host: list[int]
    communicator_of: list[dict[int, int]]
    members: list[np.ndarray | None]

    @classmethod
    def of(cls, path: Path, wanted: str | None = None) -> Timeline:
        """Of a recording directory, and of one job of several in it (`choose_job`).

        Raises:
            RankwiseError: No exact trace of the whole run, or hosts whose clocks cannot be related.
        """
        job = choose_job(read(path), wanted)
        communicators = unify(job)
        known = communicators.number
        numbers = [
            {index: number for index, (number, _) in known[thread.process].items()}
            for thread in job.first_threads
        ]
        ranks = rank_events(job)
        messages = match(ranks, numbers)
        collectives = match_collectives(ranks, numbers)
        clocks = same(job) if is_generated(path) else relate(job, ranks, messages, collectives)
        names = [clock.host for clock in clocks]
        hosts = [names.index(thread.rank["host"]) for thread in job.first_threads]
        return cls(ranks, messages, clocks, hosts, numbers, communicators.members)

    def on_one_clock(self) -> list[RankEvents]:
        """Events by world rank, all on the first host's clock."""
        return self._on_one_clock

    @cached_property
    def _on_one_clock(self) -> list[RankEvents]:
        offsets = [self.clocks[host].offset_s for host in self.host]
        return [
            replace(each, begin_s=each.begin_s + offset_s, end_s=each.end_s + offset_s)
            for each, offset_s in zip(self.ranks, offsets, strict=True)
        ]

    @cached_property
    def collectives(self) -> CollectiveCalls:
        """Collectives, their times on the first host's clock."""
        return match_collectives(self.on_one_clock(), self.communicator_of)

    def waits(self) -> pl.DataFrame:
        """Waiting and transferring by rank and call (`waits`)."""
        return self._waits

    @cached_property
    def _waits(self) -> pl.DataFrame:
        return waits(self.on_one_clock(), self.messages, self.communicator_of)


def waits(ranks: list[RankEvents], messages: Messages, communicator_of: list[dict[int, int]]) -> pl.DataFrame:
    """Time in calls that can wait for others, split.

    Args:
        ranks: Events by world rank, their times on one axis.
        messages: Messages between them.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.

    Returns:
        rank, call, count, time_s, waiting_s (until the last of what the call needed had begun; the rest is transfer),
        and what is left without waiting for a core, which is in both: core_least_s and core_most_s of that,
        waiting_least_s and waiting_most_s, transfer_least_s and transfer_most_s. Null if it was not sampled.
    """
    waited = [np.zeros(len(each.begin_s)) for each in ranks]
    concerned = [np.zeros(len(each.begin_s), bool) for each in ranks]
    _late_senders(ranks, messages, waited, concerned)
    _late_members(ranks, communicator_of, waited, concerned)
    found = []
    for rank, each in enumerate(ranks):
        kinds = np.where(concerned[rank], each.columns["kind"], len(CALL_NAMES))
        for kind in np.unique(kinds[concerned[rank]]):
            rows = np.flatnonzero(kinds == kind)
            found.append((rank, str(CALL_NAMES[kind]), *_split(each, rows, waited[rank][rows])))
    return pl.DataFrame(found, schema=_COLUMNS, orient="row").sort("rank", "call")


def _split(events: RankEvents, rows: np.ndarray, waiting_s: np.ndarray) -> tuple[float | None, ...]:
    """Columns of `waits` from `count` on, of some calls of a rank."""
    time_s = events.end_s[rows] - events.begin_s[rows]
    known = (len(rows), float(time_s.sum()), float(waiting_s.sum()))
    if events.core_waits is None:
        return (*known, *[None] * 6)
    interval = events.core_waits.interval[rows]
    bounds = list(events.core_waits.inside(interval, time_s))
    for part_s in (waiting_s, time_s - waiting_s):
        least, most = events.core_waits.inside(interval, part_s)
        bounds += [max(float(part_s.sum()) - most, 0.0), float(part_s.sum()) - least]
    return (*known, *bounds)


def _late_senders(
    ranks: list[RankEvents], messages: Messages, waited: list[np.ndarray], concerned: list[np.ndarray]
) -> None:
    starts = np.cumsum([0, *(len(each.begin_s) for each in ranks)])
    begins = np.concatenate([each.begin_s for each in ranks])
    sent = begins[starts[messages.source] + messages.send]
    for rank, each in enumerate(ranks):
        mine = messages.destination == rank
        ends = messages.receive[mine]
        late = np.clip(sent[mine] - each.begin_s[ends], 0, (each.end_s - each.begin_s)[ends])
        # Several messages of one call: it waited for the last of them.
        np.maximum.at(waited[rank], ends, late)
        concerned[rank][ends] = True


def _late_members(
    ranks: list[RankEvents],
    communicator_of: list[dict[int, int]],
    waited: list[np.ndarray],
    concerned: list[np.ndarray],
) -> None:
    calls = match_collectives(ranks, communicator_of)
    counts = (calls.kind >= 0) & SYNCHRONISES[calls.kind]
    last = np.full(len(counts), -np.inf)
    np.maximum.at(last, calls.number, calls.begin_s)
    for rank, each in enumerate(ranks):
        mine = (calls.rank == rank) & counts[calls.number]
        rows = calls.row[mine]
        spent = (each.end_s - each.begin_s)[rows]
        late = np.clip(last[calls.number[mine]] - each.begin_s[rows], 0, spent)
        np.maximum.at(waited[rank], rows, late)
        concerned[rank][rows] = True
