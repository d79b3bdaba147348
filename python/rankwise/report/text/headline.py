# SPDX-License-Identifier: BSD-3-Clause
"""Above all: what ran, how long, how it ended, what is missing."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title

_MOST_GAPS = 3
_WIDTH = 79


def view(report: ReportData) -> list[RenderableType]:
    """The program, and whether the recording is complete."""
    ending, missing = report.program.ending, words.not_recorded(report)
    line = words.first_line(report) + (f"; {ending.brief}" if ending else "")
    parts: list[RenderableType] = [title(each) for each in textwrap.wrap(line, _WIDTH)]
    if ending:
        parts += _lines([f"Ended before MPI_Finalize: {ending.text}"], "  ")
    if missing:
        parts += _lines(["Not in this recording:"], "  ")
        parts += _lines(missing[:_MOST_GAPS], "    ")
        if more := len(missing) - _MOST_GAPS:
            parts += _lines([f"{more} more: `--section context`"] if more > 0 else [], "    ")
    elif not ending:
        parts += _lines([words.complete_text(report)], "  ", "dim")
    return parts


def _lines(sentences: list[str], indent: str, style: str = "yellow") -> list[RenderableType]:
    return [
        Text(line, style=style)
        for each in sentences
        for line in textwrap.wrap(each, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    ]
