# SPDX-License-Identifier: BSD-3-Clause
"""The first screen: what ran, how long, what is missing."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title

_LABEL = 17
_MOST_GAPS = 6


def view(report: ReportData) -> list[RenderableType]:
    """Headline, command, circumstances, recording cost, gaps and notes."""
    parts: list[RenderableType] = [title(words.headline(report))]
    if report.program.command:
        parts.append(Text(words.command_text(report), no_wrap=True, overflow="ellipsis"))
    parts += [Text(words.circumstances(report)), Text("")]
    parts += _labelled("sent", [words.messages_and_bytes(report)])
    parts += _labelled("recording cost", [words.recording_cost(report)])
    if report.program.ending:
        parts += _labelled("ended", [report.program.ending.text], warn=True)
    missing = words.not_recorded(report)
    if len(missing) > _MOST_GAPS:
        missing = [*missing[:_MOST_GAPS], f"and {len(missing) - _MOST_GAPS} more, all in the HTML report"]
    parts += _labelled("not recorded", missing or ["nothing that MPI calls show is missing"], bool(missing))
    parts += _labelled("note", report.notes)
    return parts


def _labelled(label: str, lines: list[str], warn: bool = False) -> list[RenderableType]:
    found: list[RenderableType] = []
    for at, line in enumerate(lines):
        wrapped = textwrap.wrap(line, 79 - _LABEL, break_long_words=True) or [""]
        for piece in range(len(wrapped)):
            head = label if at == piece == 0 else ""
            text = Text(f"  {head:<{_LABEL - 2}}", style="yellow" if warn else "dim")
            found.append(text.append(wrapped[piece], style="default not dim"))
    return found
