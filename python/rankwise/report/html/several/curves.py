# SPDX-License-Identifier: BSD-3-Clause
"""Curves over the number of ranks, for a template to draw as SVG: places in a picture of `WIDTH` x `HEIGHT`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankwise.quantities import counted
from rankwise.report import efficiency_words

WIDTH, HEIGHT = 540, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 18, 14, 40
_APART = 34
_HIDDEN = 3
_MARKS = ("circle", "square", "triangle", "diamond", "cross")


@dataclass(frozen=True)
class Point:
    """One value.

    Attributes:
        x: Its place.
        y: Likewise, downwards.
        tip: What it is.
    """

    x: float
    y: float
    tip: str


@dataclass(frozen=True)
class Curve:
    """Values of all runs.

    Attributes:
        name: What they are.
        colour: Its colour.
        mark: Shape of its points, which no other curve of the chart has: one of `circle`, `square`, `triangle`,
            `diamond`, `cross`.
        points: Those that are known.
        above: How many curves that are drawn later hide it: two points or more are at the same places.
    """

    name: str
    colour: str
    mark: str
    points: list[Point]
    above: int = 0


@dataclass(frozen=True)
class Chart:
    """Curves with their axes.

    Attributes:
        name: Of the vertical axis.
        x_ticks: Place and text.
        y_ticks: Likewise.
        curves: At most five.
        ideal: Ends of the line on which all would be best, as x, y, x, y.
    """

    name: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    curves: list[Curve]
    ideal: tuple[float, float, float, float]


def speed_up(ranks: Sequence[int], values: Sequence[float], colour: str) -> Chart:
    """Speed-up over ranks, both in powers of two; ideal is as many times as fast as there are times more ranks."""
    ideal = [each / ranks[0] for each in ranks]
    low, high = (math.log2(pick([*values, *ideal])) for pick in (min, max))
    ticks = [2.0**power for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
    while len(ticks) > 8:
        ticks = ticks[::2]

    def y(value: float) -> float:
        return _y((math.log2(value) - low) / (high - low))

    places = [_x(ranks, each) for each in ranks]
    points = [
        Point(x, y(value), f"{counted(each, 'rank')}: {value:.2f}, ideal {best:.2f}")
        for x, each, value, best in zip(places, ranks, values, ideal, strict=True)
    ]
    return Chart(
        "speed-up",
        _x_ticks(ranks),
        [(y(each), f"{each:g}") for each in ticks],
        [Curve("speed-up", colour, _MARKS[0], points)],
        (places[0], y(ideal[0]), places[-1], y(ideal[-1])),
    )


def efficiencies(ranks: Sequence[int], columns: Sequence[tuple[str, str, Sequence[float | None]]]) -> Chart:
    """Efficiencies over ranks.

    Args:
        ranks: Of the runs, ascending.
        columns: Name, colour and values of each curve.
    """
    most = max([1.0, *(value for _, _, values in columns for value in values if value is not None)])
    curves = []
    for (name, colour, values), mark in zip(columns, _MARKS, strict=False):
        points = [
            Point(
                _x(ranks, each),
                _y(value / most),
                f"{counted(each, 'rank')}: {name} {efficiency_words.text(value)}",
            )
            for each, value in zip(ranks, values, strict=True)
            if value is not None
        ]
        curves.append(Curve(name, colour, mark, points))
    curves = [
        replace(each, above=sum(_hides(later, each) for later in curves[at + 1 :]))
        for at, each in enumerate(curves)
    ]
    ticks = [fifth / 5 for fifth in range(6)]
    return Chart(
        "efficiency",
        _x_ticks(ranks),
        [(_y(each / most), f"{each:.1f}") for each in ticks],
        curves,
        (_x(ranks, ranks[0]), _y(1 / most), _x(ranks, ranks[-1]), _y(1 / most)),
    )


def _hides(later: Curve, first: Curve) -> bool:
    same = [
        point
        for point in first.points
        if any(point.x == other.x and abs(point.y - other.y) < _HIDDEN for other in later.points)
    ]
    return len(same) > 1


def _x(ranks: Sequence[int], value: int) -> float:
    share = math.log(value / ranks[0]) / math.log(ranks[-1] / ranks[0])
    return round(_LEFT + 10 + share * (WIDTH - _LEFT - _RIGHT - 20), 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM), 1)


def _x_ticks(ranks: Sequence[int]) -> list[tuple[float, str]]:
    """All numbers of ranks that do not stand on each other."""
    found: list[tuple[float, str]] = []
    for each in dict.fromkeys(ranks):
        if not found or _x(ranks, each) - found[-1][0] >= _APART:
            found.append((_x(ranks, each), str(each)))
    return found
