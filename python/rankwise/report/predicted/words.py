# SPDX-License-Identifier: BSD-3-Clause
"""Placements compared: what every view says of them."""

from __future__ import annotations

from rankwise.explain.loss import loss_name
from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.predicted.data import PlacementPrediction, Predicted
from rankwise.report.words import percent

_LEAST_LOSS = 0.01


def known(report: ReportData) -> list[PlacementPrediction]:
    """Those that are predicted."""
    placements = report.predicted.placements if report.predicted else []
    return [each for each in placements if each.time_s is not None]


def ran_s(report: ReportData) -> float | None:
    """Predicted time as it ran; `None` where that is not predicted."""
    return report.predicted.placements[0].time_s if known(report) and report.predicted else None


def change_text(placement: PlacementPrediction, ran_s: float | None) -> str:
    """How much less or more than as it ran."""
    if placement.time_s is None or ran_s is None or placement.time_s == ran_s:
        return "-"
    change_s = placement.time_s - ran_s
    return f"{seconds_text(abs(change_s))} {'less' if change_s < 0 else 'more'}"


def between_nodes(report: ReportData) -> dict[str, int]:
    """By placement the bytes between nodes, of those that are on the map."""
    return {placed.name: sum(node.sent_bytes for node in placed.nodes) for placed in report.map.placed}


def largest_losses(placement: PlacementPrediction) -> list[tuple[str, float, str]]:
    """Name, seconds and share of the time of what is lost to one thing, those that are worth a word."""
    of_s = placement.time_s or 0.0
    return [
        (loss_name(loss.kind, loss.name, loss.part), loss.lost_s, percent(loss.lost_s / of_s))
        for loss in placement.losses
        if loss.kind != "communication" and of_s and loss.lost_s >= _LEAST_LOSS * of_s
    ]


def notes(predicted: Predicted) -> list[str]:
    """On which machine, what is not predicted and why, and where the best placement comes from."""
    said = []
    if any(each.time_s is not None for each in predicted.placements):
        anchored = ", times anchored at the recorded run" if predicted.anchored else ""
        said.append(f"predicted on {predicted.machine}{anchored}")
    said += [f"not predicted, {each.name}: {each.why_not}" for each in predicted.placements if each.why_not]
    if predicted.why_not:
        said.append(f"no time is predicted: {predicted.why_not}")
    elif predicted.why_none_placed:
        said.append(predicted.why_none_placed)
    else:
        said.append(
            f"as placed: the best of a search of {predicted.search_s:g} s; `rankwise place` searches for longer"
        )
    return said
