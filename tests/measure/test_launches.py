# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of what few launches timed, where launches differ by a known spread."""

import numpy as np
import pytest

from rankwise.measure.fitting.launches import UNKNOWN, UNKNOWN_OWN, launch_spread
from rankwise.measure.fitting.points import Points

TESTS = {"pingpong": 1e-6, "gap": 4e-7, "send_busy": 2e-7, "receive_busy": 3e-7}
SIZES = [4**k for k in range(6)]


def timed(random, launches, common, own, quantities=TESTS, each=3):
    """Points of known values, whose launches differ by `common` of a test and by `own` of a point."""
    points = Points()
    for quantity, value in quantities.items():
        shared = random.normal(0, common, launches)
        for size in SIZES:
            moved = value * (1 + shared + random.normal(0, own, launches))
            points.values[quantity, size] = {
                launch: middle * (1 + random.normal(0, 0.002, each)) for launch, middle in enumerate(moved)
            }
    return points


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launches", "common", "own"),
    [
        (2, 0.02, 0.02),
        (5, 0.02, 0.02),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [(3, 0.02, 0.02), (2, 0.1, 0), (2, 0, 0.1)]
        ),
    ],
)
def test_an_interval_holds_the_true_value_as_often_as_it_says_however_few_the_launches(launches, common, own):
    # GIVEN 400 measurements of known values, whose launches lie apart all points alike, each by itself, or both
    random = np.random.default_rng(launches)
    held = []
    for _ in range(400):
        points = timed(random, launches, common, own)
        found = points.median("pingpong", SIZES[2])
        held.append(found.low <= TESTS["pingpong"] <= found.high)
    # THEN 95 % of the intervals hold them (400 draws: +-2.2 %), or a little more
    assert 0.925 <= np.mean(held) <= 0.985


def test_what_all_points_have_in_common_is_not_known_better_for_many_points():
    # GIVEN three launches that lie 5 % apart in all points of the only test
    points = Points()
    for size in SIZES:
        points.values["pingpong", size] = {0: np.full(9, 0.95), 1: np.full(9, 1.0), 2: np.full(9, 1.05)}
    # THEN the interval is that of a median of three: Student's factor for two degrees of freedom is 4.3
    found = points.median("pingpong", 1)
    assert found.value == pytest.approx(1.0)
    assert np.log(found.high) == pytest.approx(4.3 * 0.05 * np.sqrt(0.449), rel=0.15)


def test_spreads_are_those_that_launches_were_made_with():
    points = timed(np.random.default_rng(5), 40, 0.05, 0.02)
    spread, (error,) = points.spread, {round(each, 4) for each in points.errors.values()}
    assert spread.common.deviation * error == pytest.approx(0.05, rel=0.15)
    assert spread.own["pingpong"].deviation * error == pytest.approx(0.02, rel=0.15)
    # THEN 4 tests of 40 launches have so many degrees of freedom, and what is left of 6 points of a test
    assert spread.common.freedom == 4 * 39
    assert spread.own["pingpong"].freedom == 6 * 39 - 39


def test_points_whose_samples_scatter_more_differ_more_from_launch_to_launch():
    # GIVEN launches that differ by three times what their samples say, of messages known to 0.3 % and to 3 %
    random = np.random.default_rng(4)
    points = Points()
    for size in (1, 2, 4, 8, 16, 32):
        error = 0.003 if size > 4 else 0.03
        scatter = error / np.sqrt(np.pi / 2 / 25)
        points.values["pingpong", size] = {
            launch: random.normal(1 + random.normal(0, 3 * error), scatter, 25) for launch in range(3)
        }
    known, unknown = (points.median("pingpong", size).half_width for size in (32, 1))
    assert known < 0.03 < unknown


def test_a_point_of_one_launch_is_as_uncertain_as_launches_of_the_others_say():
    random = np.random.default_rng(9)
    held = []
    for _ in range(300):
        points = timed(random, 3, 0.02, 0.02)
        del points.values["pingpong", 16][1], points.values["pingpong", 16][2]
        found = points.median("pingpong", 16)
        held.append(found.low <= TESTS["pingpong"] <= found.high)
    assert np.mean(held) >= 0.92


def test_one_launch_of_all_is_not_taken_to_be_every_launch():
    points = timed(np.random.default_rng(1), 1, 0.0, 0.0)
    found = points.median("pingpong", 1)
    # THEN Student's factor of three degrees of freedom, 3.18, for what launches elsewhere differed by
    spread = np.hypot(UNKNOWN.deviation, UNKNOWN_OWN.deviation) * points.errors["pingpong", 1]
    assert found.half_width == pytest.approx(3.18 * spread, rel=0.2)


def test_two_launches_of_one_test_are_taken_together_with_what_is_known_elsewhere():
    # GIVEN one degree of freedom, whose own interval would be 12.7 times as wide as what it saw
    points = timed(np.random.default_rng(1), 2, 0.0, 0.0, {"pingpong": 1e-6})
    assert points.spread.common.freedom == UNKNOWN.freedom + 1


def test_timings_that_a_subtraction_left_at_nothing_tell_no_spread():
    medians = {("gap", 1): {0: -1e-9, 1: 1e-9}, ("gap", 8): {0: 0.98, 1: 1.02, 2: 1.0}}
    spread = launch_spread(medians, {("gap", 1): 0.01, ("gap", 8): 0.01}, {"gap": "stream"})
    assert spread.common.deviation == pytest.approx(2.0)
