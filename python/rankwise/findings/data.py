# SPDX-License-Identifier: BSD-3-Clause
"""What is told of a run, as data that views show: nothing here computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rankwise.explain.loss import Loss

Source = Literal["trace", "clock"]

Convention = Literal["dimemas", "scalasca"]
"""Ideal time by replay on an ideal network, or the run's own without what calls took to transfer."""

PatternKind = Literal[
    "none",
    "all-to-all",
    "groups-all-to-all",
    "pairs",
    "separate-groups",
    "nearest-neighbour",
    "power-of-two",
    "star",
    "tree",
    "groups-with-boundary",
    "irregular",
]


@dataclass(frozen=True)
class Efficiency:
    """How well a run used its cores; 1 is best, and below 0.8 something is worth fixing (POP).

    Attributes:
        ranks: How many.
        elapsed_s: Run time: the longest of any rank, from MPI_Init to MPI_Finalize.
        useful_mean_s: Computation (`Computation.seconds`), mean of the ranks.
        useful_max_s: Of the rank where it is most.
        parallel: Load balance x communication.
        load_balance: In nodes x between nodes.
        load_balance_in_nodes: Of the node whose ranks compute most: its mean over the most of any rank.
        load_balance_between_nodes: Mean of the nodes over the most of them.
        communication: Serialisation x transfer.
        serialisation: `None` where the ideal time is not known.
        transfer: Likewise. More than 1 where the replay is slower than the run.
        ideal_s: Run time on an ideal network.
        why_no_ideal: Why that is not known.
        convention: Whose ideal time it is (`Convention`).
        core_waiting: Part of the ranks' time in which they waited for a core: it is in `transfer`; `None` where it is
            not known.
        by: What useful time is told from (`Computation.by`). Runs whose useful time is told in two ways are not
            comparable.
        between: By name of an attribute, the least and the most that it can be, where ranks waited for a core and may
            have done so inside MPI or outside; what the attribute itself has is of the most useful time then.
    """

    ranks: int
    elapsed_s: float
    useful_mean_s: float
    useful_max_s: float
    parallel: float
    load_balance: float
    load_balance_in_nodes: float
    load_balance_between_nodes: float
    communication: float
    serialisation: float | None = None
    transfer: float | None = None
    ideal_s: float | None = None
    why_no_ideal: str | None = None
    core_waiting: float | None = None
    convention: Convention = "dimemas"
    by: Source = "clock"
    between: dict[str, tuple[float, float]] = field(default_factory=dict)

    def is_open(self, name: str) -> bool:
        """Whether an attribute may have several values that differ by what is shown of them, a hundredth."""
        least, most = self.between.get(name, (0.0, 0.0))
        return f"{least:.2f}" != f"{most:.2f}"


@dataclass(frozen=True)
class Pattern:
    """What pattern the messages have.

    Attributes:
        kind: Which.
        words: The same for people, with sizes.
        evidence: What it is told from, a sentence each.
        confidence: `high` where nothing is missing of the pattern, and nothing but weak messages is beside it.
        grid: Extents of the grid of ranks, slowest first; empty where there is none.
        blocked: Part of the bytes that go between nodes if ranks fill one node after the other; `None` where the nodes
            are not known, or hold all ranks.
        cyclic: The same with ranks distributed over the nodes in turn.
    """

    kind: PatternKind
    words: str
    evidence: list[str]
    confidence: Literal["high", "medium"]
    grid: list[int]
    blocked: float | None = None
    cyclic: float | None = None

    @property
    def favours(self) -> str | None:
        """Allocation with fewer bytes between nodes: `blocked`, `cyclic` or `neither`; `None` if that is not known."""
        if self.blocked is None or self.cyclic is None:
            return None
        if abs(self.blocked - self.cyclic) < 0.02:
            return "neither"
        return "blocked" if self.blocked < self.cyclic else "cyclic"

    def lines(self) -> list[str]:
        """All of it for people, a sentence each."""
        lines = [self.words, *self.evidence]
        if self.blocked is not None and self.cyclic is not None:
            choice = (
                "neither is better" if self.favours == "neither" else f"{self.favours} keeps more on a node"
            )
            lines.append(
                f"between nodes go {self.blocked * 100:.0f} % of these bytes if ranks are placed blocked, "
                f"{self.cyclic * 100:.0f} % if cyclic: {choice}"
            )
        return lines


@dataclass(frozen=True)
class TransferSplit:
    """The transfer efficiency taken apart, by replays with one thing free each.

    Attributes:
        makespan_s: Predicted run time as it ran.
        losses: What the run would save if a channel (or its latency, bytes or overhead), or a resource that ranks
            share, were free; the largest first. They do not add up: two that hide each other lose nothing each.
        placement_s: What the best placement found saves; `None` if none could be searched for.
        why_no_placement: Why not.
    """

    makespan_s: float
    losses: list[Loss]
    placement_s: float | None
    why_no_placement: str | None = None
