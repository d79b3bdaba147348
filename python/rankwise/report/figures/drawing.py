# SPDX-License-Identifier: BSD-3-Clause
"""What all figures have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_GROUPS = 1024  # rows of rasters
# Of matrices, least to most, and where there is nothing: those of the HTML.
SHADES = (
    "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"
)  # fmt: skip
NOTHING = "#eef1f3"


def new(height: float) -> Figure:
    """A figure as wide as a page's text; its height in inches."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(6.4, height))
    drawing.set_layout_engine("constrained")
    return drawing


def title(axes: Axes, text: str) -> None:
    """A title of the user's words, of which none is taken for a formula."""
    axes.set_title(text.replace("$", r"\$"), loc="left")


def rank_ticks(axis: Axis) -> None:
    """Numbers of ranks, which are whole."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 4, 5, 8, 10]))
