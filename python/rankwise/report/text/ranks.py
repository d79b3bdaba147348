# SPDX-License-Identifier: BSD-3-Clause
"""Each rank's time and its parts: all of few ranks, of many those that computed for the least part of theirs."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import seconds_text
from rankwise.report import time_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.columns import columns
from rankwise.report.text.tables import title
from rankwise.report.words import percent

_MOST = 32


def view(report: ReportData) -> list[RenderableType]:
    """A row for each rank."""
    found, ranks = words.parts(report), report.ranks
    if not found:
        return []
    places = words.worst(report, _MOST)
    rows = [
        (
            f"{ranks.rank[at]}{' (partial)' if ranks.partial[at] else ''}",
            seconds_text(ranks.time_s[at]),
            *(
                percent(part.seconds[at] / ranks.time_s[at] if ranks.time_s[at] > 0 else None)
                for part in found
            ),
        )
        for at in sorted(places)
    ]
    headings = ("rank", "time", *(_HEADINGS.get(part.name, part.name) for part in found))
    parts = [title("Time by rank"), *columns(headings, [("", rows)])]
    if more := len(ranks.rank) - len(places):
        parts.append(
            Text(f"  those that computed for the least part of their time; {more} more in the HTML report")
        )
    return parts


_HEADINGS = {
    "waiting for a core": "waiting\nfor a core",
    "waiting for other ranks": "waiting for\nother ranks",
    "MPI or computation": "MPI or\ncomputation",
}
