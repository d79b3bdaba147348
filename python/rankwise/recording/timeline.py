# SPDX-License-Identifier: BSD-3-Clause
"""Traces on one time axis: when each call of each rank began and ended, and which receive got which message."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.recording.job import Job
from rankwise.recording.raw import CALL_CLASSES, TRACE_CUT, TRACED

_SENDS = ("send", "isend", "sendrecv", "isendrecv")


@dataclass(frozen=True)
class RankEvents:
    """One rank's trace.

    Attributes:
        columns: As `ThreadRecord.events()` gives them.
        begin_s: When each event began, by the clock of its host (`HostClock`).
        end_s: When it ended.
    """

    columns: dict[str, np.ndarray]
    begin_s: np.ndarray
    end_s: np.ndarray


@dataclass(frozen=True)
class Messages:
    """Point-to-point messages whose two ends are known, as columns.

    Attributes:
        source: World rank of the sender.
        send: Row of its send among its events.
        destination: World rank of the receiver.
        receive: Row of the call in which the receive ended.
        posted: Row of the call that posted it; the same for blocking receives.
    """

    source: np.ndarray
    send: np.ndarray
    destination: np.ndarray
    receive: np.ndarray
    posted: np.ndarray


def check_exact(job: Job) -> None:
    """Refuse traces whose times cannot be put on one axis.

    Raises:
        RankwiseError: No trace, rounded times, or only a part of the calls.
    """
    hint = "record it again with `rankwise record --trace --exact-times`"
    threads = job.first_threads
    if job.missing_ranks or not all(thread.has(TRACED) for thread in threads):
        raise RankwiseError("not every rank of this recording has a trace", hint)
    if any(thread.rank["trace_coding"] == 2 for thread in threads):
        raise RankwiseError("the times in this recording's trace are rounded", hint)
    if any(thread.has(TRACE_CUT) for thread in threads):
        raise RankwiseError("only a part of this run's calls was traced: when they were is not known", hint)


def rank_events(job: Job) -> list[RankEvents]:
    """Each rank's events, in seconds since the smallest tick count of its host.

    Raises:
        RankwiseError: See `check_exact`.
    """
    check_exact(job)
    starts: dict[str, int] = {}
    for thread in job.first_threads:
        host, first = thread.rank["host"], thread.rank["first_ticks"]
        starts[host] = min(starts.get(host, first), first)
    rates = _rates(job)
    found = []
    for thread in job.first_threads:
        columns = thread.record.events()
        host = thread.rank["host"]
        since = thread.rank["init_ticks"] - starts[host]
        ends = np.cumsum(columns["gap_ticks"] + columns["duration_ticks"]).astype(np.float64) + since
        begins = ends - columns["duration_ticks"]
        found.append(RankEvents(columns, begins * rates[host], ends * rates[host]))
    return found


def _rates(job: Job) -> dict[str, float]:
    """Seconds per tick of each host: one counter, so that of the rank that was watched longest holds for all."""
    longest: dict[str, tuple[int, float]] = {}
    for thread in job.first_threads:
        rank = thread.rank
        watched = (rank["last_ticks"] - rank["first_ticks"], rank["seconds_per_tick"])
        longest[rank["host"]] = max(longest.get(rank["host"], watched), watched)
    return {host: rate for host, (_, rate) in longest.items()}


def match(ranks: list[RankEvents], communicator_of: list[dict[int, int]]) -> Messages:
    """Match sends with receives: those of one source, destination, communicator and tag do not overtake each other.

    Receives are taken in the order in which they were posted. Persistent and partitioned operations are left out.

    Args:
        ranks: Events by world rank.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
    """
    waiting: dict[tuple[int, int, int, int], deque] = defaultdict(deque)
    for rank, each in enumerate(ranks):
        columns, known = each.columns, communicator_of[rank]
        for row in np.flatnonzero(np.isin(_classes(columns), _SENDS) & (columns["send_peer"] >= 0)):
            comm = known.get(int(columns["comm"][row]), -1)
            key = (rank, int(columns["send_peer"][row]), comm, int(columns["send_tag"][row]))
            waiting[key].append(int(row))
    rows = []
    for rank, each in enumerate(ranks):
        for posted, ended, comm, peer, tag in _receives(each.columns):
            queue = waiting.get((peer, rank, communicator_of[rank].get(comm, -1), tag))
            if queue:
                rows.append((peer, queue.popleft(), rank, ended, posted))
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Messages(*columns)


def _classes(columns: dict[str, np.ndarray]) -> np.ndarray:
    classes = np.append(CALL_CLASSES, "event")  # polls, samples and losses are no calls
    return classes[np.minimum(columns["kind"], len(CALL_CLASSES))]


def _receives(columns: dict[str, np.ndarray]) -> list[tuple[int, int, int, int, int]]:
    """Receives in the order posted: row posted, row ended, communicator, source, tag."""
    classes = _classes(columns)
    found = [
        (
            int(row),
            int(row),
            int(columns["comm"][row]),
            int(columns["recv_peer"][row]),
            int(columns["recv_tag"][row]),
        )
        for row in np.flatnonzero(np.isin(classes, ("recv", "sendrecv")) & (columns["recv_peer"] >= 0))
    ]
    taken = np.flatnonzero(np.isin(classes, ("irecv", "isendrecv")))
    row_of = dict(zip(columns["request"][taken].tolist(), taken.tolist(), strict=True))
    owner = np.repeat(
        np.arange(len(columns["kind"])), np.diff(columns["completion_offsets"].astype(np.int64))
    )
    for at in np.flatnonzero(columns["completion_is_receive"] & (columns["completion_peer"] >= 0)):
        posted = row_of.get(int(columns["completion_request"][at]))
        if posted is not None:
            source, tag = int(columns["completion_peer"][at]), int(columns["completion_tag"][at])
            found.append((posted, int(owner[at]), int(columns["comm"][posted]), source, tag))
    return sorted(found)
