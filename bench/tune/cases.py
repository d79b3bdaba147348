# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose best mapping is known, and the ways to run each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program of two ranks on two processing units, one of which loses a part of its time to other work.

    Attributes:
        name: In tables.
        what: A sentence for the page.
        work: Units that each rank computes in an iteration.
        phase_s: After so long the amounts change places; 0 for never.
        load: Part of the first processing unit that is taken.
        message_bytes: What the ranks exchange in an iteration.
    """

    name: str
    what: str
    work: tuple[int, int]
    phase_s: float
    load: float
    message_bytes: int = 1024

    def words(self, seconds: float) -> list[str]:
        """What the program is called with."""
        return [str(seconds), str(self.phase_s), str(self.message_bytes), *map(str, self.work)]


CASES = [
    Case(
        "one busy rank",
        "rank 0 computes all of the time, rank 1 a third of it and waits else; a core loses 40 % of its time, as the "
        "interrupt core under GROMACS does in Narayanaswamy, Balaji & Feng (2007), section 6",
        (150, 50),
        0,
        0.4,
    ),
    Case(
        "phases",
        "the same, but the ranks change their parts every six seconds: no static mapping suits all of it",
        (150, 50),
        6,
        0.4,
    ),
    Case(
        "nothing to gain",
        "both ranks compute the same, no core loses anything: whoever moves ranks here can only lose",
        (100, 100),
        0,
        0.0,
    ),
]

# Name: PUs of the ranks, as numbers of the two that are used; none: the kernel's choice.
MAPPINGS: dict[str, tuple[int, int] | None] = {
    "busy rank on the loaded core": (0, 1),
    "waiting rank on the loaded core": (1, 0),
    "the kernel alone": None,
}
