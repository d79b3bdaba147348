# SPDX-License-Identifier: BSD-3-Clause
"""Command, circumstances, what recording cost, all that is missing, and what to know about the numbers."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title

_LABEL = 17


def view(report: ReportData) -> list[RenderableType]:
    """The program's line first, then what is said of it."""
    nothing = "nothing else" if report.program.ending else f"nothing: {words.COMPLETE}"
    missing = words.not_recorded(report) or [nothing]
    parts: list[RenderableType] = [title("Context")]
    parts += [Text(f"  {line}") for line in textwrap.wrap(words.headline(report), 77)]
    if report.program.command:
        # Whole, as it may be copied from here.
        parts.append(Text(f"  {words.command_text(report)}", no_wrap=False, overflow="fold"))
    parts += [Text(f"  {line}") for line in textwrap.wrap(words.circumstances(report), 77)]
    parts += _labelled("sent", [words.messages_and_bytes(report)])
    parts += _labelled("recording cost", [words.recording_cost(report)])
    parts += _labelled("missing", missing)
    return parts + _labelled("note", report.notes)


def _labelled(label: str, lines: list[str]) -> list[RenderableType]:
    found: list[RenderableType] = []
    for at, line in enumerate(lines):
        for piece, text in enumerate(textwrap.wrap(line, 79 - _LABEL) or [""]):
            head = label if at == piece == 0 else ""
            shown = Text(f"  {head:<{_LABEL - 2}}", style="dim")
            found.append(shown.append(text, style="default not dim"))
    return found
