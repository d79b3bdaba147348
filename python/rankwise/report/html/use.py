# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used over time, as lines of shares of their most."""

from __future__ import annotations

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from rankwise.report import use_words
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, plain_figure

_COLOURS = {
    "involuntary switches": BLUE,
    "page faults": ORANGE,
    "interrupts": SKY,
    "NET_RX and NET_TX": GREY,
    "bytes of interfaces": YELLOW,
    "system time": GREEN,
    "run-queue wait": PINK,
}


def legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each line: what it is at its highest."""
    return [
        (f"{label}, at most {use_words.rate_text(label, use_words.most(values))}", _COLOURS[label])
        for label, values in _lines(report)
    ]


def chart(report: ReportData) -> figure | None:
    """A line for each kind, its highest value being 1; `None` without samples over time."""
    lines = _lines(report)
    if not lines:
        return None
    made = plain_figure(
        height=220,
        x_axis_label="time after MPI_Init (s)",
        y_axis_label="part of its highest value",
        tools="xpan,reset",
    )
    middles = [(each.begin_s + each.end_s) / 2 for each in use_words.pieces(report.use)]
    for label, values in lines:
        most = use_words.most(values) or 1.0
        source = ColumnDataSource(
            {
                "time": middles,
                # Where a value is not known the line has a gap.
                "share": [float("nan") if value is None else value / most for value in values],
                "text": [
                    f"{label}: " + ("not known" if value is None else use_words.rate_text(label, value))
                    for value in values
                ],
            }
        )
        made.line("time", "share", source=source, color=_COLOURS[label], line_width=2)
    made.add_tools(HoverTool(tooltips="@text"))
    made.y_range.update(start=0)
    return made


def _lines(report: ReportData) -> list[tuple[str, list[float | None]]]:
    return [(label, list(values)) for label, values in use_words.over_time(report.use)]
