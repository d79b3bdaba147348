# SPDX-License-Identifier: BSD-3-Clause
"""Search for the placement with the least predicted time, never worse than the simple ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from rankwise._core.placement import Search
from rankwise.errors import RankwiseError
from rankwise.machine.file import Machine
from rankwise.machine.topology import Topology
from rankwise.placement.costs import CoreSlots, PairCosts
from rankwise.placement.placement import Placement, default_names
from rankwise.placement.simple import nodes_and_slots


class Predicted(Protocol):
    """What a judge says of a placement: a `Prediction`, or anything that has its time."""

    makespan_s: float


Judge = Callable[[Placement], Predicted]


@dataclass(frozen=True)
class Candidate:
    """A placement with what is known of it.

    Attributes:
        name: `blocked`, `cyclic`, `plane=K`, `current`, `optimised`.
        placement: The placement.
        surrogate_s: The search's quick stand-in for communication time.
        busiest_interface_s: Time of the busiest network interface, one direction.
        prediction: What the judge said; `None` if it was not asked.
    """

    name: str
    placement: Placement
    surrogate_s: float
    busiest_interface_s: float
    prediction: Predicted | None = None

    @property
    def makespan_s(self) -> float:
        """Predicted time; infinite if it was not judged."""
        return self.prediction.makespan_s if self.prediction is not None else float("inf")


class PlacementSearch:
    """Placements of a program's ranks on a machine, one rank a core.

    Args:
        messages: The recording's messages table.
        ranks: Number of ranks.
        machine: Link classes and network interfaces.
        topology: The nodes.
    """

    def __init__(self, messages: pl.DataFrame, ranks: int, machine: Machine, topology: Topology):
        self.topology = topology
        self.ranks = ranks
        self.slots = CoreSlots.of(topology)
        costs = PairCosts.of(messages, ranks, machine, self.slots.channels, self.slots.reachable)
        self._search = Search(
            self.slots.groups, self.slots.node, costs.offsets, costs.neighbour, costs.cost, costs.nic_out, costs.nic_in
        )  # fmt: skip
        first = np.concatenate([[0], np.cumsum([node.cores for node in topology.nodes])])
        self._first_slot = first[:-1]

    def placement(self, slot: Iterable[int], allocation: str) -> Placement:
        """The placement of ranks on slots."""
        chosen = np.fromiter(slot, dtype=np.int64)
        return Placement(
            node_names=default_names(len(self.topology.nodes)),
            topology_sha256=tuple(node.sha256 for node in self.topology.nodes),
            node=self.slots.node[chosen],
            core_start=np.arange(self.ranks + 1),
            cores=self.slots.core[chosen],
            allocation=allocation,
        )

    def slots_of(self, placement: Placement) -> list[int]:
        """Slots of a placement with one core a rank.

        Raises:
            RankwiseError: A rank has several cores, or it is for another machine.
        """
        placement.check(self.topology)
        if not placement.bound.all():
            rank = int(np.argmin(placement.bound))
            raise RankwiseError(
                f"rank {rank} is bound to {len(placement.cores_of(rank))} cores; the search places one rank a core",
                "bind each rank to one core, for example with `--bind-to core`",
            )
        return (self._first_slot[placement.node] + placement.cores).tolist()

    def candidate(self, name: str, slot: list[int]) -> Candidate:
        """Score a placement by the surrogate."""
        value, busiest = self._search.score(slot)
        return Candidate(name, self.placement(slot, name), value, busiest)

    def simple(self) -> list[Candidate]:
        """Blocked, cyclic and the planes between them, on nodes filled alike."""
        nodes = len(self.topology.nodes)
        most = -(-self.ranks // nodes)
        if most > min(node.cores for node in self.topology.nodes):
            return [self.candidate("blocked", list(range(self.ranks)))]
        found = []
        for plane in [most, 1, *(k for k in range(2, most) if most % k == 0)]:
            node, slot = nodes_and_slots(self.ranks, nodes, most, plane)
            name = {most: "blocked", 1: "cyclic"}.get(plane, f"plane={plane}")
            if name not in [candidate.name for candidate in found]:
                found.append(self.candidate(name, (self._first_slot[node] + slot).tolist()))
        return found

    def optimised(self, starts: list[list[int]], seed: int, budget_s: float) -> list[Candidate]:
        """Refine a grown placement and the given ones by swaps; different results, best surrogate first."""
        end = time.monotonic() + budget_s
        rng = np.random.default_rng(seed)
        slots = len(self.slots.node)
        queue = [
            self._search.grow(),
            *starts,
            *(rng.permutation(slots)[: self.ranks].tolist() for _ in range(8)),
        ]
        found: dict[tuple[int, ...], Candidate] = {}
        for at, start in enumerate(queue):
            left = end - time.monotonic()
            if left <= 0 and found:
                break
            slot = self._search.refine(start, seed=seed + at, budget_s=max(left, 0.0))
            found[tuple(slot)] = self.candidate("optimised", slot)
        return sorted(found.values(), key=lambda candidate: candidate.surrogate_s)

    def run(
        self, judge: Judge, current: Placement | None = None, seed: int = 1, budget_s: float = 10.0, judged: int = 4
    ) -> list[Candidate]:  # fmt: skip
        """Judge the simple placements, the current one and the best found, by predicted time.

        Args:
            judge: Predicts the program's time with a placement.
            current: The placement the program ran with, if it fits this machine.
            seed: Of the search; the same seed and enough budget give the same result.
            budget_s: Time for the search; judging comes on top.
            judged: How many of the placements found are judged.

        Returns:
            The simple ones in their order, `current` if given, and last `optimised`, the best of all: where the
            search finds nothing better than these, it is one of them.
        """
        known = self.simple()
        if current is not None:
            known.append(self.candidate("current", self.slots_of(current)))
        starts = [self.slots_of(candidate.placement) for candidate in known]
        found = self.optimised(starts, seed, budget_s)[:judged]
        known, found = (
            [replace(candidate, prediction=judge(candidate.placement)) for candidate in candidates]
            for candidates in (known, found)
        )
        best = min([*known, *found], key=lambda candidate: candidate.makespan_s)
        return [*known, replace(best, name="optimised")]
