# SPDX-License-Identifier: BSD-3-Clause
"""Microbenchmarks as schedules, and what they give on a machine; defined as the measuring programs are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source
from rankwise.study.platforms import Platform

LAPS = 20
"""Of a benchmark that repeats one thing: its start and end do not matter then."""

WINDOW = 160
"""Sends in sequence of the streaming benchmark (Brightwell, Doerfler & Underwood 2006, section 3)."""

_SEND, _RECEIVE, _CALC = 1, 2, 3
PICOSECONDS = 1e12


class Ranks:
    """Operations of a few ranks while they are written down; each waits for the one before unless it is posted.

    Args:
        count: Number of ranks.
    """

    def __init__(self, count: int):
        self._operations: list[list[tuple[int, int, int, int]]] = [[] for _ in range(count)]
        self._needs: list[list[list[int]]] = [[] for _ in range(count)]
        self._before: list[list[int]] = [[] for _ in range(count)]

    def _add(self, rank: int, kind: int, value: int, peer: int, tag: int) -> int:
        self._operations[rank].append((kind, value, peer, tag))
        self._needs[rank].append(list(self._before[rank]))
        return len(self._operations[rank]) - 1

    def send(self, rank: int, to: int, size_bytes: int, tag: int = 0) -> None:
        """A blocking send."""
        self._before[rank] = [self._add(rank, _SEND, size_bytes, to, tag)]

    def receive(self, rank: int, source: int, size_bytes: int, tag: int = 0) -> None:
        """A blocking receive."""
        self._before[rank] = [self._add(rank, _RECEIVE, size_bytes, source, tag)]

    def post(self, rank: int, source: int, size_bytes: int, tag: int = 0) -> int:
        """A receive that what follows does not wait for; its number for `wait`."""
        return self._add(rank, _RECEIVE, size_bytes, source, tag)

    def isend(self, rank: int, to: int, size_bytes: int, tag: int = 0) -> int:
        """A send that what follows does not wait for; its number for `wait`."""
        return self._add(rank, _SEND, size_bytes, to, tag)

    def wait(self, rank: int, posted: Sequence[int]) -> None:
        """What follows waits for what was posted."""
        self._before[rank] = [*self._before[rank], *posted]

    def compute(self, rank: int, seconds: float) -> None:
        """Computation."""
        time = round(seconds * PICOSECONDS)
        if time > 0:
            self._before[rank] = [self._add(rank, _CALC, time, 0, 0)]

    def schedule(self) -> _core.schedule.Schedule:
        """All of it."""
        sizes = np.array([len(each) for each in self._operations], dtype=np.uint32)
        rows = np.array([row for each in self._operations for row in each], dtype=np.uint64).reshape(-1, 4)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        later, earlier = [], []
        for base, needs in zip(first.tolist(), self._needs, strict=True):
            for at, each in enumerate(needs):
                later += [base + at] * len(each)
                earlier += [base + need for need in each]
        edges = np.array([later, earlier], dtype=np.uint32).reshape(2, -1)
        return _core.schedule.Schedule.from_arrays(
            sizes,
            rows[:, 0].astype(np.uint8),
            rows[:, 1],
            rows[:, 2].astype(np.uint32),
            rows[:, 3].astype(np.uint32),
            edges[0],
            edges[1],
            np.zeros(edges.shape[1], dtype=np.uint8),
        )


@dataclass(frozen=True)
class Pair:
    """Two ranks on a machine.

    Attributes:
        platform: The machine.
        placement: Where they are.
    """

    platform: Platform
    placement: Placement

    def time_s(self, ranks: Ranks) -> float:
        """How long what they do takes."""
        return time_s(self.platform, ranks, self.placement)


def pair(platform: Platform, *cores: tuple[int, int]) -> Pair:
    """Ranks on these (node, logical core)."""
    nodes = max(node for node, _ in cores) + 1
    if nodes > len(platform.topology.nodes):
        raise RankwiseError(
            f"`{platform.name}` has {len(platform.topology.nodes)} nodes, {nodes} are needed",
            "use a machine file of more nodes (`node.count`)",
        )
    where = [(node, (core,)) for node, core in cores]
    return Pair(platform, Placement.explicit(Topology(platform.topology.nodes[:nodes]), where))


def time_s(platform: Platform, ranks: Ranks, placement: Placement) -> float:
    """How long what some ranks do takes on a machine."""
    return predictor(platform, ranks).makespan_s(placement)


def predictor(platform: Platform, ranks: Ranks) -> Predictor:
    """What predicts them."""
    return Predictor.of(Source(ranks.schedule()), platform.machine, platform.topology)


def ping_pong_s(at: Pair, size_bytes: int) -> float:
    """Half a round trip."""
    ranks = Ranks(2)
    for _ in range(LAPS):
        ranks.send(0, 1, size_bytes)
        ranks.receive(1, 0, size_bytes)
        ranks.send(1, 0, size_bytes)
        ranks.receive(0, 1, size_bytes)
    return at.time_s(ranks) / (2 * LAPS)


def stream(size_bytes: int, window: int = WINDOW) -> Ranks:
    """Sends in sequence, and one reply when all have come."""
    ranks = Ranks(2)
    posted = [ranks.post(1, 0, size_bytes) for _ in range(window)]
    sent = [ranks.isend(0, 1, size_bytes) for _ in range(window)]
    ranks.wait(0, sent)
    ranks.wait(1, posted)
    ranks.send(1, 0, 0, 1)
    ranks.receive(0, 1, 0, 1)
    return ranks


def stream_s(at: Pair, size_bytes: int, window: int = WINDOW) -> float:
    """Time a message of `stream`."""
    return at.time_s(stream(size_bytes, window)) / window


def send_receive_s(at: Pair, size_bytes: int) -> float:
    """Time of a step in which each sends to the other: Pallas SendRecv of two ranks."""
    ranks = Ranks(2)
    for _ in range(LAPS):
        for rank in (0, 1):
            posted = ranks.post(rank, 1 - rank, size_bytes)
            sent = ranks.isend(rank, 1 - rank, size_bytes)
            ranks.wait(rank, [posted, sent])
    return at.time_s(ranks) / LAPS


def exchange_s(platform: Platform, placement: Placement, size_bytes: int) -> float:
    """Time of a step in which each rank of a ring exchanges with both neighbours: Pallas Exchange."""
    count = placement.ranks
    ranks = Ranks(count)
    for _ in range(LAPS):
        for rank in range(count):
            beside = ((rank - 1) % count, (rank + 1) % count)
            sent = [ranks.isend(rank, peer, size_bytes, tag) for tag, peer in enumerate(beside)]
            posted = [ranks.post(rank, peer, size_bytes, 1 - tag) for tag, peer in enumerate(beside)]
            ranks.wait(rank, [*sent, *posted])
    return time_s(platform, ranks, placement) / LAPS


def collective_s(platform: Platform, placement: Placement, call: str, size_bytes: int, library: str) -> float:
    """Time of a collective call by a library's default algorithm, several in a row: Pallas Bcast, Allreduce, Alltoall.

    Args:
        platform: The machine.
        placement: Of its ranks.
        call: Name of the MPI function.
        size_bytes: Of the buffer; of an all-to-all the block for one rank.
        library: As of `rankwise.workloads.decompose.steps`.
    """
    from rankwise.workloads.decompose import SEND, steps

    count, calls = placement.ranks, 4
    ranks = Ranks(count)
    for turn in range(calls):
        root = turn % count if call == "MPI_Bcast" else -1
        for rank in range(count):
            current, pending = 0, list[int]()
            for kind, peer, round_, size in steps(library, call, rank, count, root, size_bytes, 8):
                if round_ != current:
                    ranks.wait(rank, pending)
                    pending = []
                current = round_
                post = ranks.isend if kind == SEND else ranks.post
                pending.append(post(rank, peer, size, turn))
            ranks.wait(rank, pending)
    return time_s(platform, ranks, placement) / calls


def availability(at: Pair, size_bytes: int, interval_s: float) -> float:
    """Share of a processor left for computation while messages of one size go to and fro: COMB's polling method.

    Each rank computes for an interval, looks whether its message has come, and sends another one if so. As long as
    none has it goes on computing: so it does that in whole intervals for as long as a step lasts besides what the
    messages take of its processor.
    """
    idle_s = _comb(at, size_bytes, 0.0)[1]
    work_s = interval_s * max(1, math.ceil(idle_s / interval_s - 1e-9))
    busy_s, _ = _comb(at, size_bytes, work_s)
    return work_s / (work_s + busy_s)


def _comb(at: Pair, size_bytes: int, work_s: float, steps: int = 40) -> tuple[float, float]:
    """Processor time that a step's messages take, and time in which it has nothing to do."""
    ranks = Ranks(2)
    for _ in range(steps):
        for rank in (0, 1):
            posted = ranks.post(rank, 1 - rank, size_bytes)
            sent = ranks.isend(rank, 1 - rank, size_bytes)
            ranks.compute(rank, work_s)
            ranks.wait(rank, [posted, sent])
    parts = predictor(at.platform, ranks).predict(at.placement).parts_s
    busy = parts["overhead"] + parts["interrupts"]
    return float(np.mean(busy)) / steps, float(np.mean(parts["waiting"])) / steps
