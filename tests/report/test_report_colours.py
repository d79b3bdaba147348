# SPDX-License-Identifier: BSD-3-Clause
"""Colours that stand side by side differ for colour-blind readers, on white and on dark pages, and on grey paper."""

import itertools
import math
import re
from importlib.resources import files

import pytest

from rankwise.report.html import communication, distribution, look, over_time, stack

# Machado, Oliveira & Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), of
# severity 1, for linear RGB.
SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanope": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranope": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanope": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
LEAST_DIFFERENCE, LEAST_LIGHTNESS = 15, 8
PAGES = ("#ffffff", "#14181c")
BARS = {
    "time": stack.COLOURS.values(),
    "channels": [*distribution._COLOURS.values(), *distribution._CACHE_COLOURS],
    "sizes": {*communication._CHANNELS.values(), *communication._CACHES},
    "efficiency": (look.BLUE, look.ORANGE),
    "cores": re.findall(
        r"core\.(?:used|shared) \{ background: (#\w+)",
        (files("rankwise.report.html") / "report.css").read_text(),
    ),
}


def lab(colour, seen="normal"):
    """CIE L*a*b* under D65, as somebody sees it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (
        min(max(sum(factor * part for factor, part in zip(row, linear, strict=True)), 0), 1)
        for row in SEEN[seen]
    )
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    x, y, z = (
        each ** (1 / 3) if each > 216 / 24389 else (24389 / 27 * each + 16) / 116 for each in (x, y, z)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_differences_are_those_of_known_colours():
    assert lab("#ffffff") == pytest.approx((100, 0, 0), abs=0.02)
    assert lab("#ff0000") == pytest.approx((53.24, 80.09, 67.20), abs=0.02)
    # AND those that the report once had side by side are one colour for a deuteranope
    assert math.dist(lab("#cc79a7", "deuteranope"), lab("#999999", "deuteranope")) == pytest.approx(
        7.1, abs=0.1
    )


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("bars", BARS)
def test_pieces_of_a_bar_differ_for_everybody(bars, seen):
    colours = list(BARS[bars])
    assert len(colours) > 1
    for one, other in itertools.combinations(colours, 2):
        assert math.dist(lab(one, seen), lab(other, seen)) >= LEAST_DIFFERENCE, (one, other)


@pytest.mark.parametrize("bars", BARS)
def test_pieces_of_a_bar_differ_on_grey_paper(bars):
    for one, other in itertools.combinations(BARS[bars], 2):
        assert abs(lab(one)[0] - lab(other)[0]) >= LEAST_LIGHTNESS, (one, other)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("rows", [over_time._USED, over_time._TRACKS], ids=["used", "tracks"])
def test_rows_differ_from_the_next(rows, seen):
    for one, other in itertools.pairwise(rows.values()):
        assert math.dist(lab(one, seen), lab(other, seen)) >= LEAST_DIFFERENCE, (one, other)


@pytest.mark.parametrize("page", PAGES)
def test_pieces_of_a_bar_are_seen_on_the_page(page):
    for colour in itertools.chain(*BARS.values()):
        assert abs(lab(colour)[0] - lab(page)[0]) >= LEAST_LIGHTNESS, colour
