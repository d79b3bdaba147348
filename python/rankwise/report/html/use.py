# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used over time, as lines of shares of their most."""

from __future__ import annotations

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from rankwise.report import use_words
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, plain_figure

_COLOURS = {
    "lost cores": BLUE,
    "page faults": ORANGE,
    "interrupts": SKY,
    "network softirqs": GREY,
    "bytes of interfaces": YELLOW,
    "in the kernel": GREEN,
    "waiting for a core": PINK,
}


def legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each line: what it is at its highest."""
    return [
        (f"{label}, at most {use_words.rate_text(label, max(values))}", _COLOURS[label])
        for label, values in _lines(report)
    ]


def chart(report: ReportData) -> figure | None:
    """A line for each kind, its highest value being 1; `None` without samples over time."""
    lines = _lines(report)
    if report.use is None or not lines:
        return None
    made = plain_figure(
        height=220,
        x_axis_label="time after MPI_Init (s)",
        y_axis_label="share of the most",
        tools="xpan,reset",
    )
    pieces = report.use.over_time or report.use.nodes_over_time
    middles = [(each.begin_s + each.end_s) / 2 for each in pieces]
    for label, values in lines:
        most = max(values)
        source = ColumnDataSource(
            {
                "time": middles,
                "share": [value / most for value in values],
                "text": [f"{label}: {use_words.rate_text(label, value)}" for value in values],
            }
        )
        made.line("time", "share", source=source, color=_COLOURS[label], line_width=2)
    made.add_tools(HoverTool(tooltips="@text"))
    made.y_range.update(start=0)
    return made


def _lines(report: ReportData) -> list[tuple[str, list[float]]]:
    if report.use is None:
        return []
    return [(label, list(values)) for label, values in use_words.over_time(report.use)]
