# SPDX-License-Identifier: BSD-3-Clause
"""A study as one HTML file that needs no network."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2
from bokeh.embed import components
from bokeh.model import Model
from bokeh.models import ColumnDataSource, DataRange1d
from bokeh.plotting import figure
from bokeh.resources import Resources
from bokeh.transform import dodge
from markupsafe import Markup

from rankwise.report.html.figures import plain_figure
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, TEXT, YELLOW
from rankwise.study.result import Figure, StudyResult
from rankwise.study.show.cells import cell_text, outcome_text, target_cells

_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, GREY)
_TOOLS = "pan,box_zoom,wheel_zoom,reset,save,hover"


def render(result: StudyResult) -> str:
    """The whole page."""
    charts: dict[str, Model] = {each.name: _chart(each) for each in result.figures}
    script, divisions = components(charts) if charts else ("", {})
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(cell_text=cell_text, outcome_text=outcome_text, target_cells=target_cells)
    page = (files(__package__) / "page.html.jinja").read_text(encoding="utf-8")
    style = (files("rankwise.report.html") / "page.css").read_text(encoding="utf-8")
    return environment.from_string(page).render(
        result=result,
        style=Markup(style),
        library=Markup(Resources(mode="inline", components=["bokeh"], minified=True).render_js()),
        script=Markup(script),
        charts={name: Markup(division) for name, division in divisions.items()},
    )


def _chart(drawn: Figure) -> figure:
    made = _lines(drawn) if drawn.kind == "lines" else _bars(drawn)
    made.xaxis.axis_label, made.yaxis.axis_label = drawn.x_label, drawn.y_label
    made.hover.tooltips = [("", "$name"), (drawn.x_label, "@x"), (drawn.y_label, "@y")]
    for legend in made.legend:
        legend.background_fill_color = legend.border_line_color = None
        legend.label_text_color = TEXT
        legend.label_text_font_size = "13px"
        legend.orientation = "horizontal"
        legend.update(padding=0, margin=0)
        made.add_layout(legend, "above")
    return made


def _lines(drawn: Figure) -> figure:
    made = plain_figure(
        drawn.title, height=340, x_axis_type=drawn.x_scale, y_axis_type=drawn.y_scale, tools=_TOOLS
    )
    for at, series in enumerate(drawn.series):
        points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        source = ColumnDataSource({"x": [x for x, _ in points], "y": [y for _, y in points]})
        colour = _COLOURS[at % len(_COLOURS)]
        dash = "dashed" if series.paper or series.name == "ideal" else "solid"
        named: dict[str, Any] = {"source": source, "legend_label": series.name, "name": series.name}
        made.line("x", "y", color=colour, line_width=2, line_dash=dash, **named)
        made.scatter("x", "y", color=colour, size=5, **named)
    return made


def _bars(drawn: Figure) -> figure:
    """Bars beside each other, or on each other with points for a series that is called `overall`."""
    names = [str(name) for name in drawn.series[0].x]
    made = plain_figure(drawn.title, height=340, x_range=names, y_range=DataRange1d(start=0), tools=_TOOLS)
    stacked = drawn.kind == "stacked"
    bars = [series for series in drawn.series if not (stacked and series.name == "overall")]
    wide = 0.6 if stacked else 0.8 / len(bars)
    below = [0.0] * len(names)
    for at, series in enumerate(bars):
        heights = [y or 0.0 for y in series.y]
        top = [a + b for a, b in zip(below, heights, strict=True)] if stacked else heights
        bottom = list(below) if stacked else [0.0] * len(names)
        source = ColumnDataSource({"x": names, "y": heights, "top": top, "bottom": bottom})
        x = "x" if stacked else dodge("x", wide * (at + 0.5) - 0.4, range=made.x_range)
        colour = _COLOURS[at % len(_COLOURS)]
        made.vbar(
            x=x,
            top="top",
            bottom="bottom",
            width=0.9 * wide,
            source=source,
            color=colour,
            legend_label=series.name,
            name=series.name,
        )
        below = top if stacked else below
    for series in drawn.series:
        if stacked and series.name == "overall":
            points = ColumnDataSource({"x": names, "y": [y or 0.0 for y in series.y]})
            made.scatter(
                "x",
                "y",
                source=points,
                marker="diamond",
                size=12,
                color="black",
                line_color="white",
                legend_label="overall",
                name="overall",
            )
    return made
