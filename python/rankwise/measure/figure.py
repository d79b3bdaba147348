# SPDX-License-Identifier: BSD-3-Clause
"""Measured curves with their fits as one figure for papers, drawn with matplotlib (the extra `figures`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankwise.measure.curves import Curve

FORMATS = (".svg", ".pdf", ".png")


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Write the figure; its suffix is the format."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "rankwise", "font.size": 9}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.2 * max(1, len(curves))))
        figure.set_layout_engine("constrained")
        for axes, curve in zip(
            figure.subplots(max(1, len(curves)), squeeze=False)[:, 0], curves, strict=False
        ):
            below, above = curve.times_s - curve.low_s, curve.high_s - curve.times_s
            axes.errorbar(
                curve.sizes,
                curve.times_s,
                yerr=[below, above],
                fmt=".",
                color="0.4",
                markersize=4,
                label="median",
            )
            for at, (x, y) in enumerate(curve.lines):
                axes.plot(x, y, linewidth=1.2, label=f"segment {at + 1}")
            if curve.limit is not None:
                axes.axvline(curve.limit, color="0.6", linestyle="--", linewidth=0.8, label="eager limit")
            axes.set(xscale="log", yscale="log", xlabel="message (bytes)", ylabel="half a round trip (s)")
            axes.set_title(f"channel {curve.channel}", loc="left")
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
