# SPDX-License-Identifier: BSD-3-Clause
"""HPL of any size predicted, some panels at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rankwise import workloads
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.model import Model
from rankwise.workloads.kernel_costs import TERM_NAMES, KernelCosts

OPERATIONS_AT_ONCE = 2_000_000
"""About how many operations of a schedule are in memory."""
_OPERATIONS_OF_PANEL = 16  # about as many of each rank
_OPERATIONS_PER_S = 1e10  # of kernels without a cost of their own: there are none that matter


@dataclass(frozen=True)
class Linpack:
    """A run of HPL.

    Attributes:
        order: Of the matrix.
        block: Columns of a block.
        rows: Of the process grid.
        columns: Of the process grid.
        options: Further options of the workload `hpl`.
    """

    order: int
    block: int
    rows: int
    columns: int
    options: Mapping[str, int | str]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.rows * self.columns

    @property
    def panels(self) -> int:
        """Number of panels."""
        return -(-self.order // self.block)

    @property
    def gflops(self) -> float:
        """What the program divides by its time: 10^9 operations."""
        return (2 / 3 * self.order**3 + 3 / 2 * self.order**2) * 1e-9

    def program(self, panels: int | None = None, **options: int | str) -> workloads.Program:
        """The workload, or some of its panels."""
        sizes = {"n": self.order, "nb": self.block, "p": self.rows, "q": self.columns}
        return workloads.program("hpl", "", self.ranks, panels, {**self.options, **sizes, **options})


@dataclass(frozen=True)
class LinpackModel:
    """What predicts runs of HPL on a machine.

    Panels are replayed some at a time, each part from when its ranks ended the one before: at the end of a panel all it
    sent has come. The exchanges of a panel's pivots are replayed alone once, and are computation of that length and one
    exchange then (`each` replays them all).

    Attributes:
        machine: The machine.
        topology: Its nodes.
        costs: Of its computing kernels.
        each: Whether each pivot's exchange is replayed where it is.
    """

    machine: Machine
    topology: Topology
    costs: KernelCosts
    each: bool = False

    def time_s(self, run: Linpack, placement: Placement) -> float:
        """Predicted time of the timed section.

        Raises:
            RankwiseError: The placement does not fit the machine.
        """
        placement.check(self.topology)
        model = Model(self.machine, self.topology)
        at = model.convert(placement)
        kernels = self._kernels(run, placement)
        if run.rows > 1 and not self.each:
            alone = workloads.schedule(run.program(pivots="alone"), _OPERATIONS_PER_S)
            kernels["pivot"] = self._pivot_terms(
                run, np.asarray(alone.replay(model.core_machine, at).finish_s)
            )
        before, start = 0.0, np.zeros(run.ranks)
        for first, panels in self._parts(run):
            program = run.program(panels, first=first, pivots="each" if self.each else "together")
            schedule = workloads.schedule(program, _OPERATIONS_PER_S, kernels=kernels, start_s=start)
            finish = np.asarray(schedule.replay(model.core_machine, at).finish_s)
            before, start = before + float(finish.min()), finish - finish.min()
        return before + float(start.max())

    def _kernels(self, run: Linpack, placement: Placement) -> dict[str, np.ndarray]:
        cores = [int(placement.cores_of(rank)[0]) for rank in range(run.ranks)]
        node = np.asarray(placement.node)
        package = [self.topology.nodes[n].packages[c] for n, c in zip(node.tolist(), cores, strict=True)]
        return self.costs.terms(node, np.array(package))

    def _pivot_terms(self, run: Linpack, finish_s: np.ndarray) -> np.ndarray:
        """One exchange among the processes of each column of the grid, of as many as a panel has."""
        row_major = run.options.get("pmap", "row") == "row"
        shape = (run.rows, run.columns) if row_major else (run.columns, run.rows)
        slowest = finish_s.reshape(shape).max(axis=0 if row_major else 1, keepdims=True)
        terms = np.zeros((run.ranks, len(TERM_NAMES)))
        terms[:, 0] = np.broadcast_to(slowest, shape).ravel() / run.block
        return terms

    def _parts(self, run: Linpack) -> Iterator[tuple[int, int]]:
        many = _OPERATIONS_OF_PANEL * run.ranks
        if self.each:
            many += 2 * run.rows * run.block * (run.rows.bit_length() + 1)
        at_once = max(2, OPERATIONS_AT_ONCE // many)
        for first in range(0, run.panels, at_once):
            yield first, min(at_once, run.panels - first)
