# SPDX-License-Identifier: BSD-3-Clause
"""Measured against predicted times as a figure: one panel a case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.result import CaseResult


def draw(cases: Sequence[CaseResult], path: Path) -> None:
    """Write the figure; its format is that of the file name.

    Args:
        cases: Those of one lab.
        path: For example `accuracy.svg`.
    """
    import matplotlib

    # The same input gives the same file.
    with matplotlib.rc_context({"svg.hashsalt": "rankwise", "font.size": 9}):
        from matplotlib.figure import Figure

        cases = [case for case in cases if any(each.measured for each in case.distinct)]
        columns = max(1, min(3, len(cases)))
        rows = max(1, -(-len(cases) // columns))
        figure = Figure(figsize=(3.6 * columns, 3.4 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, case in zip(axes, cases, strict=False):
            _panel(axis, case)
        for axis in axes[len(cases) :]:
            axis.axis("off")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(axis, case: CaseResult) -> None:
    setting = case.setting
    known = [each for each in case.distinct if each.measured]
    measured = [each.measured.median_s for each in known]
    across = [
        [each.measured.median_s - each.measured.low_s for each in known],
        [each.measured.high_s - each.measured.median_s for each in known],
    ]
    upward = [
        [each.predicted_s - each.low_s for each in known],
        [each.high_s - each.predicted_s for each in known],
    ]
    predicted = [each.predicted_s for each in known]
    top = 1.15 * max(
        *measured, *predicted, *(each.high_s for each in known), *(each.bytes_only_s for each in known)
    )
    axis.fill_between([0, top], [0, 0.9 * top], [0, 1.1 * top], color="0.92", label="within 10 %")
    axis.plot([0, top], [0, top], color="0.6", linewidth=0.8)
    axis.errorbar(
        measured, predicted, xerr=across, yerr=upward, fmt="o", markersize=4, capsize=2, label="predicted"
    )
    axis.plot(
        measured, [each.bytes_only_s for each in known], "x", color="tab:orange", label="network bytes only"
    )
    for each in known:
        axis.annotate(
            each.name,
            (each.measured.median_s, each.predicted_s),
            fontsize=6,
            xytext=(4, -7),
            textcoords="offset points",
        )
    axis.set(
        title=f"{setting.program}, {setting.ranks} ranks, {show_rate(setting.rate_bytes_per_s)}",
        xlabel="measured (s)",
        ylabel="predicted (s)",
        xlim=(0, top),
        ylim=(0, top),
    )
    axis.legend(fontsize=6, loc="upper left")
