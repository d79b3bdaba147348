# SPDX-License-Identifier: BSD-3-Clause
"""Time inside and outside MPI by rank, as bars."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, ORANGE, plain_figure, style_legend

_MOST_BARS = 512


def chart(report: ReportData) -> figure | None:
    """A bar for each rank; for many ranks, for each group of consecutive ranks, its mean."""
    ranks = report.ranks
    if not ranks.rank or None in ranks.mpi_s:
        return None
    per_bar = -(-len(ranks.rank) // _MOST_BARS)
    starts = np.arange(0, len(ranks.rank), per_bar)

    def means(values: list[float]) -> np.ndarray:
        sizes = np.diff(np.append(starts, len(values)))
        return np.add.reduceat(np.asarray(values, dtype=float), starts) / sizes

    compute, mpi = means(ranks.compute_s), means(ranks.mpi_s)
    waits = means([np.nan if wait is None else wait for wait in ranks.runqueue_wait_s])
    total = np.maximum(compute + mpi, 1e-300)
    names = [
        str(ranks.rank[start])
        if per_bar == 1
        else f"{ranks.rank[start]}-{ranks.rank[min(start + per_bar, len(ranks.rank)) - 1]}"
        for start in starts
    ]
    source = ColumnDataSource(
        {
            "at": np.asarray(ranks.rank)[starts] + (per_bar - 1) / 2,
            "name": names,
            "host": [report.program.hosts[ranks.host[start]] for start in starts],
            "compute": compute,
            "mpi": mpi,
            "share": mpi / total * 100,
            "wait": ["not sampled" if np.isnan(wait) else f"{wait:.3g} s" for wait in waits],
        }
    )
    made = plain_figure(
        height=300,
        x_axis_label="rank" if per_bar == 1 else f"rank (means of {per_bar})",
        y_axis_label="time (s)",
        tools="xwheel_zoom,xpan,reset,save",
    )
    made.vbar_stack(
        ["compute", "mpi"],
        x="at",
        width=0.84 * per_bar,
        color=[BLUE, ORANGE],
        source=source,
        legend_label=["outside MPI", "inside MPI"],
        line_color=None,
    )
    made.add_tools(
        HoverTool(
            tooltips=[
                ("rank", "@name"),
                ("host", "@host"),
                ("outside MPI", "@compute{0.000} s"),
                ("inside MPI", "@mpi{0.000} s (@share{0.0} %)"),
                ("waited for a core", "@wait"),
            ]
        )
    )
    made.add_layout(made.legend[0], "above")
    made.y_range.start = 0
    made.xgrid.grid_line_color = None
    # Ranks are whole numbers: no ticks between them.
    made.xaxis.ticker.min_interval = 1
    made.xaxis.formatter.use_scientific = False
    style_legend(made)
    return made
