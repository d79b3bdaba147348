# SPDX-License-Identifier: BSD-3-Clause
"""What each rank did, piece by piece of the recorded run, as one raster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.recording import Recording
from rankwise.report.communication.over_time import spent
from rankwise.report.data import ReportData
from rankwise.report.figures.drawing import MOST_GROUPS, new, rank_ticks, title
from rankwise.report.html.communication import states
from rankwise.report.html.stack import COLOURS
from rankwise.report.matrix import ranks_per_group
from rankwise.report.waiting import split_waits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PIECES = 1600
_PARTS = ("computation", "core", "waiting", "transfer", "other_mpi")


def draw(report: ReportData, recording: Recording) -> Figure:
    """The recorded run, a row a rank; of many ranks, a row for consecutive ones.

    Raises:
        RankwiseError: No exact trace of the whole run, or one without calls.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    # Says what is missing where there is no trace.
    timeline = recording.timeline()
    split = split_waits(recording, Evidence(recording).computation)
    if split is None or split.waits is None:
        raise RankwiseError(
            "waiting is not known" if split is None else split.why_not or "waiting is not known"
        )
    if not any(len(each.end_s) for each in timeline.ranks):
        raise RankwiseError("there are no calls in the trace")
    ranks = report.program.world_size
    unit = ranks_per_group(ranks, MOST_GROUPS)
    edges, spent_s = spent(recording, split, _PIECES, unit)
    members = np.diff(np.append(np.arange(0, ranks, unit), ranks))
    shares = spent_s[:, 1:] / ((edges[1] - edges[0]) * members[:, None, None])
    # What several things share has a colour between theirs; before and after a rank's run nothing is drawn.
    colours = np.array([to_rgb(COLOURS[part]) for part in _PARTS])
    there = shares.sum(axis=1)
    raster = np.einsum("gpt,pc->gtc", shares, colours) / np.maximum(there, 1e-300)[:, :, None]
    drawing = new(min(2.0 + 0.08 * len(shares), 7.0))
    axes = drawing.subplots()
    axes.imshow(
        np.clip(np.concatenate([raster, there[:, :, None]], axis=2), 0, 1),
        extent=(0, float(edges[-1] - edges[0]), len(shares) * unit - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set(xlabel="time after MPI_Init (s)", ylabel="rank", ylim=(ranks - 0.5, -0.5))
    rank_ticks(axes.yaxis)
    title(axes, f"{report.program.name}: what each rank did")
    drawing.legend(
        handles=[Patch(color=each["colour"], label=each["name"]) for each in states(report)],
        loc="outside lower center",
        ncols=3,
        fontsize=8,
    )
    return drawing
