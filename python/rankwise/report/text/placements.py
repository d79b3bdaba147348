# SPDX-License-Identifier: BSD-3-Clause
"""The run predicted with its ranks where they ran and elsewhere: times, and what they lose most to."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import bytes_text, seconds_text
from rankwise.report.data import ReportData
from rankwise.report.predicted import words
from rankwise.report.text.tables import table

_MOST_LOSSES = 3
_HEADINGS = ("Placements compared", "predicted", "at least", "at most", "change", "between nodes")


def first(report: ReportData) -> list[RenderableType]:
    """Predicted times with their intervals, or why there are none; nothing without a machine."""
    return _compared(report, losses=False) if report.predicted else []


def view(report: ReportData) -> list[RenderableType]:
    """The same with what is lost, or the bytes between nodes where no times are predicted."""
    return _compared(report, losses=True)


def _compared(report: ReportData, losses: bool) -> list[RenderableType]:
    between = words.between_nodes(report)
    known, ran_s = words.known(report), words.ran_s(report)
    if report.predicted is None and len(between) < 2:
        return []
    if not known:
        rows = [(f"  {name}", bytes_text(size)) for name, size in between.items()]
        parts: list[RenderableType] = [table((_HEADINGS[0], _HEADINGS[-1]), rows)]
    else:
        parts = [
            table(
                _HEADINGS,
                [
                    (
                        f"  {each.name}",
                        seconds_text(each.time_s or 0.0),
                        _time(each.low_s),
                        _time(each.high_s),
                        words.change_text(each, ran_s),
                        bytes_text(between[each.name]) if each.name in between else "-",
                    )
                    for each in known
                ],
            )
        ]
    for each in known if losses else []:
        if lost := words.largest_losses(each)[:_MOST_LOSSES]:
            said = "; ".join(f"{name} {seconds_text(lost_s)} ({share})" for name, lost_s, share in lost)
            parts += _wrapped(f"{each.name} loses most to: {said}")
    if report.predicted:
        parts += [line for each in words.notes(report.predicted) for line in _wrapped(each)]
    return parts


def _time(value: float | None) -> str:
    return "-" if value is None else seconds_text(value)


def _wrapped(text: str) -> list[RenderableType]:
    lines = textwrap.wrap(text, 78, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return [Text(line, style="dim") for line in lines]
