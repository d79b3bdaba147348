# SPDX-License-Identifier: BSD-3-Clause
"""The report in the terminal: 80 columns, one view a file, each a function `view(report) -> renderables`."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from rankwise.report.data import ReportData
from rankwise.report.text import (
    call_sites,
    calls,
    collectives,
    distribution,
    efficiency,
    findings,
    headline,
    matrix,
    network,
    ranks,
    tuning,
    use,
    waiting,
)

VIEWS = (
    headline.view,
    findings.view,
    efficiency.view,
    ranks.view,
    calls.view,
    call_sites.view,
    waiting.view,
    network.view,
    collectives.view,
    use.view,
    tuning.view,
    matrix.view,
    distribution.view,
)
# What `--section` shows alone, with all that there is room for.
SECTIONS = {"use": use.whole}
COLUMNS = 80


def render(report: ReportData, colour: bool = False, section: str | None = None) -> str:
    """The report as text.

    Args:
        report: What to show.
        colour: Whether to add colours, which never carry a meaning of their own.
        section: One of `SECTIONS`, to have only that, with its tables.
    """
    return lay_out([view(report) for view in ((SECTIONS[section],) if section else VIEWS)], colour)


def lay_out(sections: list[list[RenderableType]], colour: bool = False) -> str:
    """Sections, an empty line between those that there are; arguments are those of `render`."""
    text = io.StringIO()
    console = Console(
        file=text,
        width=COLUMNS,
        force_terminal=colour,
        color_system="256" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        soft_wrap=False,
    )
    for at, parts in enumerate(sections):
        if parts and at:
            console.print()
        for part in parts:
            console.print(part, crop=False)
    lines = text.getvalue().rstrip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)
