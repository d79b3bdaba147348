# SPDX-License-Identifier: BSD-3-Clause
"""The report in the terminal: 80 columns, one view a file, each a function `view(report) -> renderables`."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.text import Text

from rankwise.report import FIRST, SECTIONS
from rankwise.report.data import ReportData
from rankwise.report.text import (
    call_sites,
    calls,
    collectives,
    context,
    distribution,
    efficiency,
    findings,
    headline,
    map,
    matrix,
    network,
    phases,
    placements,
    ranks,
    sizes,
    time,
    tuning,
    use,
    waiting,
)
from rankwise.report.text.tables import COLUMNS, title

View = Callable[[ReportData], list[RenderableType]]
VIEWS: dict[str, View] = {
    "fix": findings.view,
    "efficiency": efficiency.view,
    "time": time.view,
    "map": map.view,
    "placements": placements.view,
    "distribution": distribution.view,
    "matrix": matrix.view,
    "waiting": waiting.view,
    "ranks": ranks.view,
    "calls": calls.view,
    "collectives": collectives.view,
    "call-sites": call_sites.view,
    "sizes": sizes.view,
    "phases": phases.view,
    "network": network.view,
    "use": use.view,
    "tuning": tuning.view,
    "context": context.view,
}
_FIRST: dict[str, View] = {
    "fix": findings.first,
    "efficiency": efficiency.first,
    "time": time.first,
    "map": map.first,
}
# What a section takes that not every recording has.
_TAKES = {
    "placements": "takes `--nodes`, `--placement` or `--machine`",
    "matrix": "no message was recorded",
    "ranks": "calls were not timed: record without `--counts`",
    "calls": "no MPI call was recorded",
    "call-sites": "not recorded: this needs `rankwise record --callsites`",
    "waiting": "takes `rankwise record --trace --exact-times`",
    "phases": "takes `rankwise record --trace --exact-times`",
    "sizes": "no message was recorded",
    "collectives": "no collective operation was called",
    "tuning": "`rankwise tune` did not run",
}


def render(
    report: ReportData, colour: bool = False, section: str | None = None, verbose: bool = False
) -> str:
    """The report as text: what HTML's first screen has, and the names of the other sections.

    Args:
        report: What to show.
        colour: Whether to add colours, which never carry a meaning of their own.
        section: One of `SECTIONS`, to have only that, in whole.
        verbose: Whether to have all sections, in whole.
    """
    if section is not None:
        absent = f"{SECTIONS[section]}: {_TAKES.get(section, 'nothing was recorded')}"
        return lay_out([VIEWS[section](report) or [Text(absent)]], colour)
    if verbose:
        return lay_out([headline.view(report), *(view(report) for view in VIEWS.values())], colour)
    first = [*(_FIRST[name](report) for name in FIRST), placements.first(report)]
    return lay_out([headline.view(report), *first, _more(report)], colour)


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


def _more(report: ReportData) -> list[RenderableType]:
    there = {
        "placements": report.predicted or len(report.map.placed) > 1,
        "matrix": report.matrix.source,
        "ranks": report.time,
        "calls": report.calls,
        "call-sites": report.call_sites,
        "waiting": report.waiting,
        "phases": report.over_time,
        "sizes": report.matrix.source,
        "collectives": report.collectives,
        "tuning": report.tuning,
    }
    names = ", ".join(name for name in VIEWS if name not in FIRST and there.get(name, True))
    lines = textwrap.wrap(f"`--section NAME`: {names}", COLUMNS - 2, break_on_hyphens=False)
    return [title("More"), *(Text(f"  {line}") for line in [*lines, "`-v`: all of them"])]
