# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies as a tree with bars."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.findings.data import Efficiency
from rankwise.report import efficiency_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.sentences import uncapital

_NAME, _BAR = 28, 40


def first(report: ReportData) -> list[RenderableType]:
    """Of the run, if its times are known."""
    if report.efficiency is None:
        lines = _wrapped(["not known: the recording has no times; record without `--counts`"])
        return [title("Efficiency"), *lines]
    return section(report.efficiency)


def view(report: ReportData) -> list[RenderableType]:
    """The same with what each means, and what transfer is lost to."""
    parts = first(report)
    if report.efficiency is not None:
        parts += _wrapped(
            [f"{each.name}: {uncapital(each.meaning)}" for each in words.factors(report.efficiency)]
        )
    if report.transfer_split is not None:
        parts += _wrapped(words.split_sentences(report.transfer_split))
    return parts


def section(found: Efficiency) -> list[RenderableType]:
    """A line for each factor, those of which it is the product below it."""
    parts: list[RenderableType] = [title("Efficiency"), *_wrapped([words.PRODUCT])]
    factors = words.factors(found)
    width, bar = (5, _BAR) if all(factor.between is None for factor in factors) else (9, _BAR - 4)
    for factor in factors:
        name = "  " * factor.depth + factor.name
        least, most = factor.between or (factor.value or 0.0, factor.value or 0.0)
        line, style = (
            Text(f"  {name:<{_NAME}}{factor.text:>{width}}  "),
            "yellow" if words.is_low(factor) else "blue",
        )
        sure = round(bar * min(least, 1.0))
        line.append("█" * sure, style).append("░" * (round(bar * min(most, 1.0)) - sure), style)
        parts.append(line)
    return parts + _wrapped(words.sentences(found))


def _wrapped(lines: list[str]) -> list[RenderableType]:
    return [
        Text(each)
        for line in lines
        for each in textwrap.wrap(line, 79, initial_indent="  ", subsequent_indent="    ")
    ]
