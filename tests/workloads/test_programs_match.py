# SPDX-License-Identifier: BSD-3-Clause
"""Every message a workload sends is received, in order and at its size, without any buffering by MPI."""

from collections import defaultdict, deque
from dataclasses import dataclass

import pytest

from rankwise.workloads import Kind, program
from rankwise.workloads.program import CALLS, ROOTED, SENDS

CASES = [
    *[(name, "S", ranks) for name in ("cg", "ft", "is", "mg") for ranks in (1, 2, 4, 8, 16, 32, 64)],
    *[("lu", "S", ranks) for ranks in (1, 2, 4, 8, 16)],
    *[
        (name, "S", ranks) for name in ("bt", "sp") for ranks in (1, 4, 9, 16)
    ],  # cells of equal length and not
    *[("ep", "S", ranks) for ranks in (1, 3, 256)],
    ("lu", "W", 64),  # parts of unequal length
    ("bt", "W", 64),
    ("sp", "W", 25),
    ("cg", "W", 128),  # halves of unequal length
    ("cg", "W", 256),  # segments of unequal length
    ("mg", "S", 512),  # two grids with fewer points in a dimension than ranks
    ("mg", "W", 128),
    ("ft", "W", 64),  # pencils
]

PATTERNS = [
    ("alltoall", 5, {"order": "pairwise"}),
    ("alltoall", 5, {"order": "linear"}),
    ("gromacs", 6, {}),
    ("gromacs", 8, {"pme": 2}),
    ("gromacs", 12, {"pme": 4, "slabs": "yes", "cutoff": 25}),
    ("halo", 12, {"points": "27"}),
    ("halo", 4, {"points": "9", "periodic": "no"}),
    ("lammps", 12, {"thermo": 1}),
    ("namd", 7, {}),
    ("random", 9, {"peers": 3}),
    ("ring", 5, {"bytes": 4096, "tile": 1024}),
    ("tree", 11, {"shape": "binomial"}),
    ("tree", 11, {"shape": "binary"}),
]


GRIDS = {  # of hpl, with what else is asked
    (1, 4): {"bcast": "1ring"},
    (2, 3): {"bcast": "2ringM", "pmap": "column"},
    (1, 6): {"bcast": "longM"},
    (2, 4): {"bcast": "long", "depth": 0},
    (4, 2): {"bcast": "2ring", "swap": "binary-exchange", "pfact": "left"},
    (7, 2): {"bcast": "1ringM", "swap": "binary-exchange", "rfact": "right"},
    (6, 2): {"bcast": "2ring", "swap": "long", "rfact": "left"},
    (5, 1): {"swap": "mix", "equil": 0, "pivots": "together"},
    (3, 4): {"pivots": "alone"},
}


@dataclass
class Transfer:
    """A send or a receive that has begun."""

    size_bytes: int
    done: bool = False


class Rank:
    """One rank's program and how far it is."""

    def __init__(self, number: int, events: dict):
        self.number = number
        columns = ("kind", "peer", "tag", "request", "count", "type_bytes", "group")
        self.events = list(zip(*(events[c].tolist() for c in columns), strict=True))
        self.next = 0
        self.begun: dict[int, Transfer] = {}  # by request
        self.blocking: Transfer | None = None
        self.relay: list[tuple[int, int, int, int]] = []  # what is left of it
        self.relaying: Transfer | None = None


