# SPDX-License-Identifier: BSD-3-Clause
"""Search for the placement with the least predicted time, never worse than the simple ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import polars as pl

from rankwise._core.placement import Search
from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement, default_names
from rankwise.machine.topology import Topology
from rankwise.placement.climb import Moves, climb
from rankwise.placement.constraints import Constraints
from rankwise.placement.costs import CommCosts, CoreSlots
from rankwise.placement.loads import RankTimes, interface_groups, loads
from rankwise.placement.simple import deal
from rankwise.quantities import counted


class Predicted(Protocol):
    """What a judge says of a placement: a `Prediction`, or anything that has its time."""

    @property
    def makespan_s(self) -> float:
        """Predicted time."""


# Part of the time: placements nearer than this to each other differ by less than any run of a program.
WORTH_A_CHANGE = 0.001
# Planes that divide the ranks of a node are tried, and shorter ones whether they do or not.
_SHORT_PLANE = 4

Judge = Callable[[Placement], Predicted]
Estimator = Callable[[list[Placement]], np.ndarray]
# Whether the first placement is known to be better than the second.
Better = Callable[[Placement, Placement], bool]
# Called with what the best so far was judged by (`objective`, `estimated`, `predicted`) and that value.
Progress = Callable[[str, float], None]


def say_nothing(judged_by: str, value: float) -> None:
    """Of how the search gets on."""


@dataclass(frozen=True)
class Candidate:
    """A placement with what is known of it.

    Attributes:
        name: `blocked`, `cyclic`, `plane=K`, these with ` PxQ` on P of the nodes, `current`, `optimised`.
        placement: The placement.
        objective_s: The search's quick stand-in for communication time.
        busiest_interface_s: Time of the busiest network interface, one direction.
        prediction: What the judge said; `None` if it was not asked.
        allowed: Whether it may be chosen; with constraints, not all that are shown may.
    """

    name: str
    placement: Placement
    objective_s: float
    busiest_interface_s: float
    prediction: Predicted | None = None
    allowed: bool = True

    @property
    def makespan_s(self) -> float:
        """Predicted time; infinite if it was not judged."""
        return self.prediction.makespan_s if self.prediction is not None else float("inf")


class PlacementSearch:
    """Placements of a program's ranks on a machine, each on cores of its own.

    Args:
        messages: The recording's messages table.
        ranks: Number of ranks.
        machine: Link classes and network interfaces.
        topology: The nodes.
        objective: What the best has least of: `time`, predicted; `network`, the time of the busiest network interface;
            `bytes`, the bytes between nodes.
        constraints: Limits of the search.

    Raises:
        RankwiseError: The cores left are too few, or a rank is fixed to one that is not first of a group.
    """

    def __init__(
        self,
        messages: pl.DataFrame,
        ranks: int,
        machine: Machine,
        topology: Topology,
        objective: str = "time",
        constraints: Constraints | None = None,
    ):
        self.topology = topology
        self.machine = machine
        self.ranks = ranks
        self.objective = objective
        self.constraints = constraints or Constraints()
        self.slots = CoreSlots.of(topology, self.constraints.cores_per_rank, self.constraints.forbidden)
        if len(self.slots.node) < ranks:
            raise RankwiseError(
                f"{ranks} ranks of {counted(self.constraints.cores_per_rank, 'core')} do not fit: "
                f"the machine has room for {len(self.slots.node)}",
                "use a machine file with more nodes, or forbid fewer cores",
            )
        self._messages = messages
        costs = CommCosts.of(
            messages, ranks, machine, self.slots.channels, self.slots.reachable, objective
        )  # fmt: skip
        self._search = Search(
            self.slots.groups, self.slots.node, costs.offsets, costs.neighbour, costs.cost, costs.nic_out, costs.nic_in
        )  # fmt: skip
        if (shared := interface_groups(machine, topology, self.slots)) is not None:
            self._search.use_interfaces(*shared)
        seats = zip(self.slots.node.tolist(), map(tuple, self.slots.core.tolist()), strict=True)
        self._slot_of = {seat: slot for slot, seat in enumerate(seats)}
        room = np.bincount(self.slots.node, minlength=len(topology.nodes))
        self._room = room.tolist()
        self._first_slot = np.concatenate([[0], np.cumsum(room)])[:-1]
        heads = {(node, cores[0]): slot for (node, cores), slot in self._slot_of.items()}
        self._stopped = False
        self.judged: list[Candidate] = []
        self._fixed: dict[int, int] = {}
        for rank, (node, core) in self.constraints.fixed.items():
            if (node, core) not in heads:
                raise RankwiseError(
                    f"rank {rank} is fixed to core {core} of node {node}, which is not the first of "
                    f"{self.constraints.cores_per_rank} free cores of a package",
                    "fix it to the first of a group of cores",
                )
            self._fixed[rank] = heads[node, core]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search early."""
        return self._search.interrupted or self._stopped

    def learn(self, times: RankTimes) -> None:
        """Take into account how ranks load memories and interrupt cores; only where predicted time is the objective."""
        if self.objective == "time":
            self._search.share(**loads(self._messages, self.machine, self.topology, self.slots, times))

    def placement(self, slot: Iterable[int], allocation: str) -> Placement:
        """The placement of ranks on slots."""
        chosen = np.fromiter(slot, dtype=np.int64)
        width = self.slots.core.shape[1]
        node = self.slots.node[chosen]
        # Nodes behind the last one that has ranks are none of the placement's.
        used = self.topology.nodes[: int(node.max(initial=0)) + 1]
        return Placement(
            node_names=default_names(len(used)),
            topology_sha256=tuple(each.sha256 for each in used),
            node=node,
            core_start=np.arange(self.ranks + 1) * width,
            cores=self.slots.core[chosen].ravel(),
            allocation=allocation,
        )

    def slots_of(self, placement: Placement) -> list[int]:
        """Slots of a placement whose ranks have as many cores as here.

        Raises:
            RankwiseError: A rank has other cores, or it is for another machine.
        """
        placement.check(Topology(self.topology.nodes[: len(placement.node_names)]))
        slots = []
        taken: dict[int, int] = {}
        for rank, node in enumerate(placement.node.tolist()):
            cores = placement.cores_of(rank)
            slot = self._slot_of.get((node, cores))
            if slot is None:
                listed = ", ".join(map(str, cores[:4])) + (", ..." if len(cores) > 4 else "")
                raise RankwiseError(
                    f"rank {rank} is bound to {len(cores)} cores ({listed}) of node {node}; the search gives each rank "
                    f"{self.constraints.cores_per_rank} that are not forbidden, of one package",
                    "bind each rank to one core, for example with `--bind-to core`, or use `--cores-per-rank`",
                )
            if slot in taken:
                raise RankwiseError(
                    f"ranks {taken[slot]} and {rank} are both on core {cores[0]} of node {node}"
                )
            taken[slot] = rank
            slots.append(slot)
        return slots

    def has(self, placement: Placement) -> bool:
        """Whether a placement is one that could be found: its ranks have as many cores as here."""
        try:
            self.slots_of(placement)
        except RankwiseError:
            return False
        return True

    def candidate(self, name: str, slot: list[int]) -> Candidate:
        """Score a placement by the objective."""
        value, busiest = self._search.score(slot)
        return Candidate(name, self.placement(slot, name), value, busiest)

    def simple(self) -> list[Candidate]:
        """Blocked, cyclic and planes; on as few nodes as hold the ranks, and on all of them, filled alike."""
        nodes = len(self._room)
        most = -(-self.ranks // nodes)
        alike = [most] * nodes if most <= min(self._room) else self._room
        fewest = int(np.searchsorted(np.cumsum(self._room), self.ranks)) + 1
        few = self._room[:fewest]
        found: dict[tuple[int, ...], Candidate] = {}
        for room, where in ((few, ""), (alike, f" {nodes}x{max(alike)}")):
            each = max(room)
            between = (k for k in range(2, each) if each % k == 0 or k <= _SHORT_PLANE)
            for plane in [each, 1, *between]:
                node, slot = deal(self.ranks, room, plane)
                slots = self._settle((self._first_slot[node] + slot).tolist())
                name = "blocked" if plane == each else "cyclic" if plane == 1 else f"plane={plane}"
                if tuple(slots) not in found:
                    found[tuple(slots)] = self.candidate(name + where, slots)
        return list(found.values())

    def _settle(self, slot: list[int]) -> list[int]:
        """The slots with fixed ranks where they belong; whoever was there takes the rank's slot."""
        if not self._fixed:
            return slot
        slot = list(slot)
        for rank, wanted in self._fixed.items():
            if wanted in slot:
                slot[slot.index(wanted)] = slot[rank]
            slot[rank] = wanted
        return slot

    def optimise(
        self, starts: list[list[int]], seed: int, budget_s: float, progress: Progress = say_nothing
    ) -> list[Candidate]:
        """Refine placements by swaps; different results, best objective first.

        Starts are the given ones, one cut along the machine, one grown, and a few at random.
        """
        end = time.monotonic() + budget_s
        rng = np.random.default_rng(seed)
        slots = len(self.slots.node)
        fixed = [rank in self._fixed for rank in range(self.ranks)] if self._fixed else []
        queue: Iterator[Callable[[], list[int]]] = iter([
            *(partial(list, start) for start in starts),
            *(() if self.constraints.keep_nodes else (
                lambda: self._search.multisect(seed),
                self._search.grow,
                *(lambda: rng.permutation(slots)[: self.ranks].tolist() for _ in range(8)),
            )),
        ])  # fmt: skip
        found: dict[tuple[int, ...], Candidate] = {}
        for at, start in enumerate(queue):
            left = end - time.monotonic()
            if self.interrupted or (left <= 0 and found):
                break
            slot = start()
            if not slot:
                break
            slot = self._search.refine(
                self._settle(slot), seed=seed + at, budget_s=max(left, 0.0), fixed=fixed,
                keep_nodes=self.constraints.keep_nodes,
            )  # fmt: skip
            found[tuple(slot)] = self.candidate("optimised", slot)
            progress("objective", min(each.objective_s for each in found.values()))
        return sorted(found.values(), key=lambda candidate: candidate.objective_s)

    def _climb(
        self, start: list[int], estimator: Estimator, seed: int, end: float, progress: Progress
    ) -> list[int]:
        """Improve a placement by estimated predictions."""
        moves = Moves(self.slots.node, frozenset(self._fixed), self.constraints.keep_nodes)
        slot, self._stopped = climb(
            start, moves, lambda slots: estimator([self.placement(each, "optimised") for each in slots]),
            np.random.default_rng(seed), end, lambda time_s: progress("estimated", time_s),
        )  # fmt: skip
        return slot

    def run(
        self, judge: Judge, current: Placement | None = None, seed: int = 1, budget_s: float = 10.0, judged: int = 4,
        estimator: Estimator | None = None, progress: Progress = say_nothing, better: Better | None = None,
    ) -> list[Candidate]:  # fmt: skip
        """Judge the simple placements, the current one and the best found, by the objective.

        Args:
            judge: Predicts the program's time with a placement.
            current: The placement the program ran with, if it fits this machine.
            seed: Of the search; the same seed and enough budget give the same result.
            budget_s: Time for the search; judging comes on top.
            judged: How many of the placements found are judged.
            estimator: About the predicted times of many placements; if it is given and the objective is time, half of
                the budget goes into swaps that it is asked about.
            progress: Called with the best so far after each placement refined, estimated or judged.
            better: If it is given and the objective is time, asked whether the best is known to be better than the
                current placement, else the first of the simple ones; where it is not, that stays.

        Returns:
            The simple ones in their order, `current` if given, and last `optimised`, the best of all that the
            constraints allow: where the search finds nothing better than these, it is one of them. Before that,
            `found`: what has the least predicted time, where that is not known to be better than what stays. After
            Ctrl-C, those of them that were judged until then.

        Raises:
            RankwiseError: Ranks are to stay on their nodes, but nothing says which these are.
        """
        known = self.simple()
        if current is not None:
            known.append(self.candidate("current", self._settle(self.slots_of(current))))
        if self.constraints.keep_nodes:
            if current is None:
                raise RankwiseError(
                    "`--keep-nodes` needs a placement whose nodes are kept, and the recording has none on this machine",
                    "name it with `--current P.placement.json`",
                )
            kept = known[-1].placement.node
            known = [replace(each, allowed=bool(np.all(each.placement.node == kept))) for each in known]
        starts = [self.slots_of(candidate.placement) for candidate in known if candidate.allowed]
        end = time.monotonic() + budget_s
        by_time = estimator if self.objective == "time" else None
        found = self.optimise(starts, seed, budget_s / 2 if by_time else budget_s, progress)
        if by_time:
            found = self._by_estimate(
                [each for each in known if each.allowed], found, by_time, seed, end, progress
            )
        found = [*self._moved_together(found[:judged]), *found[:judged]]
        known, found = self._judge(known, found, judge, progress)
        self.judged = [*known, *found]
        stays = self._present(known)
        best = self._best([each for each in (*known, *found) if each.allowed], stays)
        if (
            better is None
            or self.objective != "time"
            or stays is None
            or not stays.makespan_s > best.makespan_s
        ):
            return [*known, replace(best, name="optimised")]
        if better(best.placement, stays.placement):
            return [*known, replace(best, name="optimised")]
        return [*known, replace(best, name="found"), replace(stays, name="optimised")]

    def _present(self, known: list[Candidate]) -> Candidate | None:
        """What needs no reason: where the program ran, else the first of the simple placements; if it may be chosen."""
        allowed = [each for each in known if each.allowed]
        return next((each for each in allowed if each.name == "current"), allowed[0] if allowed else None)

    def _best(self, allowed: list[Candidate], stays: Candidate | None) -> Candidate:
        """What has the least of the objective; of times that are not worth a change, the fewest and nearest nodes."""
        if self.objective != "time":
            return min(allowed, key=self._value)
        least = min(each.makespan_s for each in allowed)
        equal = [each for each in allowed if each.makespan_s <= least * (1 + WORTH_A_CHANGE)]

        def order(candidate: Candidate) -> tuple[int, bool, int, bool, float]:
            nodes = candidate.placement.node
            span = int(nodes.max(initial=0) - nodes.min(initial=0))
            named = candidate.name != "optimised"
            return len(np.unique(nodes)), candidate is not stays, span, not named, candidate.makespan_s

        return min(equal, key=order)

    def _moved_together(self, found: list[Candidate]) -> list[Candidate]:
        """Of placements that leave out nodes, the same on the first nodes, which are nearest to each other."""
        if self.constraints.keep_nodes or self._fixed:
            return []
        moved = []
        for each in found:
            used, node = np.unique(each.placement.node, return_inverse=True)
            if used[-1] + 1 == len(used):
                continue
            seats = zip(node.tolist(), map(each.placement.cores_of, range(self.ranks)), strict=True)
            slots = [slot for seat in seats if (slot := self._slot_of.get(seat)) is not None]
            if len(slots) == self.ranks:
                moved.append(self.candidate("optimised", slots))
        return moved

    def _judge(
        self, known: list[Candidate], found: list[Candidate], judge: Judge, progress: Progress
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Known and found placements with their predictions; Ctrl-C keeps those that have one."""
        first = next(at for at, each in enumerate(known) if each.allowed)
        # What was found comes early, so that Ctrl-C finds it judged, beside one that it is compared with.
        order = [known[first], *found, *known[:first], *known[first + 1 :]]
        judged: dict[int, Candidate] = {}
        try:
            for each in order:
                judged[id(each)] = replace(each, prediction=judge(each.placement))
                progress("predicted", min(some.makespan_s for some in judged.values()))
        except KeyboardInterrupt:
            if not judged:
                raise
            self._stopped = True
        known, found = ([judged[id(each)] for each in some if id(each) in judged] for some in (known, found))
        return known, found

    def _by_estimate(
        self,
        known: list[Candidate],
        found: list[Candidate],
        estimator: Estimator,
        seed: int,
        end: float,
        progress: Progress,
    ) -> list[Candidate]:
        """The placements found in the order of the estimate, first what swaps make of the best of all."""
        every = [*known, *found]
        times = estimator([each.placement for each in every])
        order = np.argsort(times, kind="stable")
        climbed = self._climb(self.slots_of(every[order[0]].placement), estimator, seed, end, progress)
        found = [every[at] for at in order if at >= len(known)]
        return [self.candidate("optimised", climbed), *found]

    def _value(self, candidate: Candidate) -> tuple[float, ...]:
        if self.objective == "time":
            return (candidate.makespan_s,)
        if self.objective == "network":
            return (candidate.busiest_interface_s, candidate.objective_s)
        return (candidate.objective_s,)
