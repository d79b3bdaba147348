# SPDX-License-Identifier: BSD-3-Clause
"""Traces on one time axis: when each call of each rank began and ended, and which receive got which message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.errors import RankwiseError
from rankwise.recording.core_waits import CoreWaits
from rankwise.recording.job import Job
from rankwise.recording.layouts import (
    TRACE_CUT,
    TRACE_QUANTISED,
    TRACED,
)
from rankwise.recording.raw import CALL_CLASSES, Thread

_SENDS = ("send", "isend", "sendrecv", "isendrecv")


@dataclass(frozen=True)
class RankEvents:
    """One rank's trace.

    Attributes:
        columns: As `ThreadRecord.events()` gives them.
        begin_s: When each event began, by the clock of its host (`HostClock`).
        end_s: When it ended.
        core_waits: Waiting for a core; `None` if it was not sampled.
    """

    columns: dict[str, np.ndarray]
    begin_s: np.ndarray
    end_s: np.ndarray
    core_waits: CoreWaits | None = None


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
    if any(thread.rank["trace_coding"] == TRACE_QUANTISED for thread in threads):
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
        found.append(
            RankEvents(
                columns, begins * rates[host], ends * rates[host], _core_waits(thread, columns, rates[host])
            )
        )
    return found


def _core_waits(thread: Thread, columns: dict[str, np.ndarray], rate: float) -> CoreWaits | None:
    if not thread.rank["schedstat_samples"]:
        return None
    return CoreWaits.of(columns, rate, thread.run_s, thread.rank["runqueue_wait_ns"] * 1e-9)


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
    sends: list[tuple[np.ndarray, ...]] = []
    receives: list[tuple[np.ndarray, ...]] = []
    for rank, (each, known) in enumerate(zip(ranks, communicator_of, strict=True)):
        columns = each.columns
        rows = np.flatnonzero(np.isin(event_classes(columns), _SENDS) & (columns["send_peer"] >= 0))
        comm, mine = common_communicator(columns["comm"][rows], known), np.full(len(rows), rank)
        sends.append((mine, columns["send_peer"][rows], comm, columns["send_tag"][rows], rows))
        posted, ended, comm, peer, tag = _receives(columns)
        mine = np.full(len(posted), rank)
        receives.append((peer, mine, common_communicator(comm, known), tag, ended, posted))
    source, destination, *sent_by, send = _joined(sends, 5)
    receives_from, receives_at, *received_by, ended, posted = _joined(receives, 6)
    # One number for each (source, destination, communicator, tag), then for each message of it.
    keys = np.concatenate(
        [
            np.column_stack([source, destination, *sent_by]),
            np.column_stack([receives_from, receives_at, *received_by]),
        ]
    )
    streams = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    sent, received = (
        part * len(keys) + ordinals(part) for part in (streams[: len(send)], streams[len(send) :])
    )
    _, first, second = np.intersect1d(sent, received, assume_unique=True, return_indices=True)
    order = np.argsort(second, kind="stable")
    first, second = first[order], second[order]
    return Messages(source[first], send[first], receives_at[second], ended[second], posted[second])


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of blocking collectives, as columns; those that belong together have one number.

    Attributes:
        rank: World rank of the caller.
        row: Of the call among its events.
        comm: Number of the communicator.
        number: Of the collective: 0, 1, ... for each communicator in turn.
        begin_s: When the call began.
        kind: By number, the kind of all its calls; -1 where members called different ones.
    """

    rank: np.ndarray
    row: np.ndarray
    comm: np.ndarray
    number: np.ndarray
    begin_s: np.ndarray
    kind: np.ndarray


