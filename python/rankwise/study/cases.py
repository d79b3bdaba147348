# SPDX-License-Identifier: BSD-3-Clause
"""What studies run: a program on a number of ranks with its ranks placed, and what came out."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.simple import allocate
from rankwise.study.program import StudyProgram


@dataclass(frozen=True)
class Seats:
    """Where the ranks of a case are, said so that any machine can follow it.

    Attributes:
        nodes: Number of nodes.
        ranks_a_node: Most ranks on one.
        allocation: `blocked`, `cyclic` or `plane=K`.
        core_order: In which order a node's ranks take its cores, as `rankwise.placement.simple.ordered_cores`.
        explicit: Instead of the others: (node, core by the kernel's number) of each rank.
    """

    nodes: int
    ranks_a_node: int
    allocation: str = "blocked"
    core_order: str = "logical"
    explicit: tuple[tuple[int, int], ...] = ()

    def on(self, topology: Topology, ranks: int) -> Placement:
        """The placement on these nodes, without nodes that have no ranks.

        Raises:
            RankwiseError: The ranks do not fit.
        """
        node = topology.nodes[0]
        if not self.explicit:
            placement, _ = allocate(
                ranks, self.nodes, self.ranks_a_node, node, self.allocation, self.core_order
            )
            return placement
        where = [(each, (node.core_of_pu[core],)) for each, core in self.explicit]
        return Placement.explicit(Topology(topology.nodes[: self.nodes]), where)


@dataclass(frozen=True)
class Case:
    """One run of a study.

    Attributes:
        program: What runs.
        ranks: On how many ranks.
        seats: Where they are.
        label: What the study calls this arrangement, such as `8x2 co-processor`.
        iterations: Of the timed section instead of the program's own number, for times that only matter relative to
            each other; 0: its own.
        bytes_per_operation: To and from memory, where the study knows better than `rankwise.study.cost`.
        computation: Share of the workload's operations that are done.
    """

    program: StudyProgram
    ranks: int
    seats: Seats
    label: str
    iterations: int = 0
    bytes_per_operation: float | None = None
    computation: float = 1.0


class Outcome(msgspec.Struct, frozen=True):
    """What came out of a case.

    Attributes:
        time_s: Of the program; measured: the median.
        low_s: Lowest of the runs, or low end of the interval; `None` if there is none.
        high_s: Highest.
        runs: How many were measured; 0: predicted.
        computation_s: Of each rank.
        waiting_s: Of each rank: in MPI, waiting for others.
        sending_s: Of each rank: the rest of its time in MPI.
        network_s: Time in the network's send and progress calls, of all ranks; `None` if it is not known.
        network_messages: Between nodes.
        network_bytes: Between nodes.
        channels: Messages and bytes by channel.
        cache_misses: Of all ranks, `None` where no counter says it.
        stalls: Cycles that cores of all ranks stood still, likewise.
        interrupts: By core of the kernel's number on the first node, likewise.
        why_not: Why values are `None`.
    """

    time_s: float
    computation_s: list[float]
    waiting_s: list[float]
    sending_s: list[float]
    network_messages: int
    network_bytes: int
    channels: dict[str, tuple[int, int]] = {}
    network_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    runs: int = 0
    cache_misses: float | None = None
    stalls: float | None = None
    interrupts: dict[str, float] | None = None
    why_not: str = ""

    @property
    def mean_computation_s(self) -> float:
        """Over ranks."""
        return float(np.mean(self.computation_s))


COPROCESSOR = "packages"
"""Core order of co-processor mode: ranks of a node have packages of their own as long as there are some."""
