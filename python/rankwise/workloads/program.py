# SPDX-License-Identifier: BSD-3-Clause
"""What each rank of a workload does, call by call, found without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.workloads.catalogue import workload


class Kind(IntEnum):
    """Kinds of events, as in workloads/comm_dry.h."""

    SEND = 0
    ISEND = 1
    RECV = 2
    IRECV = 3
    IRECV_ANY = 4
    WAIT = 5
    BARRIER = 6
    BCAST = 7
    REDUCE = 8
    ALLREDUCE = 9
    ALLGATHER = 10
    ALLTOALL = 11
    ALLTOALLV = 12
    SPLIT = 13
    COMPUTE = 14
    KERNEL = 15
    TIMER = 16
    SSEND = 17
    ISSEND = 18
    RELAY_RECV = 19
    RELAY_SEND = 20
    RELAY_END = 21
    DIVIDE = 22
    DUP = 23


SENDS = (Kind.SEND, Kind.ISEND, Kind.SSEND, Kind.ISSEND, Kind.RELAY_SEND)
RECEIVES = (Kind.RECV, Kind.IRECV, Kind.IRECV_ANY, Kind.RELAY_RECV)
CALLS = {
    Kind.BARRIER: "MPI_Barrier",
    Kind.BCAST: "MPI_Bcast",
    Kind.REDUCE: "MPI_Reduce",
    Kind.ALLREDUCE: "MPI_Allreduce",
    Kind.ALLGATHER: "MPI_Allgather",
    Kind.ALLTOALL: "MPI_Alltoall",
    Kind.ALLTOALLV: "MPI_Alltoallv",
}
ROOTED = (Kind.BCAST, Kind.REDUCE)
MOST_ITERATIONS = 10**9
KERNELS = tuple(_core.workloads.kernels())


@dataclass(frozen=True)
class Collective:
    """Collective calls with equal arguments.

    Attributes:
        call: Name of the MPI function.
        communicator: World ranks of the communicator, in its rank order.
        root: Rank in the communicator, -1 where there is none.
        bytes: The whole buffer; for `MPI_Allgather` and `MPI_Alltoall` one rank's block; for `MPI_Alltoallv` what all
            ranks send together.
        datatype_bytes: Size of one element.
        calls: How many times all ranks of the communicator made this call.
        sizes: Of `MPI_Alltoallv`, bytes from each rank to each (sender x receiver, int64).
    """

    call: str
    communicator: tuple[int, ...]
    root: int
    bytes: int
    datatype_bytes: int
    calls: int
    sizes: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Program:
    """A workload of one class, or with some options, on a number of ranks.

    Attributes:
        name: The workload.
        problem_class: Its class, `-` where it has none.
        ranks: Number of ranks.
        iterations: Of the timed section.
        options: Values of the workload's options, in their order.
    """

    name: str
    problem_class: str
    ranks: int
    iterations: int
    options: tuple[int, ...] = ()

    def events(self, rank: int) -> dict[str, np.ndarray]:
        """One rank's calls in program order.

        Returns:
            Columns of equal length: `kind` (`Kind`), `peer` (sends: destination; receives: source, with wildcards the
            real one; rooted collectives: root in the group; kernel: index into `KERNELS`), `tag`, `group` (0 the world,
            else the number of the split or dup that made it), `request` (isend, irecv: its number; wait: the one waited
            for),
            `type_bytes`, `count` (elements; for alltoall, for each rank; for alltoallv, to all ranks; timer: 1 when the
            timed section starts; kernel: how many times; divide: parts, 0 at its end; wait: 0 of an MPI_Wait, of an
            MPI_Waitall how many of its waits are left with this one), `operations` (compute, kernel: floating-point
            operations of the original), `m`, `n`, `k` (kernel: its
            sizes). A split has its color in `peer` and its key in `tag`; a dup the group that it copies in `m`, 0 in
            `peer`, and the rank in `tag`.

            `counts` is of its own length: an alltoallv finds there, from its `n` on, its `m` counts of elements sent,
            then its `m` counts of elements received, by rank in its group.
        """
        return _core.workloads.events(
            self.name, self.problem_class, self.iterations, self.options, rank, self.ranks
        )

    def counts(self, rank: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """One rank's messages as counts, much faster than all its events.

        Returns:
            Columns `destination`, `bytes` and `messages` of distinct rows, sorted by the first two; and collective
            calls, splits and dups, as of `events`.
        """
        return _core.workloads.counts(
            self.name, self.problem_class, self.iterations, self.options, rank, self.ranks
        )

    def each_rank(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """All ranks and their events, one after the other."""
        for rank in range(self.ranks):
            yield rank, self.events(rank)


def program(
    name: str,
    problem_class: str,
    ranks: int,
    iterations: int | None = None,
    options: Mapping[str, int | str] | None = None,
) -> Program:
    """A workload's program.

    Args:
        name: The workload.
        problem_class: Such as `B`; empty of workloads without classes.
        ranks: Number of ranks.
        iterations: Of the timed section; as the problem has if not given.
        options: Values by name; as usual if not given.

    Raises:
        RankwiseError: The workload does not have that class or option, or cannot run on that many ranks or
            iterations.
    """
    chosen = workload(name)
    chosen.check(problem_class, ranks, options)
    if iterations is not None and not 1 <= iterations <= MOST_ITERATIONS:
        hint = f"rankwise workloads {name} --count --iterations {chosen.iterations(problem_class, options)}"
        raise RankwiseError(f"`--iterations {iterations}` is not 1 to {MOST_ITERATIONS}", hint)
    letter, values = chosen.letter(problem_class), chosen.values(options)
    return Program(name, letter, ranks, iterations or chosen.iterations(problem_class, options), values)
