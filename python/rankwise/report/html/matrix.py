# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix as a heat map: bytes as colour, messages and bytes on hover."""

from __future__ import annotations

import numpy as np
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    Image,
    LogColorMapper,
)
from bokeh.models.annotations.legends import ColorBar
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from rankwise.quantities import bytes_text
from rankwise.report.data import ReportData
from rankwise.report.html.look import EMPTY, LINES, TEXT, plain_figure

# Without the darkest colours, which would be lost on a dark page.
_PALETTE = Viridis256[40:]
_TICKS = 6


# As `bytes_text` does.
_BYTES_TEXT = """
    const units = ["B", "kB", "MB", "GB", "TB", "PB"]
    let size = tick, unit = 0
    while (size >= 999.5 && unit + 1 < units.length) { size /= 1000; unit += 1 }
    return `${Number(size.toPrecision(3))} ${units[unit]}`
"""


def chart(report: ReportData) -> figure | None:
    """Rows send, columns receive."""
    matrix = report.matrix
    if not matrix.source:
        return None
    shape = (matrix.groups, matrix.groups)
    sizes = np.full(shape, np.nan, dtype=np.float32)
    counts = np.zeros(shape, dtype=np.float32)
    sizes[matrix.source, matrix.destination] = matrix.bytes
    counts[matrix.source, matrix.destination] = matrix.messages
    some = [size for size in matrix.bytes if size > 0] or [1]
    low, high = min(some), max(some)
    # No two ticks say the same; what all reads the same has one colour, that of the most.
    ticks = list({bytes_text(size): float(size) for size in np.geomspace(low, high, _TICKS)}.values())
    if len(ticks) == 1:
        mapper = LogColorMapper(palette=_PALETTE[-1:], low=low / 2, high=high, nan_color=EMPTY)
    else:
        mapper = LogColorMapper(palette=_PALETTE, low=low, high=high, nan_color=EMPTY)
    unit = matrix.ranks_per_group
    last = matrix.groups * unit
    made = plain_figure(
        height=560,
        x_range=(-0.5, last - 0.5),
        y_range=(last - 0.5, -0.5),
        x_axis_label="to rank",
        y_axis_label="from rank",
        x_axis_location="above",
        tools="wheel_zoom,pan,reset,save",
    )
    source = ColumnDataSource({"image": [sizes], "messages": [counts]})
    # The origin is at the top: rows grow downwards as the reversed axis does.
    glyph = Image(image="image", x=-0.5, y=-0.5, dw=last, dh=last, color_mapper=mapper)
    picture = made.add_glyph(source, glyph)
    name = CustomJSHover(
        args={"unit": unit, "ranks": report.program.world_size},
        code="""
            const first = Math.floor((value + 0.5) / unit) * unit
            const end = Math.min(first + unit, ranks) - 1
            return end > first ? `${first}-${end}` : `${first}`
        """,
    )
    made.add_tools(
        HoverTool(
            renderers=[picture],
            tooltips=[
                ("from rank", "$y{custom}"),
                ("to rank", "$x{custom}"),
                ("messages", "@messages{0,0}"),
                ("bytes", "@image{0,0}"),
            ],
            formatters={"$x": name, "$y": name},
        )
    )
    made.add_layout(
        ColorBar(
            color_mapper=mapper,
            ticker=FixedTicker(ticks=ticks),
            formatter=CustomJSTickFormatter(code=_BYTES_TEXT),
            background_fill_color=None,
            major_label_text_color=TEXT,
            major_tick_line_color=LINES,
            bar_line_color=None,
            width=14,
        ),
        "right",
    )
    made.grid.grid_line_color = None
    for axis in made.axis:
        axis.ticker = BasicTicker(min_interval=1)
        axis.formatter.update(use_scientific=False)
    made.match_aspect = True
    return made
