# SPDX-License-Identifier: BSD-3-Clause
"""Where in the program the calls came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from rankwise.findings.place_words import place_text
from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import COLUMNS, room, table
from rankwise.report.words import percent

_MOST_ROWS = 150
_INDENT = "    "
_HEADINGS = ("Call sites", "time a rank", "of run", "calls", "bytes")


def view(report: ReportData) -> list[RenderableType]:
    """The places with the most time, or with the most calls where they were not timed.

    A place stands in its row where all of them fit there whole, or else below it.
    """
    sites, ranks = report.call_sites[:_MOST_ROWS], max(len(report.ranks.rank), 1)
    if not sites:
        return []
    rows = [
        (
            f"  {site.call}",
            "-" if site.time_s is None else seconds_text(site.time_s / ranks),
            percent(site.share),
            count_text(site.count),
            bytes_text(site.bytes) if site.bytes else "-",
        )
        for site in sites
    ]
    wide = room(_HEADINGS, rows, COLUMNS)
    whole = [place_text(site) for site in sites]
    if max(map(cell_len, whole)) <= wide:
        placed = [(*row, place) for row, place in zip(rows, whole, strict=True)]
        parts: list[RenderableType] = [table((*_HEADINGS, "place"), placed, left=(0, 5))]
    else:
        below = [_INDENT + place_text(site, COLUMNS - len(_INDENT)) for site in sites]
        parts = [*_rows(rows, below)]
    if more := len(report.call_sites) - len(sites):
        parts.append(Text(f"  {more} more are in the HTML report and in `rankwise report --json`"))
    return parts


def _rows(rows: Sequence[Sequence[str]], below: Sequence[str]) -> Iterator[Text]:
    """A table with a line below each row."""
    widths = [max(map(cell_len, column)) for column in zip(_HEADINGS, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    yield Text(line(_HEADINGS), style="bold")
    for row, place in zip(rows, below, strict=True):
        yield Text(line(row))
        yield Text(place, no_wrap=True, overflow="ellipsis")
