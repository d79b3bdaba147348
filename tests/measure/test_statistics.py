# SPDX-License-Identifier: BSD-3-Clause
"""Medians, their intervals, and regimes."""

import math

import numpy as np
import pytest

from rankwise.measure.fitting.statistics import confidence_of, find_modes, interval_ranks, median


def test_interval_ranks_are_those_of_the_tables():
    # GIVEN Le Boudec's table of order statistics for the median at 95 %, counted from 1: 6: 1-6, 10: 2-9, 30: 10-21
    assert interval_ranks(6) == (0, 5)
    assert interval_ranks(10) == (1, 8)
    assert interval_ranks(30) == (9, 20)
    # THEN five values have no such interval and give their range
    assert interval_ranks(5) == (0, 4)


def test_the_interval_holds_the_true_median_as_often_as_it_says():
    # GIVEN skewed timings with a median of 1
    random = np.random.default_rng(23)
    held = 0
    for _ in range(1000):
        found = median(np.exp(random.normal(0, 0.5, 23)))
        held += found.low <= 1 <= found.high
    # THEN at least 95 % of intervals hold it (93 % allows for 1000 draws)
    assert held >= 930


def test_two_regimes_are_told_apart_and_their_shares_known():
    # GIVEN 70 % near (28 ns) and 30 % far (170 ns) with 5 % noise
    random = np.random.default_rng(7)
    values = np.concatenate([28e-9 * random.normal(1, 0.05, 70), 170e-9 * random.normal(1, 0.05, 30)])
    modes = find_modes(values)
    assert modes.two
    assert modes.faster == 0.7
    assert 28e-9 < modes.border < 170e-9
    assert modes.ratio == pytest.approx(170 / 28, rel=0.05)


def test_a_tail_is_no_regime():
    # GIVEN one regime, with a heavy tail
    random = np.random.default_rng(11)
    values = 1e-6 * (1 + random.pareto(2.0, 500) * 0.1)
    assert not find_modes(values).two


def test_a_few_outliers_are_no_regime():
    assert math.isinf(find_modes(np.array([1.0] * 99 + [100.0])).border)


def test_many_timings_have_an_interval_that_goes_on_from_that_of_few():
    few, many = interval_ranks(500), interval_ranks(501)
    assert abs(few[0] - many[0]) <= 2
    low, high = interval_ranks(100_000)
    assert 49_600 < low < 50_000 < high < 50_400
    assert 0.94 < confidence_of(100_000) < 1
