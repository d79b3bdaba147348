# SPDX-License-Identifier: BSD-3-Clause
"""Predicted against measured times as a figure: a panel for each half, a colour for each MPI."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from accuracy.overview import LIBRARIES, Group
from accuracy.result import PlacementResult
from rankwise.quantities import counted

_BAND = 0.15  # what no error should be above
# Okabe and Ito's blue and vermilion, which all kinds of sight tell apart; shapes tell them apart in grey.
_STYLES = {"mpich": ("#0072B2", "o"), "openmpi": ("#D55E00", "^")}


def draw(halves: Sequence[Group]) -> bytes:
    """The figure as SVG, a panel for each half; the same input gives the same bytes."""
    import matplotlib

    style = {"svg.hashsalt": "rankwise", "font.size": 10, "figure.facecolor": "white"}
    with matplotlib.rc_context(style):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.7 * len(halves) + 0.3, 4.3), layout="constrained")
        axes = figure.subplots(1, len(halves), sharex=True, sharey=True, squeeze=False)[0]
        ends = _ends([each for half in halves for each in half.unknown])
        for axis, half in zip(axes, halves, strict=True):
            _panel(axis, half, ends)
        axes[0].set_ylabel("predicted (s)")
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        return drawn.getvalue()


def _ends(known: Sequence[PlacementResult]) -> tuple[float, float]:
    """Of both axes: all times and intervals, with a margin."""
    times = [
        time_s for each in known for time_s in (each.measured.median_s, each.low_s, each.high_s) if time_s > 0
    ]
    return (0.85 * min(times), 1.2 * max(times)) if times else (0.1, 10.0)


def _panel(axis, half: Group, ends: tuple[float, float]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    line = np.array(ends)
    below, above = (1 - _BAND) * line, (1 + _BAND) * line
    axis.fill_between(line, below, above, color="0.9", linewidth=0, label=f"within {100 * _BAND:.0f} %")
    axis.plot(line, line, color="0.5", linewidth=0.8)
    for mpi in half.mpis:
        known = half.of(mpi).unknown
        colour, shape = _STYLES[mpi]
        measured = [each.measured.median_s for each in known]
        low, high = [each.low_s for each in known], [each.high_s for each in known]
        axis.vlines(measured, low, high, colors=colour, alpha=0.35, linewidth=1.0)
        predicted = [each.predicted_s for each in known]
        axis.plot(measured, predicted, shape, color=colour, markersize=4.5, alpha=0.8, label=LIBRARIES[mpi])
    axis.set(
        title=f"{half.name}: {counted(len(half.programs), 'program')}",
        xlabel="measured (s)",
        xscale="log",
        yscale="log",
        xlim=ends,
        ylim=ends,
        aspect="equal",
    )
    for each in (axis.xaxis, axis.yaxis):
        each.set_major_locator(LogLocator(subs=(1, 2, 5)))
        each.set_major_formatter("{x:g}")
        each.set_minor_formatter(NullFormatter())
    axis.legend(fontsize=9, loc="upper left")
