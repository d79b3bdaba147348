# SPDX-License-Identifier: BSD-3-Clause
"""What each rank did, piece by piece of the recorded run, as one raster."""

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
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    ranks = calls(recording.timeline())
    end_s = max((float(of.end_s.max()) for of in ranks if len(of.end_s)), default=0.0)
    if end_s <= 0:
        raise RankwiseError("there are no calls in the trace")
    edges = np.linspace(0, end_s, _PIECES + 1)
    shares = np.stack([shares_of(of, edges) for of in ranks])
    colours = np.array([to_rgb(colour) for _, colour in DOING])
    # What several things share has a colour between theirs; before and after a rank's calls nothing is drawn.
    raster = np.concatenate([shares @ colours, shares.sum(axis=2, keepdims=True)], axis=2)
    drawing = new(min(2.0 + 0.08 * len(ranks), 7.0))
    axes = drawing.subplots()
    axes.imshow(
        np.clip(raster, 0, 1),
        extent=(0, end_s, len(ranks) - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set(xlabel="time after MPI_Init (s)", ylabel="rank")
    title(axes, f"{report.program.name}: what each rank did")
    drawing.legend(
        handles=[Patch(color=colour, label=name) for name, colour in DOING],
        loc="outside lower center",
        ncols=3,
        fontsize=8,
    )
    return drawing


def shares_of(of: Calls, edges: np.ndarray) -> np.ndarray:
    """By piece of time the share of each of `DOING`; nothing before MPI_Init ended, and after the last call."""
    doing = _kinds()[of.kind]
    spent_s = np.zeros((len(edges) - 1, len(DOING)))
    for at in range(1, len(DOING)):
        mine = doing == at
        begin_s, end_s = of.begin_s[mine], of.end_s[mine]
        if len(begin_s):
            # Time spent until each edge: calls of a rank do not overlap.
            times_s = np.column_stack([begin_s, end_s]).reshape(-1)
            until_s = np.concatenate([[0.0], np.repeat(np.cumsum(end_s - begin_s), 2)[:-1]])
            spent_s[:, at] = np.diff(np.interp(edges, times_s, until_s, left=0.0, right=float(until_s[-1])))
    spent_s[:, 0] = np.maximum(np.diff(edges) - spent_s.sum(axis=1), 0.0)
    last_s = of.end_s[-1] if len(of.end_s) else of.init_s
    spent_s[(edges[1:] <= of.init_s) | (edges[:-1] >= last_s)] = 0.0
    shares: np.ndarray = spent_s / np.diff(edges)[:, None]
    return shares


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
