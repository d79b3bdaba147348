# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring, where MPI's semantics allow it.

A receive cannot end before its send began, nor a barrier or an all-to-all before the last member came: until then its
caller waited. What a call took beyond is the library's and the network's. A send may end before its receive is posted,
and a rank may leave a broadcast before all have come: such calls are told apart only if they waited (`needs`).
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
from rankwise.recording.traces.needs import Needs, needs_of
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
class Waited:
    """What the calls of one rank waited for, by event.

    Attributes:
        concerned: Whether it can wait for others, and that is known.
        waited_s: Until the last thing that it needed had begun.
        late: World rank that this was of; -1 where it waited for nobody.
    """

    concerned: npt.NDArray[np.bool_]
    waited_s: npt.NDArray[np.float64]
    late: npt.NDArray[np.int64]


@dataclass(frozen=True)
class CoreShares:
    """Where a rank waited for a core, as far as that can be told; each call's within the bounds of `waits`.

    Attributes:
        waiting_s: By event, of the time until the last thing that it needed had begun.
        transfer_s: By event, of the rest of the call; of calls that are not split of all of it.
        inside: By interval of `CoreWaits`, of the time in MPI which part.
        outside: Likewise, of the time outside MPI.
    """

    waiting_s: npt.NDArray[np.float64]
    transfer_s: npt.NDArray[np.float64]
    inside: npt.NDArray[np.float64]
    outside: npt.NDArray[np.float64]


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
            replace(
                each,
                begin_s=each.begin_s + offset_s,
                end_s=each.end_s + offset_s,
                start_s=each.start_s + offset_s,
            )
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
        return waits(self.on_one_clock(), self.waited)

    @cached_property
    def waited(self) -> list[Waited]:
        """By world rank, what each call waited for."""
        return waited(self.on_one_clock(), self.needs, self.collectives)

    @cached_property
    def needs(self) -> dict[int, Needs]:
        """By world rank, what calls needed last of one other."""
        clocks_s = np.array([max(clock.bound_s, clock.spread_s) for clock in self.clocks])
        return needs_of(
            self.on_one_clock(), self.messages, self.collectives, self.members, clocks_s, self.host
        )


def waits(ranks: list[RankEvents], waited: list[Waited]) -> pl.DataFrame:
    """Time in calls that can wait for others, split.

    Args:
        ranks: Events by world rank, their times on one axis.
        waited: What they waited for.

    Returns:
        rank, call, count, time_s, waiting_s (until the last of what the call needed had begun; the rest is transfer),
        and what is left without waiting for a core, which is in both: core_least_s and core_most_s of that,
        waiting_least_s and waiting_most_s, transfer_least_s and transfer_most_s. Null if it was not sampled.
    """
    found = []
    for rank, (each, own) in enumerate(zip(ranks, waited, strict=True)):
        kinds = np.where(own.concerned, each.columns["kind"], len(CALL_NAMES))
        for kind in np.unique(kinds[own.concerned]):
            rows = np.flatnonzero(kinds == kind)
            found.append((rank, str(CALL_NAMES[kind]), *_split(each, rows, own.waited_s[rows])))
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


def core_shares(events: RankEvents, own: Waited, computation_s: float | None) -> CoreShares | None:
    """Where a rank waited for a core; `None` where that was not sampled.

    Between two samples it is outside MPI what `CoreWaits.outside_s` says, and as much of each moment inside.

    Args:
        events: Of the rank.
        own: What its calls waited for.
        computation_s: What it computed in all; where that is not known, it is what gaps measured say.
    """
    waits = events.core_waits
    if waits is None:
        return None
    time_s = events.end_s - events.begin_s
    count = len(waits.length_s)
    calls_s = np.bincount(waits.interval, weights=np.where(own.concerned, time_s, 0.0), minlength=count)
    # Of a call that was asked for again and again, the time between is in it.
    within_s = np.maximum(waits.length_s - waits.gap_s, calls_s)
    gap_s = float(waits.gap_s.sum()) - events.asked_s
    wanted_s = None if computation_s is None else max(gap_s - computation_s, 0.0)
    outside_s = waits.outside_s(wanted_s, within_s)
    inside = _parts(waits.wait_s - outside_s, within_s)
    transfer_s = time_s - own.waited_s
    of_waiting, of_transfer = (part_s * inside[waits.interval] for part_s in (own.waited_s, transfer_s))
    kinds = np.where(own.concerned, events.columns["kind"], len(CALL_NAMES))
    for kind in np.unique(kinds[own.concerned]):
        rows = np.flatnonzero(kinds == kind)
        for share_s, part_s in ((of_waiting, own.waited_s), (of_transfer, transfer_s)):
            least_s, most_s = waits.inside(waits.interval[rows], part_s[rows])
            share_s[rows] = _within(share_s[rows], part_s[rows], least_s, most_s)
    gaps_s = np.minimum(waits.gap_s, np.clip(waits.length_s - within_s, 0.0, None))
    return CoreShares(of_waiting, of_transfer, inside, _parts(outside_s, gaps_s))


def _parts(some_s: np.ndarray, of_s: np.ndarray) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.divide(some_s, of_s, out=np.zeros_like(of_s), where=of_s > 0)
    return found.clip(0.0, 1.0)


def _within(
    share_s: npt.NDArray[np.float64], part_s: npt.NDArray[np.float64], least_s: float, most_s: float
) -> npt.NDArray[np.float64]:
    """Shares of parts, scaled so that their sum is within bounds."""
    found_s, whole_s = float(share_s.sum()), float(part_s.sum())
    if found_s > most_s:
        return share_s * (most_s / found_s)
    if found_s < least_s and whole_s > found_s:
        return share_s + (part_s - share_s) * ((least_s - found_s) / (whole_s - found_s))
    return share_s


def waited(ranks: list[RankEvents], needs: dict[int, Needs], collectives: CollectiveCalls) -> list[Waited]:
    """By world rank, what each of its calls waited for.

    Args:
        ranks: Events by world rank, their times on one axis.
        needs: What they needed of one other.
        collectives: Their collectives, on the same axis.
    """
    counts = [len(each.begin_s) for each in ranks]
    found = [Waited(np.zeros(count, bool), np.zeros(count), np.full(count, -1)) for count in counts]
    for rank, need in needs.items():
        _note(found[rank], ranks[rank], need.row, need.at_s, need.who)
    _late_members(ranks, collectives, found)
    return found


def _late_members(ranks: list[RankEvents], calls: CollectiveCalls, found: list[Waited]) -> None:
    counts = (calls.kind >= 0) & SYNCHRONISES[calls.kind]
    order = np.argsort(calls.begin_s, kind="stable")
    last = np.full(len(counts), -1)
    last[calls.number[order]] = order
    # Calls are in the order of their ranks.
    ends = np.searchsorted(calls.rank, np.arange(len(ranks) + 1))
    for rank, each in enumerate(ranks):
        mine = np.arange(ends[rank], ends[rank + 1])
        mine = mine[counts[calls.number[mine]]]
        latest = last[calls.number[mine]]
        _note(found[rank], each, calls.row[mine], calls.begin_s[latest], calls.rank[latest])


def _note(found: Waited, events: RankEvents, rows: np.ndarray, needed_s: np.ndarray, of: np.ndarray) -> None:
    """Calls that needed what began at these times, of these ranks."""
    late_s = np.clip(needed_s - events.begin_s[rows], 0, (events.end_s - events.begin_s)[rows])
    more = late_s > found.waited_s[rows]
    found.concerned[rows] = True
    found.waited_s[rows[more]] = late_s[more]
    found.late[rows[more]] = of[more]
