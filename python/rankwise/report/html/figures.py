# SPDX-License-Identifier: BSD-3-Clause
"""Bokeh's figures as they look on all pages."""

from __future__ import annotations

from typing import Any

from bokeh.models.annotations.labels import Title
from bokeh.plotting import figure

from rankwise.report.html.look import LINES, TEXT


def plain_figure(title: str = "", **options: Any) -> figure:
    """A figure without a background of its own."""
    made = figure(
        title=Title(text=title, text_color=TEXT, text_font_style="normal", text_font_size="14px"),
        sizing_mode="stretch_width",
        background_fill_color=None,
        border_fill_color=None,
        **options,
    )
    made.outline_line_color = None
    made.toolbar.logo = None
    made.toolbar.autohide = True
    made.grid.grid_line_color = LINES
    for axis in made.axis:
        axis.axis_label_text_color = axis.major_label_text_color = TEXT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
        axis.axis_line_color = axis.major_tick_line_color = LINES
        axis.minor_tick_line_color = None
    return made
