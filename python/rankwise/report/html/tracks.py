# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of what was sampled: a row a track, the darker the more; marks where a rank came to another core."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bokeh.models import ColumnDataSource, FactorRange, HoverTool
from bokeh.plotting import figure

from rankwise.report import tuning, use_words
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, TEXT, YELLOW, plain_figure
from rankwise.report.use_data import Track

TUNED = "tuning"
_OF_CHANGE = {"kept": GREEN, "undone": ORANGE}
_COLOURS = {
    "waiting for a core": PINK,
    "interrupts": SKY,
    "NET_RX": GREY,
    "bytes": YELLOW,
    "bytes of ports": ORANGE,
    "bytes of memory": GREEN,
}


def legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each kind of track: what it is where it is darkest."""
    tracks = _tracks(report)
    found = [
        (f"{kind}, at most {use_words.track_rate_text(kind, _most(tracks, kind))}", colour)
        for kind, colour in _COLOURS.items()
        if _most(tracks, kind) > 0
    ]
    for word, colour in _OF_CHANGE.items():
        if any(change.became == word for change in report.tuning):
            found.append((f"change of `rankwise tune`, {word}", colour))
    if any(change.became not in _OF_CHANGE for change in report.tuning):
        found.append(("change of `rankwise tune`, not tried", GREY))
    if any(track.moves_s for track in tracks):
        found.append(("came to another core", BLUE))
    return found


def chart(report: ReportData) -> figure | None:
    """All tracks on one axis of time, those of a kind together; `None` where nothing is known over time."""
    tracks = _tracks(report)
    timeline = report.use.timeline
    edges_s = timeline.edges_s if timeline is not None and tracks else [0.0, report.program.elapsed_s]
    # What ended before MPI_Init has no place here.
    changes = [each for each in report.tuning if each.ended_s is None or each.ended_s > 0]
    if not tracks and not changes:
        return None
    rows = [(track.kind, use_words.track_name(track, report.program.hosts)) for track in tracks]
    tuned = list(dict.fromkeys((TUNED, change.host) for change in changes))
    rows_of_all = rows + tuned
    made = plain_figure(
        height=90 + 20 * len(rows_of_all) + 12 * len({kind for kind, _ in rows_of_all}),
        x_axis_label="time after MPI_Init (s)",
        y_range=FactorRange(factors=rows_of_all[::-1], factor_padding=0.05, group_padding=0.6),
        x_range=(0.0, edges_s[-1]),
        tools="xwheel_zoom,xpan,reset",
    )
    axis: Any = made.yaxis[0]
    axis.group_text_color = axis.major_label_text_color = TEXT
    axis.group_label_orientation = "horizontal"
    axis.separator_line_color = axis.major_tick_line_color = None
    made.ygrid.grid_line_color = None
    pieces: dict[str, list[object]] = {
        name: [] for name in ("row", "begin", "end", "share", "colour", "what")
    }
    for track, row in zip(tracks, rows, strict=True):
        for (begin, end), value, pu in zip(
            pairwise(edges_s), track.per_s, track.pu or [None] * len(track.per_s), strict=True
        ):
            if value is None or value <= 0:
                continue
            where = "" if pu is None else f", on PU {pu}"
            text = f"{row[1]}, {row[0]}: {use_words.track_rate_text(track.kind, value)}{where}"
            share = value / _most(tracks, track.kind)
            for name, cell in zip(pieces, (row, begin, end, share, _COLOURS[track.kind], text), strict=True):
                pieces[name].append(cell)
    for change in changes:
        begin_s, until_s = max(change.proposed_s, 0.0), change.ended_s
        if until_s is None:  # still tried when the run ended, or never
            until_s = edges_s[-1] if change.applied_s is not None else begin_s + edges_s[-1] / 100
        text = f"{change.became}: {change.change}; {tuning.times_text(change)}; {tuning.gains_of(change)}"
        cells = ((TUNED, change.host), begin_s, until_s, 0.8)
        colour = _OF_CHANGE.get(change.became, GREY)
        for name, cell in zip(pieces, (*cells, colour, text), strict=True):
            pieces[name].append(cell)
    drawn = made.hbar(
        y="row",
        left="begin",
        right="end",
        height=1,
        fill_color="colour",
        fill_alpha="share",
        line_color=None,
        source=ColumnDataSource(pieces),
    )
    moves: list[tuple[float, Any]] = [
        (time, row) for track, row in zip(tracks, rows, strict=True) for time in track.moves_s
    ]
    made.scatter(
        marker="dash",
        x=[time for time, _ in moves],
        y=[row for _, row in moves],
        angle=1.5708,
        size=12,
        line_width=2,
        color=BLUE,
    )
    made.add_tools(HoverTool(tooltips="@what", renderers=[drawn]))
    return made


def _tracks(report: ReportData) -> list[Track]:
    return report.use.timeline.tracks if report.use.timeline else []


def _most(tracks: list[Track], kind: str) -> float:
    return max((value or 0.0 for track in tracks if track.kind == kind for value in track.per_s), default=0.0)
