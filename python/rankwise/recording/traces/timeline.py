# SPDX-License-Identifier: BSD-3-Clause
"""Traces on one time axis: when each call of each rank began and ended, and which receive got which message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.recording.job import Job
from rankwise.recording.layouts import (
    TRACE_CUT,
    TRACE_QUANTISED,
    TRACED,
)
from rankwise.recording.raw import CALL_COLLECTIVES, CALL_NAMES, Thread
from rankwise.recording.traces.core_waits import CoreWaits
from rankwise.recording.traces.operations import (
    Operations,
    event_classes,
    operations,
    ordinals,
    waiting_begins,
)

_SENDS = ("send", "isend", "sendrecv", "isendrecv", "send_init")
_RECEIVES = ("recv", "irecv", "sendrecv", "isendrecv", "recv_init")
# As core/schedule/windows/trace_survey.cpp has them.
_MORE_THAN_WAITING, _MORE_THAN_COMPUTING = 1.2, 10
_FENCES, _FENCE = -2, int(np.flatnonzero(CALL_NAMES == "MPI_Win_fence")[0])
_COLLECTIVES = ("collective", "icollective", "collective_init")


@dataclass(frozen=True)
class RankEvents:
    """One rank's trace.

    Attributes:
        columns: As `ThreadRecord.events()` gives them.
        begin_s: When each event began, by the clock of its host (`HostClock`): of a completion or probe that was asked
            for again and again the first time, of a receive its probe (`operations.waiting_begins`).
        end_s: When it ended.
        operations: What the events begin and end.
        core_waits: Waiting for a core; `None` if it was not sampled.
        asked_s: How long it was outside MPI between polls only to ask again.
        core_outside_s: How long it waited for a core outside MPI, at most; `None` if that was not sampled.
        start_s: When MPI_Init ended, on the same clock.
        seconds_per_tick: Of the clock of its host.
    """

    columns: dict[str, np.ndarray]
    begin_s: np.ndarray
    end_s: np.ndarray
    operations: Operations
    core_waits: CoreWaits | None = None
    asked_s: float = 0.0
    core_outside_s: float | None = None
    start_s: float = 0.0
    seconds_per_tick: float = 0.0

    @property
    def called_s(self) -> np.ndarray:
        """When each event itself began, whenever it began to wait: events of a rank do not overlap so."""
        called_s: np.ndarray = self.end_s - self.columns["duration_ticks"] * self.seconds_per_tick
        return called_s


@dataclass(frozen=True)
class Messages:
    """Point-to-point messages whose two ends are known, as columns.

    Attributes:
        source: World rank of the sender.
        send: Row of the call among its events that began the send; of a persistent one its start.
        sent: Row of the call in which the send ended, -1 where that is not known; the same for blocking sends.
        bytes: Of the message.
        destination: World rank of the receiver.
        receive: Row of the call in which the receive ended.
        posted: Row of the call that posted it; the same for blocking receives.
        comm: Number of the communicator.
    """

    source: np.ndarray
    send: np.ndarray
    sent: np.ndarray
    bytes: np.ndarray
    destination: np.ndarray
    receive: np.ndarray
    posted: np.ndarray
    comm: np.ndarray


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
        end_s = ends * rates[host]
        begin_s = (ends - columns["duration_ticks"]) * rates[host]
        since_s, asked_s = waiting_begins(columns, begin_s, end_s, _slept_s(thread))
        core_waits = _core_waits(thread, columns, rates[host])
        outside_s = None if core_waits is None else _core_outside_s(thread, columns, rates[host], core_waits)
        done, start_s = operations(columns), since * rates[host]
        found.append(
            RankEvents(columns, since_s, end_s, done, core_waits, asked_s, outside_s, start_s, rates[host])
        )
    return found


def _core_waits(thread: Thread, columns: dict[str, np.ndarray], rate: float) -> CoreWaits | None:
    if not thread.rank["schedstat_samples"]:
        return None
    return CoreWaits.of(columns, rate, thread.run_s, thread.rank["runqueue_wait_ns"] * 1e-9)


def _slept_s(thread: Thread) -> float:
    """How long it neither had a core nor waited for one, at most outside MPI; 0 where that was not sampled."""
    rank = thread.rank
    if not rank["schedstat_samples"]:
        return 0.0
    outside_s = thread.run_s - thread.mpi_s
    idle_s = thread.run_s - (rank["cpu_ns"] + rank["runqueue_wait_ns"]) * 1e-9
    return float(max(min(outside_s, idle_s), 0.0))


def _core_outside_s(thread: Thread, columns: dict[str, np.ndarray], rate: float, waits: CoreWaits) -> float:
    """How long a rank waited for a core outside MPI, at most.

    Where a rank shares its core, the processor time of its gaps is measured, and what they have less is waiting or
    sleep. If that is more than all its waiting, or ten times what it computes, it sleeps outside MPI; it is taken to
    spin inside then, where what it had no core for was waiting.
    """
    wait_s, cpu_s = thread.rank["runqueue_wait_ns"] * 1e-9, thread.rank["cpu_ns"] * 1e-9
    gap_s = columns["gap_ticks"] * rate
    measured = columns["gap_cpu_ns"] >= 0
    on_core_s = float(columns["gap_cpu_ns"][measured].sum()) * 1e-9
    off_core_s = max(float(gap_s[measured].sum()) - on_core_s, 0.0)
    _, unmeasured_s = waits.inside(waits.interval[~measured], gap_s[~measured])
    found = min(float(wait_s), off_core_s + unmeasured_s)
    if off_core_s > _MORE_THAN_WAITING * wait_s or off_core_s > _MORE_THAN_COMPUTING * on_core_s:
        in_mpi_s = max(thread.mpi_s - max(cpu_s - on_core_s - float(gap_s[~measured].sum()), 0.0), 0.0)
        found = min(found, max(wait_s - in_mpi_s, 0.0))
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

    Receives are taken in the order in which they were posted. A neighbourhood collective is a message to each
    destination. Partitioned operations are left out.

    Args:
        ranks: Events by world rank.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
    """
    sends: list[tuple[np.ndarray, ...]] = []
    receives: list[tuple[np.ndarray, ...]] = []
    for rank, (each, known) in enumerate(zip(ranks, communicator_of, strict=True)):
        columns, classes = each.columns, event_classes(each.columns)
        found = each.operations
        of = found.of(classes, *_SENDS)
        given = columns["send_peer"][of.given] >= 0
        rows = of.given[given]
        comm, mine = common_communicator(columns["comm"][rows], known), np.full(len(rows), rank)
        size, tag = columns["send_bytes"][rows], columns["send_tag"][rows]
        sends.append((mine, columns["send_peer"][rows], comm, tag, of.begun[given], of.ended[given], size))
        posted, ended, comm, peer, tag = _received(columns, found.of(classes, *_RECEIVES), classes)
        mine = np.full(len(posted), rank)
        receives.append((peer, mine, common_communicator(comm, known), tag, ended, posted))
    to_neighbours, from_neighbours = _neighbours(ranks, communicator_of)
    sends.append(to_neighbours)
    receives.append(from_neighbours)
    source, destination, comm, tag, send, sent, size = _joined(sends, 7)
    sent_by = comm, tag
    receives_from, receives_at, *received_by, ended, posted = _joined(receives, 6)
    # One number for each (source, destination, communicator, tag), then for each message of it.
    keys = np.concatenate(
        [
            np.column_stack([source, destination, *sent_by]),
            np.column_stack([receives_from, receives_at, *received_by]),
        ]
    )
    streams = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    sent_at, received = (
        part * len(keys) + ordinals(part) for part in (streams[: len(send)], streams[len(send) :])
    )
    _, first, second = np.intersect1d(sent_at, received, assume_unique=True, return_indices=True)
    order = np.argsort(second, kind="stable")
    first, second = first[order], second[order]
    return Messages(
        source[first],
        send[first],
        sent[first],
        size[first],
        receives_at[second],
        ended[second],
        posted[second],
        comm[first],
    )


