# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations, and the messages their algorithms make of them."""

from __future__ import annotations

from rich.console import RenderableType

from rankwise.quantities import count_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import table
from rankwise.report.words import argument_text, percent, sizes_text

_SHOWN = 8
_ALGORITHM = 20


def view(report: ReportData) -> list[RenderableType]:
    """The operations with the most time."""
    if not report.collectives:
        return []
    rows = [
        (
            f"  {each.call.removeprefix('MPI_')}",
            _fit((each.algorithm or "not expanded").replace("_", " ")),
            sizes_text(each),
            argument_text(each),
            count_text(each.calls),
            percent(each.share),
            count_text(each.messages),
        )
        for each in report.collectives[:_SHOWN]
    ]
    if len(report.collectives) > _SHOWN:
        rows.append((f"  {len(report.collectives) - _SHOWN} others", "", "", "", "", "", ""))
    headings = ("Collectives", "algorithm", "ranks", "argument", "calls", "of run", "messages")
    return [table(headings, rows, left=(0, 1))]


def _fit(name: str) -> str:
    return name if len(name) <= _ALGORITHM else name[: _ALGORITHM - 1] + "…"
