# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations by size, and the messages their algorithms make of them."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import count_text
from rankwise.report.data import Collective, ReportData
from rankwise.report.text.tables import table
from rankwise.report.words import (
    argument_text,
    collectives_notes,
    mean_call,
    percent,
    range_text,
    sizes_text,
)

_SHOWN = 8
_ALGORITHM = 18
_WIDTH = 76


def view(report: ReportData) -> list[RenderableType]:
    """The operations with the most time."""
    if not report.collectives:
        return []
    rows = [row for each in report.collectives[:_SHOWN] for row in _rows(each)]
    if len(report.collectives) > _SHOWN:
        rows.append((f"  {len(report.collectives) - _SHOWN} others", *[""] * 7))
    headings = ("Collectives", "algorithm", "ranks", "argument", "calls", "a call", "of run", "messages")
    notes = [f"  {line}" for note in collectives_notes(report) for line in textwrap.wrap(note, _WIDTH)]
    return [table(headings, rows, left=(0, 1), gap=1), *map(Text, notes)]


def _rows(each: Collective) -> list[tuple[str, ...]]:
    """An operation, and below it its calls by size where they are of several."""
    found: list[tuple[str, ...]] = [
        (
            f"  {each.call.removeprefix('MPI_')}",
            _fit((each.algorithm or "not expanded").replace("_", " ")),
            sizes_text(each),
            argument_text(each),
            count_text(each.calls),
            mean_call(each),
            percent(each.share),
            count_text(each.messages),
        )
    ]
    for size in each.sizes if len(each.sizes) > 1 else []:
        text = (range_text(size), count_text(size.calls), mean_call(size), percent(size.share), "")
        found.append(("", "", "", *text))
    return found


def _fit(name: str) -> str:
    return name if len(name) <= _ALGORITHM else name[: _ALGORITHM - 1] + "…"
