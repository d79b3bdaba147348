# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies as a tree with bars."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.findings.efficiency import Efficiency
from rankwise.report import efficiency_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title

_NAME, _BAR = 28, 20


def view(report: ReportData) -> list[RenderableType]:
    """Of the run, if its times are known."""
    parts = [] if report.efficiency is None else section(report.efficiency)
    if report.transfer_split is not None:
        parts += _wrapped(words.split_sentences(report.transfer_split))
    return parts


def section(found: Efficiency) -> list[RenderableType]:
    """A line for each factor, those of which it is the product below it."""
    parts: list[RenderableType] = [title("Efficiency")]
    for factor in words.factors(found):
        name = "  " * factor.depth + factor.name
        bar = "#" * round(_BAR * min(factor.value or 0.0, 1.0))
        value = "-" if factor.value is None else f"{factor.value:.2f}"
        parts.append(Text(f"  {name:<{_NAME}}{value:>5}  {bar}".rstrip()))
    return parts + _wrapped(words.sentences(found))


def _wrapped(lines: list[str]) -> list[RenderableType]:
    return [Text(f"  {each}") for line in lines for each in textwrap.wrap(line, 76)]
