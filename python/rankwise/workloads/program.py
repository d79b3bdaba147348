# SPDX-License-Identifier: BSD-3-Clause
"""What each rank of a workload does, call by call, found without running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rankwise import _core
from rankwise.workloads.catalogue import workload


class Kind(IntEnum):
    """Kinds of events, as in workloads/comm_dry.h."""

    SEND = 0
    IRECV = 1
    WAIT = 2
    BARRIER = 3
    BCAST = 4
    REDUCE = 5
    ALLREDUCE = 6
    ALLTOALL = 7
    SPLIT = 8
    COMPUTE = 9
    TIMER = 10


CALLS = {
    Kind.BARRIER: "MPI_Barrier",
    Kind.BCAST: "MPI_Bcast",
    Kind.REDUCE: "MPI_Reduce",
    Kind.ALLREDUCE: "MPI_Allreduce",
    Kind.ALLTOALL: "MPI_Alltoall",
}


@dataclass(frozen=True)
class Collective:
    """Collective calls with equal arguments.

    Attributes:
        call: Name of the MPI function.
        communicator: World ranks of the communicator, in its rank order.
        root: Rank in the communicator, -1 where there is none.
        bytes: The whole buffer; for `MPI_Alltoall` the block for one rank.
        datatype_bytes: Size of one element.
        calls: How many times all ranks of the communicator made this call.
    """

    call: str
    communicator: tuple[int, ...]
    root: int
    bytes: int
    datatype_bytes: int
    calls: int


@dataclass(frozen=True)
class Program:
    """A workload of one class on a number of ranks.

    Attributes:
        name: The workload.
        problem_class: Its class.
        ranks: Number of ranks.
        iterations: Of the timed section.
    """

    name: str
    problem_class: str
    ranks: int
    iterations: int

    def events(self, rank: int) -> dict[str, np.ndarray]:
        """One rank's calls in program order.

        Returns:
            Columns of equal length: `kind` (`Kind`), `peer` (send: destination, irecv: source, rooted collectives:
            root), `tag`, `group` (0 the world, else the number of the split that made it), `request` (irecv: its
            number; wait: the one waited for), `type_bytes`, `count` (elements; for alltoall, for each rank; timer: 1
            when the timed section starts), `operations` (compute: floating-point operations of the original).
            A split has its color in `peer` and its key in `tag`.
        """
        return _core.workloads.events(self.name, self.problem_class, self.iterations, rank, self.ranks)

    def each_rank(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """All ranks and their events, one after the other."""
        for rank in range(self.ranks):
            yield rank, self.events(rank)


def program(name: str, problem_class: str, ranks: int, iterations: int | None = None) -> Program:
    """A workload's program.

    Args:
        name: The workload.
        problem_class: Such as `B`.
        ranks: Number of ranks.
        iterations: Of the timed section; as the class has if not given.

    Raises:
        RankwiseError: The workload does not have that class or cannot run on that many ranks.
    """
    chosen = workload(name)
    chosen.check(problem_class, ranks)
    return Program(name, problem_class, ranks, iterations or chosen.iterations(problem_class))
