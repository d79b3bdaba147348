# SPDX-License-Identifier: BSD-3-Clause
"""Where in the program the calls came from."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding

from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import COLUMNS, room, table
from rankwise.report.words import percent, place_text

_SHOWN = 8
# Of a place: with less, columns stand closer.
_LEAST_ROOM = 24


def view(report: ReportData) -> list[RenderableType]:
    """The places with the most time, the most calls where they were not timed."""
    sites, ranks = report.call_sites, max(len(report.ranks.rank), 1)
    if not sites:
        return []
    headings = ("Call sites", "time a rank", "of run", "calls", "bytes")
    numbers = [
        (
            f"  {site.call}",
            "-" if site.time_s is None else seconds_text(site.time_s / ranks),
            percent(site.share),
            count_text(site.count),
            bytes_text(site.bytes) if site.bytes else "-",
        )
        for site in sites[:_SHOWN]
    ]
    gap = 2 if room(headings, numbers, COLUMNS) >= _LEAST_ROOM else 1
    wide = room(headings, numbers, COLUMNS, gap)
    rows = [(*row, place_text(site, wide)) for row, site in zip(numbers, sites, strict=False)]
    parts: list[RenderableType] = [table((*headings, "place"), rows, left=(0, 5), gap=gap)]
    if len(sites) > _SHOWN:
        parts.append(
            Padding(
                f"{len(sites) - _SHOWN} more are in the HTML report and in `rankwise report --json`",
                (0, 0, 0, 2),
            )
        )
    return parts
