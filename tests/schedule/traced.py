# SPDX-License-Identifier: BSD-3-Clause
"""Traces of ranks, call by call, and random programs of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from raw_writer import FINALIZED, SCHED, TRACED, Rank, u, z

ANY_SOURCE, ANY_TAG, PROC_NULL = -2, -1, -1


class Traced(Rank):
    """A rank whose calls are written as MPI's arguments; gaps in nanoseconds."""

    def send(self, peer, size, tag=0, gap=0, call="MPI_Send", comm=0):
        self.event(call, gap, 100, u(comm) + z(peer) + z(tag) + u(size))

    def isend(self, peer, size, **more):
        self.send(peer, size, call="MPI_Isend", **more)

    def recv(self, peer, size, tag=0, gap=0, comm=0, posted=None):
        posted_peer, posted_tag = posted or (peer, tag)
        self.event(
            "MPI_Recv", gap, 100, u(comm) + z(posted_peer) + z(posted_tag) + z(peer) + z(tag) + u(size)
        )

    def irecv(self, peer, size, tag=0, gap=0, comm=0):
        self.event("MPI_Irecv", gap, 10, u(comm) + z(peer) + z(tag) + u(size))

    def waitall(self, *requests, gap=0):
        """Requests are `back`, or (back, peer, tag, size) of a receive."""
        payload = u(len(requests))
        for request in requests:
            if isinstance(request, tuple):
                back, peer, tag, size = request
                payload += u(back) + u(1) + z(peer) + z(tag) + u(size)
            else:
                payload += u(request) + u(0)
        self.event("MPI_Waitall", gap, 100, payload)

    def coll(self, call, size, *, comm=0, root=-1, element=8, size2=0, sizes=(), gap=0):
        payload = u(comm) + z(root) + u(0) + u(element) + u(size) + u(size2) + u(len(sizes))
        self.event(call, gap, 100, payload + b"".join(u(each) for each in sizes))

    def make(self, call, *, comm=0, reorder=0, gap=0):
        """A communicator of another one."""
        self.event(call, gap, 100, u(comm + 1) + u(reorder))

    def sched(self, wait_ns, cpu_ns):
        self.event(SCHED, 0, 0, u(wait_ns) + u(cpu_ns))


def ranks_of(count):
    return [Traced(r, count, flags=FINALIZED | TRACED) for r in range(count)]


@dataclass
class Program:
    """A rank of a random program: its trace, and requests that were not waited for."""

    trace: Traced
    requests: int = 0
    pending: list = field(default_factory=list)  # number, and of a receive (peer, tag, size)
    persistent: dict = field(default_factory=dict)  # (peer, tag, size) -> number

    def wait(self, chosen) -> None:
        """Wait for some of what is pending."""
        entries = [
            (self.requests - number, *end) if end else self.requests - number for number, end in chosen
        ]
        self.pending = [each for each in self.pending if each not in chosen]
        self.trace.waitall(*entries, gap=0)


def random_program(seed: int, ranks: int, actions: int) -> list[Traced]:
    """Ranks that do not deadlock: all do their parts of one list of messages and collectives in its order."""
    rng = random.Random(seed)
    programs = [Program(trace) for trace in ranks_of(ranks)]
    for rank in programs:
        if rng.random() < 0.3:
            rank.trace.event("MPI_Cancel", 0, 10, u(0))
    for _ in range(actions):
        what = rng.random()
        if what < 0.2:
            rank = rng.choice(programs)
            if rank.pending:
                rank.wait(rng.sample(rank.pending, rng.randint(1, len(rank.pending))))
        elif what < 0.27:
            call = rng.choice(["MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Alltoall", "MPI_Iallreduce"])
            size, root = rng.choice([0, 8, 5000]), 0 if call == "MPI_Bcast" else -1
            for rank in programs:
                rank.trace.coll(call, size, root=root, gap=_gap(rng))
                if call == "MPI_Iallreduce":
                    rank.pending.append((rank.requests, None))
                    rank.requests += 1
        else:
            _message(rng, *rng.sample(programs, 2))
    for rank in programs:
        left = [
            each for each in rank.pending if each[1] or rng.random() < 0.9
        ]  # some sends are never waited for
        if left:
            rank.wait(left)
    return [rank.trace for rank in programs]


def _gap(rng: random.Random) -> int:
    return rng.choice([0, 0, 1000, 1000, rng.randrange(10**5)])


def _message(rng: random.Random, source: Program, target: Program) -> None:
    size, tag = rng.choice([0, 1, 100, 100, 3000]), rng.randrange(2)
    _sends(rng, source, target.trace.world_rank, size, tag)
    _receives(rng, target, source.trace.world_rank, size, tag)


def _sends(rng: random.Random, rank: Program, peer: int, size: int, tag: int) -> None:
    how = rng.choice(["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Isend", "MPI_Isend", "MPI_Issend"])
    rank.trace.send(peer, size, tag=tag, gap=_gap(rng), call=how)
    if "_I" in how:
        rank.pending.append((rank.requests, None))
        rank.requests += 1


def _receives(rng: random.Random, rank: Program, peer: int, size: int, tag: int) -> None:
    how, trace, gap = rng.random(), rank.trace, _gap(rng)
    capacity = size + rng.choice([0, 50])
    if how < 0.4:
        trace.recv(peer, size, tag=tag, gap=gap)
    elif how < 0.8:
        posted_peer = rng.choice([peer, peer, ANY_SOURCE])
        trace.irecv(posted_peer, capacity, tag=rng.choice([tag, tag, ANY_TAG]), gap=gap)
        rank.pending.append((rank.requests, (peer, tag, size)))
        rank.requests += 1
    else:  # a persistent receive: made once for each peer, tag and size
        key = (peer, tag, size)
        number = rank.persistent.get(key)
        if any(number == pending for pending, _ in rank.pending):
            rank.wait([each for each in rank.pending if each[0] == number])
        if number is None:
            number = rank.persistent[key] = rank.requests
            trace.event("MPI_Recv_init", 0, 10, u(0) + z(ANY_SOURCE) + z(tag) + u(size))
            rank.requests += 1
        trace.event("MPI_Start", gap, 10, u(1) + u(rank.requests - number))
        rank.pending.append((number, (peer, tag, size)))