def _neighbours(
    ranks: list[RankEvents], communicator_of: list[dict[int, int]]
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Messages of neighbourhood collectives, as sends and as receives; tags below those of MPI say in which turn."""
    calls: list[tuple[np.ndarray, ...]] = []
    sends: list[tuple[np.ndarray, ...]] = []
    for rank, each in enumerate(ranks):
        columns = each.columns
        of = each.operations.of(event_classes(columns), *_COLLECTIVES)
        near = np.char.startswith(CALL_COLLECTIVES, "neighbor_")[columns["kind"][of.given]]
        comm = common_communicator(columns["comm"][of.given], communicator_of[rank])
        given, begun, ended, comm = of.given[near], of.begun[near], of.ended[near], comm[near]
        turn = ordinals(comm)
        calls.append((comm, turn, np.full(len(comm), rank), begun, ended))
        offsets = columns["size_offsets"].astype(np.int64)
        count = offsets[given + 1] - offsets[given]
        call = np.repeat(np.arange(len(given)), count)
        place = np.arange(len(call)) - np.repeat(np.cumsum(count) - count, count) + offsets[given][call]
        to, size = columns["size_destination"][place], columns["sizes"][place]
        sends.append((np.full(len(call), rank), to, comm[call], turn[call], begun[call], ended[call], size))
    comm, turn, rank_of, begun, ended = _joined(calls, 5)
    source, to, in_comm, in_turn, send, sent, size = _joined(sends, 7)
    keys = np.concatenate([np.column_stack([comm, turn, rank_of]), np.column_stack([in_comm, in_turn, to])])
    numbers = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    call_of = np.full(len(keys) + 1, -1)
    call_of[numbers[: len(comm)]] = np.arange(len(comm))
    call = call_of[numbers[len(comm) :]]
    there = (call >= 0) & (np.append(ended, -1)[call] >= 0)
    source, to, tag, call = source[there], to[there], -2 - in_turn[there], call[there]
    return (
        (source, to, in_comm[there], tag, send[there], sent[there], size[there]),
        (source, to, in_comm[there], tag, ended[call], begun[call]),
    )


def _received(columns: dict[str, np.ndarray], of: Operations, classes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Receives in the order posted: row posted, row ended, communicator, source, tag."""
    blocking = np.isin(classes[of.given], ("recv", "sendrecv"))
    done = of.completion
    is_receive = (done >= 0) & (np.append(columns["completion_is_receive"], 0)[done] != 0)
    peer = np.where(blocking, columns["recv_peer"][of.given], np.append(columns["completion_peer"], -1)[done])
    tag = np.where(blocking, columns["recv_tag"][of.given], np.append(columns["completion_tag"], -1)[done])
    known = (blocking | is_receive) & (peer >= 0)
    return of.begun[known], of.ended[known], columns["comm"][of.given[known]], peer[known], tag[known]


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of collectives, as columns; those that belong together have one number.

    Attributes:
        rank: World rank of the caller.
        row: Of the call among its events in which it ended.
        comm: Number of the communicator; -2 of fences.
        number: Of the collective: 0, 1, ... for each communicator in turn.
        begin_s: When it began; of a persistent one, when it was started.
        given: Row of the call that has its arguments.
        kind: By number, the kind of all its calls; -1 where members called different ones.
    """

    rank: np.ndarray
    row: np.ndarray
    comm: np.ndarray
    number: np.ndarray
    begin_s: np.ndarray
    given: np.ndarray
    kind: np.ndarray


def match_collectives(ranks: list[RankEvents], communicator_of: list[dict[int, int]]) -> CollectiveCalls:
    """Match collectives: the n-th ones of a communicator belong together (MPI 5.0, 6.1, 6.12).

    Those whose end is not known on all ranks are left out. MPI_Win_fence is among them where all ranks call it as
    often, and nobody left one before all had come: which window it is of is not recorded.

    Args:
        ranks: Events by world rank, their times on one axis.
        communicator_of: By rank, number of a communicator for all from the rank's own index of it.
    """
    parts: list[tuple[np.ndarray, ...]] = []
    fences = [np.flatnonzero(each.columns["kind"] == _FENCE) for each in ranks]
    as_often = len({len(each) for each in fences}) == 1
    for rank, each in enumerate(ranks):
        of = each.operations.of(event_classes(each.columns), *_COLLECTIVES)
        comm = common_communicator(each.columns["comm"][of.given], communicator_of[rank])
        known = comm >= 0
        given, begun, ended, comm = of.given[known], of.begun[known], of.ended[known], comm[known]
        kinds = each.columns["kind"][given]
        rows = fences[rank] if as_often else fences[rank][:0]
        given, begun, ended, kinds = (
            np.concatenate([column, more])
            for column, more in (
                (given, rows),
                (begun, rows),
                (ended, rows),
                (kinds, each.columns["kind"][rows]),
            )
        )
        comm = np.concatenate([comm, np.full(len(rows), _FENCES)])
        parts.append((np.full(len(given), rank), ended, comm, ordinals(comm), kinds, begun, given))
    rank_of, row_of, comm_of, turn_of, kinds, begun_of, given_of = _joined(parts, 7)
    number = np.unique(np.column_stack([comm_of, turn_of]), axis=0, return_inverse=True)[1].reshape(-1)
    begins = [each.begin_s[part[5]] for each, part in zip(ranks, parts, strict=True)]
    begin_s = np.concatenate(begins) if begins else np.empty(0)
    whole = np.ones(int(number.max(initial=-1)) + 1, bool)
    whole[number[row_of < 0]] = False
    fences = comm_of == _FENCES
    last_s = np.full(len(whole), -np.inf)
    np.maximum.at(last_s, number[fences], begin_s[fences])
    ends = [each.end_s[part[1]] for each, part in zip(ranks, parts, strict=True)]
    end_s = np.concatenate(ends) if ends else np.empty(0)
    whole[number[fences & (end_s < last_s[number])]] = False
    kept = whole[number]
    number = np.unique(number[kept], return_inverse=True)[1].reshape(-1)
    kinds = kinds[kept]
    count = int(number.max(initial=-1)) + 1
    lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(lowest, number, kinds)
    np.maximum.at(highest, number, kinds)
    return CollectiveCalls(
        rank_of[kept],
        row_of[kept],
        comm_of[kept],
        number,
        begin_s[kept],
        given_of[kept],
        np.where(lowest == highest, highest, -1),
    )


def _joined(parts: list[tuple[np.ndarray, ...]], width: int) -> list[np.ndarray]:
    """Columns of all ranks behind each other, as 64-bit integers."""
    if not parts:
        return [np.empty(0, np.int64)] * width
    return [np.concatenate([np.asarray(part[at], np.int64) for part in parts]) for at in range(width)]


def common_communicator(own: np.ndarray, known: dict[int, int]) -> np.ndarray:
    """Numbers of communicators for all ranks from a rank's own indices of them; -1 for unknown ones."""
    table = np.full(max(known, default=-1) + 2, -1, np.int64)
    for index, number in known.items():
        table[index] = number
    found: np.ndarray = table[np.minimum(np.asarray(own, np.int64), len(table) - 1)]
    return found
