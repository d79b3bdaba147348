# SPDX-License-Identifier: BSD-3-Clause
"""What was measured as one HTML file that needs no network: every curve with its fit, every answer with its table."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from bokeh.embed import components
from bokeh.model import Model
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.models.annotations.geometry import Whisker
from bokeh.plotting import figure
from bokeh.resources import Resources
from markupsafe import Markup

from rankwise.machine.machine import Machine
from rankwise.measure.answer_table import text
from rankwise.measure.curves import Curve
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.questions.answer import Answer, Column, Value
from rankwise.quantities import bytes_text, seconds_text
from rankwise.report.html.figures import plain_figure
from rankwise.report.html.look import BLUE, GREEN, ORANGE, PINK, SKY, TEXT

_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY)


def render(machine: Machine, curves: Sequence[Curve], answers: Sequence[Answer]) -> str:
    """The whole page."""
    charts: dict[str, Model] = {f"curve{at}": _curve(curve) for at, curve in enumerate(curves)}
    for at, answer in enumerate(answers):
        chart = _answer(answer)
        if chart is not None:
            charts[f"answer{at}"] = chart
    script, divisions = components(charts) if charts else ("", {})
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(text=text, seconds_text=seconds_text, bytes_text=bytes_text)
    return environment.from_string(_file(__package__, "page.html.jinja")).render(
        machine=machine,
        curves=curves,
        answers=answers,
        style=Markup(_file("rankwise.report.html", "page.css")),
        library=Markup(Resources(mode="inline", components=["bokeh"], minified=True).render_js()),
        script=Markup(script),
        charts={name: Markup(division) for name, division in divisions.items()},
    )


def _file(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")


def _curve(curve: Curve) -> figure:
    source = ColumnDataSource(
        {
            "size": curve.sizes,
            "time": curve.times_s,
            "low": curve.low_s,
            "high": curve.high_s,
            "bytes": [bytes_text(size) for size in curve.sizes],
            "seconds": [seconds_text(time) for time in curve.times_s],
            "rate": [f"{bytes_text(s / t)}/s" for s, t in zip(curve.sizes, curve.times_s, strict=True)],
        }
    )
    made = plain_figure(
        height=340, x_axis_type="log", y_axis_type="log", tools="pan,box_zoom,wheel_zoom,reset,save"
    )
    made.xaxis.axis_label, made.yaxis.axis_label = "message (bytes)", "half a round trip (s)"
    for at, (x, y) in enumerate(curve.lines):
        made.line(x, y, color=_COLOURS[at % len(_COLOURS)], line_width=2, legend_label=f"segment {at + 1}")
    whisker = Whisker(source=source, base="size", upper="high", lower="low", line_color="#7b848d")
    whisker.upper_head = whisker.lower_head = None
    made.add_layout(whisker)
    points = made.scatter("size", "time", source=source, size=5, color="#7b848d", legend_label="median")
    tips = [("message", "@bytes"), ("half a round trip", "@seconds"), ("bandwidth", "@rate")]
    made.add_tools(HoverTool(renderers=[points], tooltips=tips))
    if curve.limit is not None:
        made.vspan(x=[curve.limit], line_color="#7b848d", line_dash="dashed", legend_label="eager limit")
    made.add_layout(made.legend[0], "above")
    _style_legend(made)
    return made


def _answer(answer: Answer) -> figure | None:
    """The table drawn as the question wishes; `None` where there are no two points."""
    if answer.plot is None or answer.missing:
        return None
    names = [column.name for column in answer.columns]
    plot = answer.plot
    if plot.x not in names or plot.y not in names or (plot.series and plot.series not in names):
        return None
    x, y = names.index(plot.x), names.index(plot.y)
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in answer.rows:
        across, up = _number(row[x]), _number(row[y])
        if across is None or up is None or (plot.log_x and across <= 0) or (plot.log_y and up <= 0):
            continue
        series = (
            ""
            if plot.series is None
            else text(row[names.index(plot.series)], answer.columns[names.index(plot.series)])
        )
        lines.setdefault(series, []).append((across, up))
    if max(map(len, lines.values()), default=0) < 2:
        return None
    made = plain_figure(
        height=280,
        x_axis_type="log" if plot.log_x else "linear",
        y_axis_type="log" if plot.log_y else "linear",
        tools="pan,box_zoom,wheel_zoom,reset,save",
    )
    made.xaxis.axis_label = _label(answer.columns[x])
    made.yaxis.axis_label = _label(answer.columns[y])
    for at, (series, points) in enumerate(lines.items()):
        xs, ys = np.array(points).T
        order = np.argsort(xs, kind="stable")
        named: dict[str, Any] = {"legend_label": series} if series else {}
        colour = _COLOURS[at % len(_COLOURS)]
        made.line(xs[order], ys[order], color=colour, line_width=2, **named)
        made.scatter(xs, ys, color=colour, size=5, **named)
    if made.legend:
        made.add_layout(made.legend[0], "above")
        _style_legend(made)
    return made


def _style_legend(made: figure) -> None:
    """Legend above the chart, in one line."""
    for legend in made.legend:
        legend.background_fill_color = legend.border_line_color = None
        legend.label_text_color = TEXT
        legend.label_text_font_size = "13px"
        legend.orientation = "horizontal"
        legend.update(padding=0, margin=0)


def _label(column: Column) -> str:
    return f"{column.name} ({column.unit})" if column.unit else column.name


def _number(value: Value) -> float | None:
    number = value.value if isinstance(value, Median) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not np.isfinite(number):
        return None
    return float(number)
