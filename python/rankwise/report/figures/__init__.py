# SPDX-License-Identifier: BSD-3-Clause
"""The report's main figures for papers, as SVG and PDF, drawn with matplotlib (the extra `figures`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.quantities import bytes_text
from rankwise.recording import Recording
from rankwise.report import time_words, words
from rankwise.report.data import ReportData
from rankwise.report.figures import timeline
from rankwise.report.figures.drawing import MOST_GROUPS, NOTHING, SHADES, new, rank_ticks, title
from rankwise.report.html.distribution import bars, legend
from rankwise.report.html.stack import COLOURS
from rankwise.report.matrix import coarser

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf")
_MOST_LINES = 64
# Values of which the least is more than a tenth of the most are on a scale from 0, as in the HTML.
_CLOSE = 10


def check(directory: Path, force: bool) -> None:
    """Refuse, before any work, where nothing can be drawn or written.

    Raises:
        RankwiseError: Matplotlib is not installed, or there are files already.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "`--figures` needs matplotlib, which is not installed", "`pip install 'rankwise[figures]'`"
        ) from None
    whole_files.check_free_directory(directory, force)


def write(directory: Path, report: ReportData, recording: Recording) -> list[str]:
    """Write all figures there are: NAME.svg and NAME.pdf of each.

    Returns:
        Why others cannot be had.

    Raises:
        RankwiseError: The directory cannot be written.
    """
    import matplotlib

    missing = []
    ways: dict[str, Callable[[], Figure]] = {
        "time-per-rank": lambda: _time(report),
        "communication-matrix": lambda: draw_matrix(report),
        "message-distribution": lambda: draw_distribution(report),
        "timeline": lambda: timeline.draw(report, recording),
    }
    with (
        whole_files.filling(directory) as scratch,
        matplotlib.rc_context({"svg.hashsalt": "rankwise", "font.size": 9}),
    ):
        for name, draw in ways.items():
            try:
                drawing = draw()
            except RankwiseError as error:
                missing.append(
                    f"no figure `{name}`: {error.message}" + (f"; {error.hint}" if error.hint else "")
                )
                continue
            for ending in FORMATS:
                drawing.savefig(
                    scratch / f"{name}{ending}",
                    metadata={"Date": None} if ending == ".svg" else {"CreationDate": None},
                )
    return missing


def _time(report: ReportData) -> Figure:
    parts = time_words.parts(report)
    if not parts:
        raise RankwiseError("calls were not timed")
    drawing = new(3.6)
    axes = drawing.subplots()
    edges = np.arange(len(report.ranks.rank) + 1) - 0.5
    below = np.zeros(len(report.ranks.rank))
    for part in parts:
        above = below + np.array(part.seconds)
        # One shape for all ranks: there may be thousands.
        axes.stairs(
            above, edges, baseline=below, fill=True, color=COLOURS[part.key], label=part.name, linewidth=0
        )
        below = above
    axes.set(xlabel="rank", ylabel="time (s)", xlim=(edges[0], edges[-1]))
    rank_ticks(axes.xaxis)
    title(axes, f"{report.program.name} on {report.program.world_size} ranks: time per rank")
    drawing.legend(loc="outside lower center", ncols=3, fontsize=8)
    return drawing


def draw_matrix(report: ReportData) -> Figure:
    """Bytes from each rank to each.

    Raises:
        RankwiseError: There are no messages.
    """
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
    from matplotlib.ticker import FuncFormatter

    matrix = coarser(report.matrix, MOST_GROUPS)
    if not matrix.source:
        raise RankwiseError("there are no messages")
    cells = np.zeros((matrix.groups, matrix.groups))
    # Messages without bytes are seen as those of one.
    cells[matrix.source, matrix.destination] = np.maximum(matrix.bytes, 1)
    drawing = new(5.4)
    axes = drawing.subplots()
    axes.set_facecolor(NOTHING)
    ranks, step = report.program.world_size, matrix.ranks_per_group
    if matrix.members:
        ranks, step = matrix.groups, 1
    most = matrix.groups * step - 0.5
    least, highest = float(cells[cells > 0].min()), float(cells.max())
    image = axes.imshow(
        np.ma.masked_equal(cells, 0),
        norm=Normalize(0, highest) if highest < _CLOSE * least else LogNorm(least, highest),
        extent=(-0.5, most, most, -0.5),
        interpolation="nearest",
        cmap=LinearSegmentedColormap.from_list("rankwise", SHADES),
    )
    ends = [at - 0.5 for at in np.flatnonzero(np.diff(report.ranks.host)) + 1]
    if matrix.members:
        of_rank = dict(zip(report.ranks.rank, report.ranks.host, strict=True))
        hosts = [of_rank.get(some[0], -1) for some in matrix.members]
        ends = [at - 0.5 for at in np.flatnonzero(np.diff(hosts)) + 1]
    if len(ends) <= _MOST_LINES and report.ranks.rank == list(range(report.program.world_size)):
        for at in ends:
            axes.axhline(at, color="0.5", linewidth=0.4)
            axes.axvline(at, color="0.5", linewidth=0.4)
    of = words.matrix_unit(report, matrix) if matrix.members else "rank"
    axes.set(
        xlabel=f"receiver ({of})", ylabel=f"sender ({of})", xlim=(-0.5, ranks - 0.5), ylim=(ranks - 0.5, -0.5)
    )
    for axis in (axes.xaxis, axes.yaxis):
        rank_ticks(axis)
    label = "bytes" if step == 1 else f"bytes, {step} ranks a cell"
    drawing.colorbar(image, ax=axes, label=label, format=FuncFormatter(lambda size, _: bytes_text(size)))
    title(axes, f"{report.program.name}: bytes sent")
    return drawing


def draw_distribution(report: ReportData) -> Figure:
    """Which channel messages and bytes travel, a row a placement.

    Raises:
        RankwiseError: Where the ranks ran is not known.
    """
    from matplotlib.patches import Patch

    if not report.distributions:
        raise RankwiseError("where the ranks ran is not known")
    drawing = new(2.8 * len(report.distributions))
    rows = drawing.subplots(len(report.distributions), 2, squeeze=False)
    for placed, both in zip(report.distributions, rows, strict=True):
        keys: dict[str, str] = {}
        for axes, (what, found) in zip(both, bars(placed), strict=True):
            names = [name for name, _, _ in found]
            left = np.zeros(len(found))
            for at, (label, colour) in enumerate(legend(placed)):
                shares = np.array([100 * pieces[at].share for _, pieces, _ in found])
                axes.barh(names, shares, 0.7, left, color=colour)
                left += shares
                if shares.any():
                    keys[label] = colour
            axes.invert_yaxis()
            axes.set(xlabel=f"share of the {what} (%)", xlim=(0, 100))
        title(both[0], placed.name)
        handles = [Patch(color=colour, label=label) for label, colour in keys.items()]
        both[1].legend(handles=handles, fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1))
    return drawing
