# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import table, title
from rankwise.report.words import (
    CORE_BOUNDS,
    clocks_text,
    cores_apart,
    known_calls,
    not_split_texts,
    unsplit_text,
    waited_most,
    waiting_shares,
)

_SHOWN = 6


def view(report: ReportData) -> list[RenderableType]:
    """The functions with the most time in calls that can wait for others, and what the clocks are worth."""
    found = report.waiting
    if found is None or (found.why_not is None and not (found.calls or found.unsplit or found.not_split)):
        return []
    heading = "Waiting and transferring"
    if found.why_not is not None:
        return [title(heading), Padding(f"not told apart: {found.why_not}", (0, 0, 0, 2))]
    ranks = max(len(report.ranks.rank), 1)
    rows = [
        (
            f"  {call.call}",
            seconds_text(call.time_s / ranks),
            *waiting_shares(found, call),
            "{} (rank {})".format(*waited_most(call)) if call.most_s else "-",
        )
        for call in known_calls(found)[:_SHOWN]
    ]
    headings = [heading, "time a rank", "waiting", "transferring", "waited most"]
    lines = [unsplit_text(call) for call in found.unsplit[:_SHOWN]] + not_split_texts(found, ranks)
    if found.calls or found.unsplit:
        lines.append(clocks_text(found))
    parts: list[RenderableType] = [title(heading)]
    if rows and cores_apart(found):
        # One column more, and numbers with bounds: the title has no place beside them.
        parts.append(table(("", "a rank", "waiting", "transfer", "for a core", "waited most"), rows, gap=1))
        lines.append(CORE_BOUNDS)
    elif rows:
        parts = [table(headings, rows)]
    return parts + [Padding(line, (0, 0, 0, 2)) for line in lines]
