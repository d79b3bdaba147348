# SPDX-License-Identifier: BSD-3-Clause
"""Share of the time in MPI by rank: all of few ranks, the extremes of many."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.report.words import percent

_ALL_UP_TO = 16
_EXTREMES = 4
_BAR = 40


def view(report: ReportData) -> list[RenderableType]:
    """A bar for each rank shown, and the mean."""
    ranks = report.ranks
    if None in ranks.mpi_s:
        return []
    shares = [mpi / time if time > 0 else 0.0 for mpi, time in zip(ranks.mpi_s, ranks.time_s, strict=True)]
    if not shares:
        return []
    order = sorted(range(len(shares)), key=shares.__getitem__)
    mean = sum(shares) / len(shares)
    low, high = order[0], order[-1]
    heading = f"Time in MPI by rank: mean {percent(mean)}"
    if len(shares) > 1:
        heading += f", from {percent(shares[low])} (rank {ranks.rank[low]})"
        heading += f" to {percent(shares[high])} (rank {ranks.rank[high]})"
    parts: list[RenderableType] = [title(heading)]
    if len(shares) <= _ALL_UP_TO:
        return parts + [_bar(report, at, shares[at]) for at in range(len(shares))]
    parts += [_bar(report, at, shares[at]) for at in order[:_EXTREMES]]
    parts.append(Text(f"        {len(shares) - 2 * _EXTREMES} ranks between"))
    return parts + [_bar(report, at, shares[at]) for at in order[-_EXTREMES:]]


def _bar(report: ReportData, at: int, share: float) -> Text:
    filled = round(min(share, 1.0) * _BAR)
    text = Text(f"{report.ranks.rank[at]:>7} ")
    text.append("█" * filled, style="blue").append("─" * (_BAR - filled), style="dim")
    text.append(f" {percent(share):>7}  {seconds_text(report.ranks.mpi_s[at]):>8}")
    return text.append("  partial" if report.ranks.partial[at] else "")
