# SPDX-License-Identifier: BSD-3-Clause
"""What each rank did most, piece by piece of the recorded run, as one raster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.exports.calls import Calls, calls
from rankwise.recording import Recording
from rankwise.recording.raw import CALL_CLASSES
from rankwise.report.data import ReportData
from rankwise.report.figures.drawing import new, title
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, SKY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIECES = 1600
# What ranks do, as the timeline tells it: name and colour.
DOING = (
    ("computation", BLUE),
    ("point-to-point", GREEN),
    ("completion of requests", ORANGE),
    ("collectives", SKY),
    ("other MPI", GREY),
)


def draw(report: ReportData, recording: Recording) -> Figure:
    """The recorded run, a row a rank.

    Raises:
        RankwiseError: No exact trace of the whole run, or one without calls.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ranks = calls(recording.timeline())
    end_s = max((float(of.end_s.max()) for of in ranks if len(of.end_s)), default=0.0)
    if end_s <= 0:
        raise RankwiseError("there are no calls in the trace")
    edges = np.linspace(0, end_s, _PIECES + 1)
    rows = np.stack([most_of(of, edges) for of in ranks])
    drawing = new(min(2.0 + 0.08 * len(ranks), 7.0))
    axes = drawing.subplots()
    axes.imshow(
        np.ma.masked_equal(rows, -1),
        cmap=ListedColormap([colour for _, colour in DOING]),
        vmin=-0.5,
        vmax=len(DOING) - 0.5,
        extent=(0, end_s, len(ranks) - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set(xlabel="time after MPI_Init (s)", ylabel="rank")
    title(axes, f"{report.program.name}: what each rank did most")
    drawing.legend(
        handles=[Patch(color=colour, label=name) for name, colour in DOING],
        loc="outside lower center",
        ncols=3,
        fontsize=8,
    )
    return drawing


def most_of(of: Calls, edges: np.ndarray) -> np.ndarray:
    """In each piece of time what took most of it, an index of `DOING`; -1 before the first and after the last call."""
    doing = _kinds()[of.kind]
    found = np.zeros((len(DOING), len(edges) - 1))
    for at in range(1, len(DOING)):
        mine = doing == at
        begin_s, end_s = of.begin_s[mine], of.end_s[mine]
        if len(begin_s):
            # Time spent until each edge: calls of a rank do not overlap.
            times = np.column_stack([begin_s, end_s]).reshape(-1)
            spent = np.concatenate([[0.0], np.repeat(np.cumsum(end_s - begin_s), 2)[:-1]])
            found[at] = np.diff(np.interp(edges, times, spent, left=0.0, right=float(spent[-1])))
    found[0] = np.diff(edges) - found.sum(axis=0)
    most: np.ndarray = found.argmax(axis=0)
    known = len(of.end_s) > 0
    most[(edges[1:] <= of.init_s) | (edges[:-1] >= (of.end_s[-1] if known else -1.0))] = -1
    return most


def _kinds() -> np.ndarray:
    """By kind of call, as `Calls` has it, what it is in the timeline; samples are none."""
    kinds = []
    for kind in [*CALL_CLASSES.tolist(), "polls", "none"]:
        if kind == "none":
            kinds.append(0)
        elif "collective" in kind:
            kinds.append(3)
        elif kind in ("complete", "polls"):
            kinds.append(2)
        else:
            kinds.append(1 if "send" in kind or "recv" in kind or kind in ("probe", "start") else 4)
    return np.array(kinds)