class Machine:
    """Runs all ranks; a send ends when its receive is there, as MPI may have it."""

    def __init__(self, ranks: list[Rank]):
        self.ranks = ranks
        self.sent: dict[tuple[int, int, int], deque] = defaultdict(deque)  # (source, destination, tag)
        self.posted: dict[tuple[int, int, int], deque] = defaultdict(deque)
        self.collectives: dict[int, list] = defaultdict(list)
        self.delivered = 0

    def begin(self, rank: int, kind: int, peer: int, tag: int, size_bytes: int) -> Transfer:
        transfer = Transfer(size_bytes)
        is_send = kind in SENDS
        stream = (rank, peer, tag) if is_send else (peer, rank, tag)
        mine, others = (self.sent, self.posted) if is_send else (self.posted, self.sent)
        if others[stream]:
            other = others[stream].popleft()
            assert other.size_bytes == size_bytes
            other.done = transfer.done = True
            self.delivered += 1
        else:
            mine[stream].append(transfer)
        return transfer

    def step(self, rank: Rank) -> bool:
        """Do the rank's next event; False if it has to wait."""
        kind, peer, tag, request, count, type_bytes, group = rank.events[rank.next]
        if kind in (Kind.RELAY_RECV, Kind.RELAY_SEND):
            rank.relay.append((kind, peer, tag, count * type_bytes))
        elif kind == Kind.RELAY_END:
            while rank.relay:
                rank.relaying = rank.relaying or self.begin(rank.number, *rank.relay[0])
                if not rank.relaying.done:
                    return False
                rank.relaying = None
                rank.relay.pop(0)
        elif kind in (Kind.ISEND, Kind.ISSEND, Kind.IRECV, Kind.IRECV_ANY):
            rank.begun[request] = self.begin(rank.number, kind, peer, tag, count * type_bytes)
        elif kind in (Kind.SEND, Kind.SSEND, Kind.RECV):
            if rank.blocking is None:
                rank.blocking = self.begin(rank.number, kind, peer, tag, count * type_bytes)
            if not rank.blocking.done:
                return False
            rank.blocking = None
        elif kind == Kind.WAIT:
            if not rank.begun[request].done:
                return False
            del rank.begun[request]
        elif kind in CALLS or kind in (Kind.SPLIT, Kind.DUP):
            root = peer if kind in ROOTED else None
            size = 0 if kind == Kind.ALLTOALLV else count
            self.collectives[rank.number].append((kind, size, type_bytes, root, group))
        rank.next += 1
        return True

    def run(self) -> None:
        moved = True
        while moved:
            moved = False
            for rank in self.ranks:
                while rank.next < len(rank.events) and self.step(rank):
                    moved = True


@pytest.mark.one_of(3)
@pytest.mark.parametrize(("name", "problem_class", "ranks"), CASES)
def test_all_ranks_reach_the_end_and_nothing_is_left(name, problem_class, ranks):
    reaches_the_end(program(name, problem_class, ranks, iterations=1))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("depth", [0, 1])
def test_hpl_reaches_the_end_on_all_grids(grid, depth):
    rows, columns = grid
    options = {"n": 131, "nb": 8, "p": rows, "q": columns, "depth": depth, **GRIDS[grid]}
    reaches_the_end(program("hpl", "", rows * columns, options=options))


def reaches_the_end(chosen):
    # GIVEN each rank's calls
    name, ranks = chosen.name, chosen.ranks
    machine = Machine([Rank(rank, events) for rank, events in chosen.each_rank()])
    # WHEN they are executed side by side
    machine.run()
    # THEN nobody is stuck, no receive stays open, and all make the same collective calls in the same order
    assert [rank.number for rank in machine.ranks if rank.next < len(rank.events)] == []
    assert [rank.number for rank in machine.ranks if rank.begun] == []
    assert sum(map(len, (*machine.posted.values(), *machine.sent.values()))) == 0
    assert len({tuple(calls) for calls in machine.collectives.values()}) == (name != "hpl")
    assert machine.delivered > 0 or ranks == 1 or name in ("ep", "ft")


@pytest.mark.parametrize(("name", "ranks", "options"), PATTERNS)
def test_all_ranks_of_a_pattern_reach_the_end_and_nothing_is_left(name, ranks, options):
    # GIVEN each rank's calls
    chosen = program(name, "", ranks, iterations=2, options=options)
    machine = Machine([Rank(rank, events) for rank, events in chosen.each_rank()])
    # WHEN they are executed side by side
    machine.run()
    # THEN nobody is stuck, no receive stays open, and all make the same collective calls on all ranks
    assert [rank.number for rank in machine.ranks if rank.next < len(rank.events) or rank.begun] == []
    assert sum(map(len, (*machine.posted.values(), *machine.sent.values()))) == 0
    of_all = {tuple(call for call in calls if call[-1] == 0) for calls in machine.collectives.values()}
    assert len(of_all) == 1
    assert machine.delivered > 0
