# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose best mapping is known, and the ways to run each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

BOUND, SWAPPED, KERNEL = "busy rank on the loaded core", "waiting rank on the loaded core", "the kernel alone"
ON_IRQ, BESIDE_IRQ = "computing rank on the interrupt core", "receiving rank on the interrupt core"
EVEN = "a core each"


@dataclass(frozen=True)
class Way:
    """One way to run a case.

    Attributes:
        mapping: Name of the mapping that it begins with.
        tuned: Under `rankwise tune`.
        tool: Name of the other tool that runs meanwhile.
    """

    mapping: str
    tuned: bool = False
    tool: str | None = None

    @property
    def name(self) -> str:
        """In tables."""
        if self.tool:
            return f"{self.tool} and the kernel"
        return f"rankwise tune, from: {self.mapping}" if self.tuned else self.mapping


@dataclass(frozen=True)
class Case:
    """A program of two ranks that may change places on two processing units.

    Attributes:
        name: In tables.
        what: A sentence for the page.
        seconds: Of a run, with the default of `--seconds`.
        mappings: Name: units of the ranks, as numbers of the two that are used; `None` binds none.
        tuned_from: Mappings that `rankwise tune` begins with.
        work: Units of some 10 us that each rank computes in an iteration.
        phase_s: After so long the amounts change places; 0 for never.
        load: Part of the first processing unit that a real-time process takes.
        messages: That a rank of another node sends to rank 1 in an iteration; with any, the case is of a lab.
        message_bytes: Of each, or of what ranks exchange in an iteration.
    """

    name: str
    what: str
    seconds: float
    mappings: dict[str, tuple[int, int] | None]
    tuned_from: tuple[str, ...]
    work: tuple[int, int]
    phase_s: float = 0
    load: float = 0
    messages: int = 0
    message_bytes: int = 1024
    tools: tuple[str, ...] = field(default=("irqbalance", "numad"))

    def ways(self) -> Iterator[Way]:
        """All of them; other tools begin with what the kernel chooses."""
        yield from (Way(name) for name in self.mappings)
        yield from (Way(KERNEL, tool=tool) for tool in self.tools)
        yield from (Way(name, tuned=True) for name in self.tuned_from)

    @property
    def static(self) -> list[str]:
        """Mappings that stay."""
        return [name for name, pus in self.mappings.items() if pus is not None]


_LOADED: dict[str, tuple[int, int] | None] = {BOUND: (0, 1), SWAPPED: (1, 0), KERNEL: None}

CASES = [
    Case(
        "one busy rank",
        "rank 0 computes all of the time. Rank 1 computes for a third of it, and waits for the rest; a core loses 40 % "
        "of its time, as the interrupt core does under GROMACS in Narayanaswamy, Balaji and Feng (2007), section 6.1",
        16,
        _LOADED,
        (BOUND, SWAPPED, KERNEL),
        (150, 50),
        load=0.4,
    ),
    Case(
        "phases",
        "the same, but the ranks change their parts every six seconds: no static mapping suits all of it",
        36,
        _LOADED,
        (BOUND,),
        (150, 50),
        phase_s=6,
        load=0.4,
    ),
    Case(
        "nothing to gain",
        "both ranks compute the same, and no core loses anything: whoever moves ranks can only lose",
        8,
        {EVEN: (0, 1), KERNEL: None},
        (EVEN, KERNEL),
        (100, 100),
    ),
    Case(
        "interrupt core of a lab",
        "two nodes are emulated ([lab](lab.md), `--irq-core 0`): real TCP, whose packets the kernel takes "
        "in on core 0 of "
        "each. Rank 0 computes; rank 1 beside it receives what rank 2 on the other node sends, then meets rank 0. "
        "The tuner is a daemon inside the node; irqbalance and numad run outside, beside the machine's own interrupts "
        "and memory. The emulated switch runs on core 0, too, and rank 2 on core 0 of its node: one PU of this machine "
        "does all that the network asks for. To the tuner, what rank 2 takes of it is another process's time",
        18,
        {ON_IRQ: (0, 1), BESIDE_IRQ: (1, 0), KERNEL: None},
        (ON_IRQ, BESIDE_IRQ),
        (300, 0),
        # Few enough that the best mapping's rate is what rank 0 computes: where the network limits it, rates of one
        # mapping differ by 10 % from run to run.
        messages=70,
        message_bytes=1400,
    ),
]
