# SPDX-License-Identifier: BSD-3-Clause
"""Where MPI time goes, by function."""

from __future__ import annotations

from rich.console import RenderableType

from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.report.data import Call, ReportData
from rankwise.report.text.tables import table
from rankwise.report.words import percent

_SHOWN = 10


def view(report: ReportData) -> list[RenderableType]:
    """The functions with the most time."""
    ranks = max(len(report.ranks.rank), 1)
    if any(call.time_s is None for call in report.calls):
        return _counted(report.calls)
    inside = [call for call in report.calls if call.share is not None]
    rows = [_row(call, ranks) for call in inside[:_SHOWN]]
    rest = inside[_SHOWN:]
    if rest:
        total, count = sum(call.time_s or 0 for call in rest), sum(call.count for call in rest)
        share = percent(sum(call.share or 0 for call in rest))
        rows.append((f"  {len(rest)} others", seconds_text(total / ranks), share, count_text(count), "", ""))
    # Starting and ending MPI is no part of the run.
    rows += [_row(call, ranks) for call in report.calls if call.share is None and call.time_s]
    if not rows:
        return []
    headings = ("Where MPI time goes", "time a rank", "of run", "calls", "bytes", "longest")
    return [table(headings, rows)]


def _counted(calls: list[Call]) -> list[RenderableType]:
    """Without times: the functions called most."""
    rows = [
        (f"  {call.call}", count_text(call.count), bytes_text(call.bytes) if call.bytes else "-")
        for call in calls[:_SHOWN]
    ]
    if rest := calls[_SHOWN:]:
        rows.append((f"  {len(rest)} others", count_text(sum(call.count for call in rest)), ""))
    return [table(("What was called, not timed", "calls", "bytes"), rows)]


def _row(call: Call, ranks: int) -> tuple[str, ...]:
    return (
        f"  {call.call}",
        seconds_text((call.time_s or 0) / ranks),
        percent(call.share),
        count_text(call.count),
        bytes_text(call.bytes) if call.bytes else "-",
        seconds_text(call.max_s or 0),
    )
