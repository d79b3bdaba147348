# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks' time went, in parts that make the whole: names and numbers, the same in every view."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData, TimeParts

_ANOTHER = 0.01


@dataclass(frozen=True)
class Part:
    """One part of a rank's time.

    Attributes:
        key: Its column in `TimeParts`, without `_s`.
        name: What it is called.
        meaning: What it is, in one sentence.
        seconds: Of each rank, in the order of `report.ranks`.
    """

    key: str
    name: str
    meaning: str
    seconds: list[float]

    @property
    def mean_s(self) -> float:
        """Of the mean rank."""
        return sum(self.seconds) / len(self.seconds)


_UNKNOWN = (
    "On a core, in MPI or outside: without a trace, waiting for a core is known of ranks and not of calls."
)


def parts(report: ReportData) -> list[Part]:
    """In the order in which they are drawn; those that no rank has are left out. Empty without times."""
    time = report.time
    if time is None or not time.computation_s:
        return []
    split = time.why_not_split is None
    at_least = ", at least" if any(time.unattributed_s) else ""
    named = (
        ("computation", f"computation{at_least}", "Outside of MPI, on a core.", time.computation_s),
        ("core", "waiting for a core", "Ready to run, but no core was free.", time.core_s),
        (
            "waiting",
            "waiting for other ranks",
            "In MPI, before the other side had begun to send, or before the last rank had come.",
            time.waiting_s,
        ),
        ("transfer", "transfer", "In MPI, while the message was on its way.", time.transfer_s),
        (
            "other_mpi",
            "other MPI" if split else f"MPI{at_least}",
            "In MPI calls of which waiting is not told apart." if split else "In MPI, waiting included.",
            time.other_mpi_s,
        ),
        ("unattributed", "MPI or computation", _UNKNOWN, time.unattributed_s),
    )
    return [Part(*each) for each in named if any(each[3])]


def worst(report: ReportData, most: int) -> list[int]:
    """Places in the columns by rank, those first that computed for the least part of their time."""
    time = report.time
    if time is None:
        return []
    whole = report.ranks.time_s
    order = sorted(range(len(whole)), key=lambda at: (_share(time.computation_s[at], whole[at]), at))
    return order[:most]


def own_time(report: ReportData, time_s: float) -> str:
    """A rank's time, where it differs from that of the run by a hundredth; else the first line has it."""
    run_s = report.program.elapsed_s
    return seconds_text(time_s) if abs(time_s - run_s) > _ANOTHER * run_s else ""


def note(time: TimeParts) -> str | None:
    """Why waiting for other ranks is no part of its own; `None` where it is."""
    if time.why_not_split is None:
        return None
    return f"waiting for other ranks and transfer are not told apart: {time.why_not_split}"


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
