# SPDX-License-Identifier: BSD-3-Clause
"""A study's figures for papers, drawn with matplotlib (the extra `figures`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.study.result import Figure, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "os^Dv*P"


def is_possible() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(figure: Figure, path: Path) -> None:
    """Write the figure; the suffix of `path` is its format."""
    import matplotlib

    from rankwise import whole_files

    whole_files.refuse_special(path)
    with matplotlib.rc_context({"svg.hashsalt": "rankwise", "font.size": 9, "axes.prop_cycle": _cycle()}):
        from matplotlib.figure import Figure as Drawing

        names = figure.kind != "lines"
        width = max(6.4, 0.9 * len(figure.series[0].x)) if names else 6.4
        drawing = Drawing(figsize=(width, 3.6))
        drawing.set_layout_engine("constrained")
        axes = drawing.subplots()
        {"lines": _lines, "bars": _bars, "stacked": _stacked}[figure.kind](axes, figure)
        axes.set(xlabel=figure.x_label, ylabel=figure.y_label, yscale=figure.y_scale)
        axes.set_title(figure.title, loc="left")
        axes.grid(alpha=0.3, axis="both" if figure.kind == "lines" else "y")
        axes.legend(fontsize=8)
        drawing.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _cycle() -> Any:
    from cycler import cycler

    # Of the palette of Okabe & Ito (2008), which colour-blind readers can tell apart.
    return cycler(color=["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"])


def _lines(axes: Axes, figure: Figure) -> None:
    for at, series in enumerate(figure.series):
        points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        x, y = zip(*points, strict=True) if points else ((), ())
        style = "--" if series.paper or series.name == "ideal" else "-"
        axes.plot(
            x, y, style, marker=_MARKERS[at % len(_MARKERS)], markersize=3, linewidth=1.2, label=series.name
        )
    axes.set_xscale(figure.x_scale)


def _bars(axes: Axes, figure: Figure) -> None:
    names = [str(name) for name in figure.series[0].x]
    each = 0.8 / len(figure.series)
    for at, series in enumerate(figure.series):
        where = [place - 0.4 + each * (at + 0.5) for place in range(len(names))]
        axes.bar(where, _heights(series), each, label=series.name, hatch="//" if series.paper else None)
    axes.set_xticks(range(len(names)), names)


def _stacked(axes: Axes, figure: Figure) -> None:
    """Shares on each other, and points for a series that is called `overall`."""
    names = [str(name) for name in figure.series[0].x]
    below = [0.0] * len(names)
    for series in figure.series:
        heights = _heights(series)
        if series.name == "overall":
            axes.plot(names, heights, "kD", markersize=5, label=series.name)
            continue
        axes.bar(names, heights, 0.6, below, label=series.name)
        below = [a + b for a, b in zip(below, heights, strict=True)]


def _heights(series: Series) -> list[float]:
    return [y or 0.0 for y in series.y]
