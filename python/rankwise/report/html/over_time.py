# SPDX-License-Identifier: BSD-3-Clause
"""Rows and colours of what happened over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.report import use_words
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW

_USED = {
    "involuntary switches": BLUE,
    "page faults": ORANGE,
    "interrupts": SKY,
    "NET_RX and NET_TX": GREY,
    "bytes of interfaces": YELLOW,
    "system time": GREEN,
    "waiting for a core": PINK,
}
_TRACKS = {
    "waiting for a core": PINK,
    "interrupts": SKY,
    "NET_RX": GREY,
    "bytes": YELLOW,
    "bytes of ports": BLUE,
    "bytes of memory": ORANGE,
    "kept": GREEN,
    "undone": ORANGE,
}


def _some(report: ReportData) -> list[tuple[str, Sequence[float | None]]]:
    """Rows of which there is something to see."""
    return [row for row in use_words.over_time(report.use) if use_words.most(row[1])]


def unused(report: ReportData) -> list[str]:
    """What is known and was nothing all the while: it has no row."""
    return [label for label, values in use_words.over_time(report.use) if not use_words.most(values)]


def used(report: ReportData) -> list[dict[str, Any]]:
    """What all ranks used, a row a kind; none without samples over time."""
    pieces = use_words.pieces(report.use)
    edges_s = [each.begin_s for each in pieces] + [each.end_s for each in pieces[-1:]]
    return [
        {
            "name": label,
            "colour": _USED[label],
            "edges_s": edges_s,
            "values": list(values),
            "texts": [None if value is None else use_words.rate_text(label, value) for value in values],
        }
        for label, values in _some(report)
    ]


def used_legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each row: what it is where it is strongest."""
    return [
        (f"{label}, at most {use_words.rate_text(label, use_words.most(values))}", _USED[label])
        for label, values in _some(report)
    ]


def track_colours(report: ReportData) -> dict[str, str]:
    """By kind of track and by what became of a change, of those that there are."""
    kinds = {track.kind for track in (report.use.timeline.tracks if report.use.timeline else ())}
    kinds |= {change.became for change in report.tuning}
    return {kind: colour for kind, colour in _TRACKS.items() if kind in kinds}


def tracks_legend(report: ReportData) -> list[tuple[str, str]]:
    """Label and colour of each kind of track, likewise; empty where nothing is known over time."""
    tracks = report.use.timeline.tracks if report.use.timeline else []
    most: dict[str, float] = {}
    for track in tracks:
        most[track.kind] = max([most.get(track.kind, 0.0), *(value or 0.0 for value in track.per_s)])
    found = [
        (f"{kind}, at most {use_words.track_rate_text(kind, most[kind])}", colour)
        for kind, colour in _TRACKS.items()
        if most.get(kind, 0) > 0
    ]
    # What ended before MPI_Init has no place here.
    became = {each.became for each in report.tuning if each.ended_s is None or each.ended_s > 0}
    found += [
        (f"change of `rankwise tune`, {word}", _TRACKS[word]) for word in ("kept", "undone") if word in became
    ]
    if became - {"kept", "undone"}:
        found.append(("change of `rankwise tune`, not tried", GREY))
    if any(track.moves_s for track in tracks):
        found.append(("line: came to another core", "currentColor"))
    return found
