# SPDX-License-Identifier: BSD-3-Clause
"""Every message a workload sends is received, in order and at its size, without any buffering by MPI."""

from collections import defaultdict, deque

import pytest

from rankwise.workloads import Kind, program

CASES = [(name, "S", ranks) for name in ("cg", "ft", "mg") for ranks in (1, 2, 4, 8, 16, 32, 64)] + [
    ("cg", "W", 128),  # halves of unequal length
    ("cg", "W", 256),  # segments of unequal length
    ("mg", "S", 512),  # two grids with fewer points in a dimension than ranks
    ("mg", "W", 128),
    ("ft", "W", 64),  # pencils
]
COLLECTIVE = {Kind.BARRIER, Kind.BCAST, Kind.REDUCE, Kind.ALLREDUCE, Kind.ALLTOALL, Kind.SPLIT}


class Rank:
    """One rank's program and how far it is."""

    def __init__(self, number: int, events: dict):
        self.number = number
        columns = ("kind", "peer", "tag", "request", "count", "type_bytes", "group")
        self.events = list(zip(*(events[c].tolist() for c in columns), strict=True))
        self.next = 0


class Machine:
    """Runs all ranks; a send waits until its receive is posted, as MPI may have it."""

    def __init__(self, ranks: list[Rank]):
        self.ranks = ranks
        self.posted: dict[tuple[int, int, int], deque] = defaultdict(deque)  # (source, destination, tag)
        self.arrived: dict[int, set[int]] = defaultdict(set)
        self.collectives: dict[int, list] = defaultdict(list)
        self.delivered = 0

    def step(self, rank: Rank) -> bool:
        """Do the rank's next event; False if it has to wait."""
        kind, peer, tag, request, count, type_bytes, group = rank.events[rank.next]
        if kind == Kind.IRECV:
            self.posted[peer, rank.number, tag].append((request, count * type_bytes))
        elif kind == Kind.SEND:
            waiting = self.posted[rank.number, peer, tag]
            if not waiting:
                return False
            received, expected_bytes = waiting.popleft()
            assert expected_bytes == count * type_bytes
            self.arrived[peer].add(received)
            self.delivered += 1
        elif kind == Kind.WAIT:
            if request not in self.arrived[rank.number]:
                return False
            self.arrived[rank.number].remove(request)
        elif kind in COLLECTIVE:
            root = peer if kind in (Kind.BCAST, Kind.REDUCE) else None
            self.collectives[rank.number].append((kind, count, type_bytes, root, group))
        rank.next += 1
        return True

    def run(self) -> None:
        moved = True
        while moved:
            moved = False
            for rank in self.ranks:
                while rank.next < len(rank.events) and self.step(rank):
                    moved = True


@pytest.mark.parametrize(("name", "problem_class", "ranks"), CASES)
def test_all_ranks_reach_the_end_and_nothing_is_left(name, problem_class, ranks):
    # GIVEN each rank's calls
    chosen = program(name, problem_class, ranks, iterations=1)
    machine = Machine([Rank(rank, events) for rank, events in chosen.each_rank()])
    # WHEN they are executed side by side
    machine.run()
    # THEN nobody is stuck, no receive stays open, and all make the same collective calls in the same order
    assert [rank.number for rank in machine.ranks if rank.next < len(rank.events)] == []
    assert sum(map(len, machine.posted.values())) == 0
    assert len({tuple(calls) for calls in machine.collectives.values()}) == 1
    assert machine.delivered > 0 or ranks == 1 or name == "ft"
