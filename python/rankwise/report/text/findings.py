# SPDX-License-Identifier: BSD-3-Clause
"""What to fix, ranked, with what it costs and a command to paste."""

from __future__ import annotations

import shlex
import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import counted
from rankwise.report import FIRST_FINDINGS
from rankwise.report import finding_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title

_WIDTH = 79


def first(report: ReportData) -> list[RenderableType]:
    """Those that cost most: each with what to do and a command."""
    found = report.findings
    parts: list[RenderableType] = [title("What to fix")]
    for at, finding in enumerate(found[:FIRST_FINDINGS], 1):
        parts += _wrapped(words.headline(report, finding), f"  {at}. ")
        parts += _wrapped(f"do: {finding.do}", "     ")
        parts += _command(finding.command or f"rankwise explain {finding.name}")
    if not found:
        parts += _wrapped(words.nothing(report), "  ")
    more = [f"{len(found) - FIRST_FINDINGS} more, which cost less"] if len(found) > FIRST_FINDINGS else []
    if report.not_looked_for:
        more.append(f"{counted(len(report.not_looked_for), 'kind')} of findings not looked for")
    return parts + (_wrapped(f"{', '.join(more)}: `--section fix`", "  ") if more else [])


def view(report: ReportData) -> list[RenderableType]:
    """All of them with evidence, and what was not looked for."""
    parts: list[RenderableType] = [title("What to fix")]
    for at, finding in enumerate(report.findings, 1):
        parts += _wrapped(words.headline(report, finding), f"  {at}. ")
        for line in words.details(finding):
            parts += _wrapped(line, "     ")
        if finding.command:
            parts += _command(finding.command)
    for line in words.closing(report):
        parts += _wrapped(line, "  ")
    return parts


def _wrapped(text: str, begin: str) -> list[RenderableType]:
    lines = textwrap.wrap(
        text, _WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin), break_on_hyphens=False
    )
    return [Text(line) for line in lines]


def _command(command: str) -> list[RenderableType]:
    """To paste: lines end in a backslash, and a word is never broken."""
    lines = [" " * 4]
    for word in (word if word == "&&" else shlex.quote(word) for word in shlex.split(command)):
        if len(lines[-1]) + len(word) > _WIDTH - 3 and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(" " * 6)
        lines[-1] += f" {word}"
    return [Text(line, no_wrap=True, overflow="ignore") for line in lines]
