# SPDX-License-Identifier: BSD-3-Clause
"""Stacked bars of few pieces, and where a rank's time went as such bars."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.quantities import seconds_text
from rankwise.report import FIRST_RANKS, time_words
from rankwise.report.data import ReportData
from rankwise.report.html.look import BLUE, DARK, GREEN, ORANGE, PINK, SKY
from rankwise.report.words import percent

COLOURS = {
    "computation": BLUE,
    "core": PINK,
    "waiting": ORANGE,
    "transfer": GREEN,
    "other_mpi": SKY,
    "unattributed": DARK,
}


@dataclass(frozen=True)
class Piece:
    """One piece of a bar.

    Attributes:
        share: Of the bar.
        colour: Its colour.
        tip: What it is, and how much.
    """

    share: float
    colour: str
    tip: str


@dataclass(frozen=True)
class Time:
    """The first screen's bars.

    Attributes:
        mean: Of the mean rank.
        mean_s: Its time.
        mean_time: The same as text, where it is not the run's.
        worst: Name, pieces and time likewise of the ranks that computed for the least part of theirs.
        note: What is not told apart.
    """

    mean: list[Piece]
    mean_s: float
    mean_time: str
    worst: list[tuple[str, list[Piece], str]]
    note: str | None


def time_bars(report: ReportData) -> Time | None:
    """The mean rank and the worst ones; `None` without times."""
    parts = time_words.parts(report)
    if not parts or report.time is None:
        return None
    whole = report.ranks.time_s
    mean_s = sum(whole) / len(whole)

    def pieces(seconds: list[float], of_s: float, meant: bool) -> list[Piece]:
        return [
            Piece(
                part_s / of_s if of_s > 0 else 0.0,
                COLOURS[part.key],
                f"{part.name}: {seconds_text(part_s)}, {percent(part_s / of_s if of_s > 0 else None)}"
                + (f"\n{part.meaning}" if meant else ""),
            )
            for part, part_s in zip(parts, seconds, strict=True)
        ]

    worst = [
        (
            f"rank {report.ranks.rank[at]}",
            pieces([part.seconds[at] for part in parts], whole[at], False),
            time_words.own_time(report, whole[at]),
        )
        for at in time_words.worst(report, min(FIRST_RANKS, len(whole) - 1))
    ]
    return Time(
        pieces([part.mean_s for part in parts], mean_s, True),
        mean_s,
        time_words.own_time(report, mean_s),
        worst,
        time_words.note(report.time),
    )


def time_legend(report: ReportData) -> list[tuple[str, str]]:
    """Name with the mean rank's share, and colour, of each part."""
    mean_s = sum(report.ranks.time_s) / max(len(report.ranks.time_s), 1)
    return [
        (f"{part.name} {percent(part.mean_s / mean_s if mean_s > 0 else None)}", COLOURS[part.key])
        for part in time_words.parts(report)
    ]
