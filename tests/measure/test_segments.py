# SPDX-License-Identifier: BSD-3-Clause
"""Lines through times against size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.measure.fitting.segments import fit_line, held_out, segment

SIZES = np.array(sorted({1, *(2**k for k in range(23)), *(3 * 2**k for k in range(21))}), dtype=float)


def test_a_line_without_noise_is_found_exactly():
    intercept, slope, error = fit_line(SIZES, 1e-6 + SIZES * 1e-10)
    assert intercept == pytest.approx(1e-6, rel=1e-9)
    assert slope == pytest.approx(1e-10, rel=1e-9)
    assert error < 1e-12


def test_a_falling_line_becomes_level_and_none_starts_below_its_floor():
    x = np.array([1.0, 2.0, 3.0])
    assert fit_line(x, np.array([3.0, 2.0, 1.0]))[1] == 0
    intercept, slope, _ = fit_line(x, x, floor=0.5)
    assert intercept == 0.5
    assert 0 < slope < 1


@settings(max_examples=60, deadline=None)
@given(
    border=st.integers(6, len(SIZES) - 7),
    start=st.floats(1e-7, 1e-4),
    jump=st.floats(0.3, 3.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_protocol_switch_is_found_where_it_is(border, start, jump, seed):
    # GIVEN two lines with a jump of at least 30 % between them, and 1 % noise
    first = start + SIZES * start / SIZES[border]
    second = (1 + jump) * first[border] + (SIZES - SIZES[border]) * 0.5 * start / SIZES[border]
    y = np.where(np.arange(len(SIZES)) <= border, first, second)
    y = y * np.random.default_rng(seed).normal(1, 0.01, len(SIZES))
    # THEN one border is there, and both lines are true to 5 % where they are used
    lines = segment(SIZES, y)
    assert border in [line.last for line in lines]
    fitted = np.concatenate(
        [line.intercept + line.slope * SIZES[line.first : line.last + 1] for line in lines]
    )
    assert np.abs(fitted / y - 1).max() < 0.05


def test_a_single_line_with_noise_stays_one_segment():
    random = np.random.default_rng(5)
    alone = sum(
        len(segment(SIZES, (1e-6 + SIZES * 1e-9) * random.normal(1, 0.01, len(SIZES)))) == 1
        for _ in range(50)
    )
    assert alone >= 47


def test_a_known_border_is_kept_even_where_it_makes_small_segments():
    y = 1e-6 + SIZES * 1e-9
    assert [line.last for line in segment(SIZES, y, borders=[0])][0] == 0


def test_dynamic_programming_finds_what_trying_all_divisions_finds():
    # GIVEN 9 points and at most 3 segments
    random = np.random.default_rng(3)
    x = np.arange(1.0, 10.0)
    for _ in range(20):
        y = random.uniform(1, 2, 9)
        best = min(
            (sum(fit_line(x[a:b], y[a:b])[2] for a, b in zip((0, *cuts), (*cuts, 9), strict=True)), cuts)
            for cuts in [(i, j) for i in range(2, 6) for j in range(i + 2, 8)]
        )
        # WHEN three segments are forced by a tiny noise, THEN their borders are the same
        found = segment(x, y, most=3, least_points=2, errors=1e-9)
        assert tuple(line.first for line in found[1:]) == best[1]


def test_lines_follow_messages_that_outgrow_a_cache():
    # GIVEN times that grow faster than in proportion to size over the last three doublings
    x = np.array([2.0**k for k in range(23)])
    y = 1e-6 + 1e-10 * x
    for at, factor in ((20, 2.6), (21, 2.6), (22, 2.6)):
        y[at] = y[at - 1] * factor
    # WHEN lines are fitted that do not start below 0
    lines = segment(x - 1, y)
    fitted = np.concatenate([i.intercept + i.slope * (x[i.first : i.last + 1] - 1) for i in lines])
    # THEN a border lies among these sizes, and none is missed by much
    assert any(x[line.first] >= 2**19 for line in lines)
    assert np.abs(fitted / y - 1).max() < 0.2


def test_left_out_points_are_judged_by_lines_that_do_not_know_them():
    x = np.array([2.0**k for k in range(16)])
    y = 1e-6 + 1e-9 * x
    # GIVEN a line, THEN the error is nothing; with a turn that nobody told of it is not
    assert held_out(x, y).max() < 1e-9
    assert len(held_out(x, y)) == 14
    bumpy = y.copy()
    bumpy[7] *= 1.5
    assert held_out(x, bumpy).max() > 0.3
    # THEN points at a border stay, and a few points tell nothing
    assert len(held_out(x, y, borders=[7])) == 12
    assert len(held_out(x[:3], y[:3])) == 0
