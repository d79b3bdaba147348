# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import table, title
from rankwise.report.words import clocks_text, percent

_SHOWN = 6


def view(report: ReportData) -> list[RenderableType]:
    """The functions with the most time in calls that can wait for others, and what the clocks are worth."""
    found = report.waiting
    if found is None or (found.why_not is None and not found.calls):
        return []
    heading = "Waiting and transferring"
    if found.why_not is not None:
        return [title(heading), Padding(f"not told apart: {found.why_not}", (0, 0, 0, 2))]
    ranks = max(len(report.ranks.rank), 1)
    rows = [
        (
            f"  {call.call}",
            seconds_text(call.time_s / ranks),
            percent(call.waiting_s / call.time_s if call.time_s else None),
            percent(1 - call.waiting_s / call.time_s if call.time_s else None),
            f"{seconds_text(call.most_s)} (rank {call.most_rank})",
        )
        for call in found.calls[:_SHOWN]
    ]
    shown = table((heading, "time a rank", "waiting", "transferring", "waited most"), rows)
    return [shown, Padding(f"{clocks_text(found)}", (0, 0, 0, 2))]
