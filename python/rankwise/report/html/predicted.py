# SPDX-License-Identifier: BSD-3-Clause
"""Placements compared as bars, and what predicted timelines are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankwise.quantities import seconds_text
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from rankwise.report.html.stack import Piece
from rankwise.report.predicted import words as predicted_words
from rankwise.report.predicted.data import PlacementPrediction
from rankwise.report.words import percent

# What each part of the time is, in words, by the group that it is drawn in: colours are those of the recorded time.
_GROUPS = {
    "computation": (BLUE, {"computation": "computation"}),
    "slowed by others": (
        PINK,
        {
            "core_sharing": "others use its core",
            "memory": "others load its memory or cache",
            "interrupts": "its core does the node's protocol work",
        },
    ),
    "waiting for other ranks": (
        ORANGE,
        {
            "late_sender": "the send had not begun",
            "late_receiver": "the receive was not posted",
            "no_progress": "the other rank was not in MPI",
            "waiting": "waiting and transfer",
        },
    ),
    "queues": (
        YELLOW,
        {
            "full_buffer": "a buffer was full",
            "link_queue": "others of the rank",
            "tx_queue": "others at the sender's interface",
            "rx_queue": "others at the receiver's interface",
            "port_queue": "others at switch ports",
        },
    ),
    "transfer": (GREEN, {"transfer": "latency and bytes"}),
    "processor time of messages": (SKY, {"overhead": "overhead"}),
    "other": (GREY, {"rest": "no message explains it", "ended": "ended before the last rank"}),
}
_STATES = {
    "c": ("computation", BLUE),
    "w": ("waiting for other ranks", ORANGE),
    "t": ("transfer", GREEN),
    "o": ("processor time of messages", SKY),
}


@dataclass(frozen=True)
class Bar:
    """One placement.

    Attributes:
        placement: What is predicted of it.
        share: Its time, of the longest bar with its interval.
        low: Where its interval begins, likewise; `None` without one.
        high: Where it ends.
        pieces: What the time of its mean rank consists of.
        change: How much less or more that is than as it ran, as text.
    """

    placement: PlacementPrediction
    share: float
    low: float | None
    high: float | None
    pieces: list[Piece]
    change: str


def bars(report: ReportData) -> list[Bar]:
    """Of the placements that are predicted."""
    if report.predicted is None:
        return []
    known = predicted_words.known(report)
    longest = max((max(each.time_s or 0.0, each.high_s or 0.0) for each in known), default=0.0) or 1.0
    ran_s = predicted_words.ran_s(report)
    return [
        Bar(
            each,
            (each.time_s or 0.0) / longest,
            None if each.low_s is None else each.low_s / longest,
            None if each.high_s is None else each.high_s / longest,
            _pieces(each),
            predicted_words.change_text(each, ran_s),
        )
        for each in known
    ]


def legend(report: ReportData) -> list[tuple[str, str]]:
    """Name and colour of each group that any placement has."""
    placements = report.predicted.placements if report.predicted else []
    there = {name for each in placements for name in each.parts_s}
    return [(name, colour) for name, (colour, parts) in _GROUPS.items() if there & parts.keys()]


def timeline_legend() -> list[tuple[str, str]]:
    """Name and colour of what ranks do."""
    return list(_STATES.values())


def drawn(report: ReportData) -> dict[str, Any] | None:
    """What `predicted.js` draws; `None` where nothing is known over time."""
    placements = report.predicted.placements if report.predicted else []
    known = [(each.name, each.timeline) for each in placements if each.timeline]
    if not known:
        return None
    return {
        "states": [
            {"letter": letter, "name": name, "colour": colour} for letter, (name, colour) in _STATES.items()
        ],
        "end_s": max(timeline.end_s for _, timeline in known),
        "placements": [
            {
                "name": name,
                "end_s": timeline.end_s,
                "ranks_per_row": timeline.ranks_per_row,
                "rows": timeline.rows,
            }
            for name, timeline in known
        ],
    }


def _pieces(placement: PlacementPrediction) -> list[Piece]:
    of_s = placement.time_s or 0.0
    found = []
    for name, (colour, parts) in _GROUPS.items():
        own = {said: placement.parts_s[key] for key, said in parts.items() if key in placement.parts_s}
        whole_s = sum(own.values())
        if whole_s > 0 and of_s > 0:
            lines = [f"{name}: {seconds_text(whole_s)}, {percent(whole_s / of_s)}"]
            if list(own) != [name]:
                lines += [f"{said}: {seconds_text(part_s)}" for said, part_s in own.items()]
            found.append(Piece(whole_s / of_s, colour, "\n".join(lines)))
    return found
