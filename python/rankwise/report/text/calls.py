# SPDX-License-Identifier: BSD-3-Clause
"""Where MPI time goes, by function."""

from __future__ import annotations

from rich.console import RenderableType

from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import table
from rankwise.report.words import percent

_SHOWN = 10


def view(report: ReportData) -> list[RenderableType]:
    """The functions with the most time."""
    ranks = max(len(report.ranks.rank), 1)
    shown = report.calls[:_SHOWN]
    rows = [
        (
            f"  {call.call}",
            seconds_text(call.time_s / ranks),
            percent(call.share),
            count_text(call.count),
            bytes_text(call.bytes) if call.bytes else "-",
            seconds_text(call.max_s),
        )
        for call in shown
    ]
    rest = report.calls[_SHOWN:]
    if rest:
        total, count = sum(call.time_s for call in rest), sum(call.count for call in rest)
        share = sum(call.share or 0 for call in rest)
        rows.append(
            (f"  {len(rest)} others", seconds_text(total / ranks), percent(share), count_text(count), "", "")
        )
    if not rows:
        return []
    headings = ("Where MPI time goes", "time a rank", "of run", "calls", "bytes", "longest")
    return [table(headings, rows)]