def match_collectives(ranks: list[RankEvents], communicator_of: list[dict[int, int]]) -> CollectiveCalls:
    """Match blocking collectives: the n-th ones of a communicator belong together.

    Args:
        ranks: Events by world rank, their times on one axis.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    for rank, each in enumerate(ranks):
        rows = np.flatnonzero(event_classes(each.columns) == "collective")
        comm = common_communicator(each.columns["comm"][rows], communicator_of[rank])
        rows, comm = rows[comm >= 0], comm[comm >= 0]
        parts.append((np.full(len(rows), rank), rows, comm, ordinals(comm), each.columns["kind"][rows]))
    rank_of, row_of, comm_of, turn_of, kinds = _joined(parts, 5)
    number = np.unique(np.column_stack([comm_of, turn_of]), axis=0, return_inverse=True)[1].reshape(-1)
    count = int(number.max()) + 1 if len(number) else 0
    lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(lowest, number, kinds)
    np.maximum.at(highest, number, kinds)
    begins = [each.begin_s[rows] for each, (_, rows, *_) in zip(ranks, parts, strict=True)]
    begin_s = np.concatenate(begins) if begins else np.empty(0)
    return CollectiveCalls(
        rank_of, row_of, comm_of, number, begin_s, np.where(lowest == highest, highest, -1)
    )


def _joined(parts: list[tuple[np.ndarray, ...]], width: int) -> list[np.ndarray]:
    """Columns of all ranks behind each other, as 64-bit integers."""
    if not parts:
        return [np.empty(0, np.int64)] * width
    return [np.concatenate([np.asarray(part[at], np.int64) for part in parts]) for at in range(width)]


def ordinals(values: np.ndarray) -> np.ndarray:
    """For each value how often it came before."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[np.ones(min(len(ordered), 1), bool), ordered[1:] != ordered[:-1]])
    before = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    found = np.empty(len(values), np.int64)
    found[order] = before
    return found


def common_communicator(own: np.ndarray, known: dict[int, int]) -> np.ndarray:
    """Numbers of communicators for all ranks from a rank's own indices of them; -1 for unknown ones."""
    table = np.full(max(known, default=-1) + 2, -1, np.int64)
    for index, number in known.items():
        table[index] = number
    found: np.ndarray = table[np.minimum(np.asarray(own, np.int64), len(table) - 1)]
    return found


def event_classes(columns: dict[str, np.ndarray]) -> np.ndarray:
    """The class of each event's call; `event` for polls, samples and losses, which are no calls."""
    classes: np.ndarray = np.append(CALL_CLASSES, "event")
    found: np.ndarray = classes[np.minimum(columns["kind"], len(CALL_CLASSES))]
    return found


def _receives(columns: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Receives in the order posted: row posted, row ended, communicator, source, tag."""
    classes = event_classes(columns)
    blocking = np.flatnonzero(np.isin(classes, ("recv", "sendrecv")) & (columns["recv_peer"] >= 0))
    taken = np.flatnonzero(np.isin(classes, ("irecv", "isendrecv")))
    numbers = columns["request"][taken].astype(np.int64)
    sorted_by = np.argsort(numbers, kind="stable")
    offsets: npt.NDArray[np.int64] = columns["completion_offsets"].astype(np.int64)
    owner = np.repeat(np.arange(len(columns["kind"])), np.diff(offsets))
    done = np.flatnonzero(columns["completion_is_receive"] & (columns["completion_peer"] >= 0))
    wanted = columns["completion_request"][done].astype(np.int64)
    at = np.searchsorted(numbers[sorted_by], wanted)
    there = at < len(numbers)
    there[there] = numbers[sorted_by][at[there]] == wanted[there]
    done, posted = done[there], taken[sorted_by[at[there]]]
    found = [
        np.concatenate([blocking, posted]),
        np.concatenate([blocking, owner[done]]),
        np.concatenate([columns["comm"][blocking], columns["comm"][posted]]),
        np.concatenate([columns["recv_peer"][blocking], columns["completion_peer"][done]]),
        np.concatenate([columns["recv_tag"][blocking], columns["completion_tag"][done]]),
    ]
    order = np.lexsort((found[1], found[0]))
    return tuple(column[order] for column in found)
