# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks' time went, in parts that make the whole."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import FIRST_RANKS
from rankwise.report import time_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.report.words import percent
from rankwise.sentences import uncapital

# Of each part, what it is drawn with.
_DRAWN = {
    "computation": ("█", "blue"),
    "core": ("▓", "magenta"),
    "waiting": ("░", "yellow"),
    "transfer": ("=", "green"),
    "other_mpi": ("▒", "cyan"),
    "unattributed": ("?", "dim"),
}
_NAME, _BAR, _WIDTH = 11, 56, 79


def first(report: ReportData) -> list[RenderableType]:
    """A bar of the mean rank, below it the ranks that computed for the least part of their time."""
    parts: list[RenderableType] = [title("Time")]
    found = words.parts(report)
    if not found or report.time is None:
        return [*parts, Text("  not known: the recording has no times; record without `--counts`")]
    whole_s = report.ranks.time_s
    mean_s = sum(whole_s) / len(whole_s)
    parts += _legend(found, mean_s)
    own = words.own_time(report, mean_s)
    parts.append(_bar("mean rank", found, [part.mean_s for part in found], mean_s, own))
    for at in words.worst(report, min(FIRST_RANKS, len(whole_s) - 1)):
        seconds = [part.seconds[at] for part in found]
        own = words.own_time(report, whole_s[at])
        parts.append(_bar(f"rank {report.ranks.rank[at]}", found, seconds, whole_s[at], own))
    if len(whole_s) > 1:
        parts.append(Text("  below the mean: the ranks that computed for the least part of their time"))
    return parts + _wrapped([note] if (note := words.note(report.time)) else [])


def view(report: ReportData) -> list[RenderableType]:
    """The same with what each part is."""
    return first(report) + _wrapped(
        [f"{part.name}: {uncapital(part.meaning)}" for part in words.parts(report)]
    )


def _legend(found: Sequence[words.Part], mean_s: float) -> list[RenderableType]:
    """What each part is drawn with, and its share of the mean rank; no entry is broken."""
    lines: list[Text] = []
    for part in found:
        mark, style = _DRAWN[part.key]
        name = f" {part.name} {percent(part.mean_s / mean_s if mean_s > 0 else None)}"
        if not lines or len(lines[-1]) + 3 + len(name) > _WIDTH:
            lines.append(Text(" "))
        lines[-1].append(" " if lines[-1].plain == " " else "  ").append(mark, style=style).append(name)
    return [*lines]


def _bar(name: str, found: Sequence[words.Part], seconds: Sequence[float], whole_s: float, own: str) -> Text:
    text = Text(f"  {name:<{_NAME}}")
    begin, end_s = 0, 0.0
    for part, part_s in zip(found, seconds, strict=True):
        mark, style = _DRAWN[part.key]
        end_s += part_s
        end = min(round(end_s / whole_s * _BAR), _BAR) if whole_s > 0 else 0
        text.append(mark * (end - begin), style=style)
        begin = max(begin, end)
    return text.append(f"{own:>{_BAR - begin + 10}}") if own else text


def _wrapped(sentences: Sequence[str]) -> list[RenderableType]:
    return [
        Text(line)
        for each in sentences
        for line in textwrap.wrap(each, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    ]
