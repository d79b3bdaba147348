# SPDX-License-Identifier: BSD-3-Clause
"""Time inside and outside MPI by rank, as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from bokeh.models import BasicTicker, ColumnDataSource, HoverTool
from bokeh.plotting import figure

from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREY, ORANGE, SKY, plain_figure
from rankwise.report.words import complete, waited_for_cores

_MOST_BARS = 512


def legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each part of the bars, from below."""
    parts = [("outside MPI", BLUE), ("inside MPI", ORANGE)]
    if waited_for_cores(report):
        parts += [("inside or outside MPI", SKY), ("waiting for a core", GREY)]
    return parts


def chart(report: ReportData) -> figure | None:
    """A bar for each rank; for many ranks, for each group of consecutive ranks, its mean."""
    ranks = report.ranks
    mpi_s, compute_s = complete(ranks.mpi_s), complete(ranks.compute_s)
    if not mpi_s or not compute_s:
        return None
    per_bar = -(-len(ranks.rank) // _MOST_BARS)
    starts = np.arange(0, len(ranks.rank), per_bar)

    def means(values: Sequence[float | None]) -> npt.NDArray[np.float64]:
        sizes = np.diff(np.append(starts, len(values)))
        return np.add.reduceat(np.array(values, dtype=float), starts) / sizes  # of `None`: NaN

    compute, mpi, waits = means(compute_s), means(mpi_s), means(ranks.runqueue_wait_s)
    columns = [compute, mpi]
    if waited_for_cores(report):
        parts = (ranks.compute_on_core_s, ranks.mpi_on_core_s, ranks.unattributed_s, ranks.runqueue_wait_s)
        columns = [means(part) for part in parts]
    total = np.maximum(compute + mpi, 1e-300)
    names = [
        str(ranks.rank[start])
        if per_bar == 1
        else f"{ranks.rank[start]}-{ranks.rank[min(start + per_bar, len(ranks.rank)) - 1]}"
        for start in starts.tolist()
    ]
    source = ColumnDataSource(
        {
            "at": np.asarray(ranks.rank)[starts] + (per_bar - 1) / 2,
            "name": names,
            "host": [report.program.hosts[ranks.host[start]] for start in starts.tolist()],
            **{f"part{at}": column for at, column in enumerate(columns)},
            "inside": [f"{of:.3f} s ({share:.1%})" for of, share in zip(mpi, mpi / total, strict=True)],
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
        [f"part{at}" for at in range(len(columns))],
        x="at",
        width=0.84 * per_bar,
        color=[colour for _, colour in legend(report)],
        source=source,
        line_color=None,
    )
    if waited_for_cores(report):
        tips = [(label, f"@part{at}{{0.000}} s") for at, (label, _) in enumerate(legend(report))]
    else:
        tips = [("outside MPI", "@part0{0.000} s"), ("inside MPI", "@inside"), ("waited for a core", "@wait")]
    made.add_tools(HoverTool(tooltips=[("rank", "@name"), ("host", "@host"), *tips]))
    made.y_range.update(start=0)
    made.xgrid.grid_line_color = None
    # Ranks are whole numbers: no ticks between them.
    made.xaxis.ticker = BasicTicker(min_interval=1)
    made.xaxis.formatter.update(use_scientific=False)
    return made
