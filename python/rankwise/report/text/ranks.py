# SPDX-License-Identifier: BSD-3-Clause
"""Share of the time in MPI, and waiting for a core, by rank: all of few ranks, the extremes of many."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.report.words import bounds_text, complete, percent, waited_for_cores

_ALL_UP_TO = 16
_EXTREMES = 4
_BAR = 40
_BAR_OF_PARTS = 46


def view(report: ReportData) -> list[RenderableType]:
    """A bar for each rank shown, and the mean."""
    ranks = report.ranks
    apart = waited_for_cores(report) and report.summary.mpi_on_core_share is not None
    parts_s = complete(ranks.runqueue_wait_s if apart else ranks.mpi_s)
    if not parts_s:
        return []
    shares = [part / time if time > 0 else 0.0 for part, time in zip(parts_s, ranks.time_s, strict=True)]
    order = sorted(range(len(shares)), key=shares.__getitem__)
    what = "Waiting for a core" if apart else "Time in MPI"
    heading = f"{what} by rank: mean {percent(sum(shares) / len(shares))}"
    if len(shares) > 1:
        low, high = order[0], order[-1]
        heading += f", {percent(shares[low])} (rank {ranks.rank[low]})"
        heading += f" to {percent(shares[high])} (rank {ranks.rank[high]})"
    parts: list[RenderableType] = [title(heading)]
    draw = _parts if apart else _bar
    if apart:
        legend = "█ in MPI ▒ waiting for a core ░ in MPI or not ─ outside"
        parts.append(Text(f"        {legend:<56}{'in MPI':>8}", style="dim"))
    if len(shares) <= _ALL_UP_TO:
        return parts + [draw(report, at, shares[at]) for at in range(len(shares))]
    parts += [draw(report, at, shares[at]) for at in order[:_EXTREMES]]
    parts.append(Text(f"        {len(shares) - 2 * _EXTREMES} ranks between"))
    return parts + [draw(report, at, shares[at]) for at in order[-_EXTREMES:]]


def _bar(report: ReportData, at: int, share: float) -> Text:
    filled = round(min(share, 1.0) * _BAR)
    text = Text(f"{report.ranks.rank[at]:>7} ")
    text.append("█" * filled, style="blue").append("─" * (_BAR - filled), style="dim")
    text.append(f" {percent(share):>7}  {seconds_text(report.ranks.mpi_s[at] or 0):>8}")
    return text.append("  partial" if report.ranks.partial[at] else "")


def _parts(report: ReportData, at: int, share: float) -> Text:
    """The four parts that make a rank's time, and what it was in MPI without waiting for a core."""
    ranks = report.ranks
    whole = ranks.time_s[at] or 1.0
    text = Text(f"{ranks.rank[at]:>7} ")
    end = 0.0
    for mark, style, part_s in (
        ("█", "blue", ranks.mpi_on_core_s[at]),
        ("▒", "yellow", ranks.runqueue_wait_s[at]),
        ("░", "dim", ranks.unattributed_s[at]),
        ("─", "dim", ranks.compute_on_core_s[at]),
    ):
        begin, end = end, end + (part_s or 0) / whole * _BAR_OF_PARTS
        text.append(mark * (round(end) - round(begin)), style=style)
    text.pad_right(_BAR_OF_PARTS + 8 - len(text))
    least_s = ranks.mpi_on_core_s[at] or 0
    most_s = least_s + (ranks.unattributed_s[at] or 0)
    text.append(f" {percent(share):>7}  {bounds_text(least_s / whole, most_s / whole):>8}")
    return text.append(" partial" if ranks.partial[at] else "")
