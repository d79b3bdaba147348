# SPDX-License-Identifier: BSD-3-Clause
"""Colours of message sizes and of phases."""

from __future__ import annotations

from typing import Any

from rankwise.report.communication_words import channel_names
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, DARK, GREEN, ORANGE, PINK, SKY
from rankwise.report.html.stack import COLOURS
from rankwise.report.words import size_text

_CHANNELS = {"package": BLUE, "node": ORANGE, "network": PINK, "unbound": DARK, "all": BLUE}
_CACHES = (SKY, GREEN)
_STATES = {
    "computation": ("c", "computation"),
    "core": ("q", "waiting for a core"),
    "waiting": ("w", "waiting for other ranks"),
    "transfer": ("t", "transfer"),
    "other_mpi": ("o", "other MPI"),
}


def channels(report: ReportData) -> list[tuple[str, str]]:
    """Name and colour of each channel of the message sizes."""
    found, caches = [], 0
    for channel, name in zip(report.sizes.channels, channel_names(report), strict=True):
        if channel in _CHANNELS:
            found.append((name, _CHANNELS[channel]))
        else:
            found.append((name, _CACHES[caches % len(_CACHES)]))
            caches += 1
    return found


def size_look(report: ReportData) -> dict[str, Any]:
    """What the page's pictures of message sizes are drawn with."""
    return {
        "labels": [size_text(size) for size in report.sizes.up_to_bytes],
        "channels": [{"name": name, "colour": colour} for name, colour in channels(report)],
    }


def states(report: ReportData) -> list[dict[str, str]]:
    """What ranks do over time: key, letter in the rows, name and colour of each that some rank did."""
    over = report.over_time
    return [
        {"key": key, "letter": letter, "name": name, "colour": COLOURS[key]}
        for key, (letter, name) in _STATES.items()
        if over is not None and (key == "computation" or any(getattr(over, key)))
    ]


def state_legend(report: ReportData) -> list[tuple[str, str]]:
    """Name and colour of each."""
    return [(each["name"], each["colour"]) for each in states(report)]
