# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring, where MPI's semantics allow it.

A receive cannot end before its send began, nor a barrier or an all-to-all before the last member came: until then its
caller waited. What a call took beyond is the library's and the network's.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rankwise.recording.clocks import HostClock, relate
from rankwise.recording.communicators import unify
from rankwise.recording.job import choose_job
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES, CALL_NAMES, read
from rankwise.recording.timeline import Messages, RankEvents, match, rank_events

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


@dataclass(frozen=True)
class Timeline:
    """A recording's traces with all that relates them.

    Attributes:
        ranks: Events by world rank, each by the clock of its host.
        messages: Messages between them.
        clocks: How the hosts' clocks relate.
        host: By rank, its host as an index of `clocks`.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
    """

    ranks: list[RankEvents]
    messages: Messages
    clocks: list[HostClock]
    host: list[int]
    communicator_of: list[dict[int, int]]

    @classmethod
    def of(cls, path: Path, wanted: str | None = None) -> Timeline:
        """Of a recording directory, and of one job of several in it (`choose_job`).

        Raises:
            RankwiseError: No exact trace of the whole run, or hosts whose clocks cannot be related.
        """
        job = choose_job(read(path), wanted)
        known = unify(job).number
        numbers = [
            {index: number for index, (number, _) in known[thread.process].items()}
            for thread in job.first_threads
        ]
        ranks = rank_events(job)
        messages = match(ranks, numbers)
        clocks = relate(job, ranks, messages)
        names = [clock.host for clock in clocks]
        hosts = [names.index(thread.rank["host"]) for thread in job.first_threads]
        return cls(ranks, messages, clocks, hosts, numbers)

    def waits(self) -> pl.DataFrame:
        """Waiting and transferring by rank and call (`waits`), all ranks on the first host's clock."""
        moved = [
            RankEvents(
                each.columns,
                each.begin_s + self.clocks[host].offset_s,
                each.end_s + self.clocks[host].offset_s,
            )
            for each, host in zip(self.ranks, self.host, strict=True)
        ]
        return waits(moved, self.messages, self.communicator_of)


def waits(ranks: list[RankEvents], messages: Messages, communicator_of: list[dict[int, int]]) -> pl.DataFrame:
    """Time in calls that can wait for others, split.

    Args:
        ranks: Events by world rank, their times on one axis.
        messages: Messages between them.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.

    Returns:
        rank, call, time_s, waiting_s: until the last of what the call needed had begun; the rest is transfer.
    """
    waited = [np.zeros(len(each.begin_s)) for each in ranks]
    concerned = [np.zeros(len(each.begin_s), bool) for each in ranks]
    _late_senders(ranks, messages, waited, concerned)
    _late_members(ranks, communicator_of, waited, concerned)
    parts = []
    for rank, each in enumerate(ranks):
        rows = np.flatnonzero(concerned[rank])
        frame = pl.DataFrame(
            {
                "rank": np.full(len(rows), rank, np.int64),
                "call": pl.Series(CALL_NAMES)[each.columns["kind"][rows].astype(np.int64)],
                "time_s": each.end_s[rows] - each.begin_s[rows],
                "waiting_s": waited[rank][rows],
            },
            schema_overrides={"call": pl.String},
        )
        parts.append(frame)
    return (
        pl.concat(parts)
        .group_by("rank", "call")
        .agg(pl.col("time_s", "waiting_s").sum())
        .sort("rank", "call")
    )


def _late_senders(ranks: list[RankEvents], messages: Messages, waited: list, concerned: list) -> None:
    for rank, each in enumerate(ranks):
        mine = np.flatnonzero(messages.destination == rank)
        ends = messages.receive[mine]
        sent = np.array(
            [ranks[s].begin_s[row] for s, row in zip(messages.source[mine], messages.send[mine], strict=True)]
        )
        late = np.clip(sent - each.begin_s[ends], 0, (each.end_s - each.begin_s)[ends]) if len(mine) else sent
        # Several messages of one call: it waited for the last of them.
        np.maximum.at(waited[rank], ends, late)
        concerned[rank][ends] = True


def _late_members(ranks: list[RankEvents], communicator_of: list, waited: list, concerned: list) -> None:
    together: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for rank, each in enumerate(ranks):
        kinds = np.minimum(each.columns["kind"], len(CALL_CLASSES))
        blocking = np.append(CALL_CLASSES == "collective", False)[kinds]
        calls: dict[int, int] = defaultdict(int)
        for row in np.flatnonzero(blocking):
            comm = communicator_of[rank].get(int(each.columns["comm"][row]))
            if comm is None:
                continue
            together[comm, calls[comm]].append((rank, int(row)))
            calls[comm] += 1
    for members in together.values():
        kinds = {int(ranks[rank].columns["kind"][row]) for rank, row in members}
        if len(kinds) != 1 or CALL_COLLECTIVES[kinds.pop()] not in SYNCHRONISING:
            continue
        last = max(ranks[rank].begin_s[row] for rank, row in members)
        for rank, row in members:
            each = ranks[rank]
            waited[rank][row] = np.clip(last - each.begin_s[row], 0, each.end_s[row] - each.begin_s[row])
            concerned[rank][row] = True
