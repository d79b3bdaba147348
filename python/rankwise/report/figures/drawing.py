# SPDX-License-Identifier: BSD-3-Clause
"""What all figures have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new(height: float) -> Figure:
    """A figure as wide as a page's text; its height in inches."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(6.4, height))
    drawing.set_layout_engine("constrained")
    return drawing


def title(axes: Axes, text: str) -> None:
    """A title of the user's words, of which none is taken for a formula."""
    axes.set_title(text.replace("$", r"\$"), loc="left")
