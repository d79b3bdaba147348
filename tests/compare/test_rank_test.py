# SPDX-License-Identifier: BSD-3-Clause
"""The rank test and the shift, against published values and against counting all divisions."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.compare.rank_test import least_p, rank_test, shift

samples = st.lists(st.integers(0, 9), min_size=1, max_size=5)


def mean_ranks(values):
    return [sum(o < v for o in values) + (sum(o == v for o in values) + 1) / 2 for v in values]


@pytest.mark.parametrize(("size", "p"), [(3, 2 / 20), (4, 2 / 70), (5, 2 / 252)])
def test_samples_that_do_not_overlap_have_the_least_p(size, p):
    # GIVEN all values after above all before
    before, after = np.arange(size) + 0.0, np.arange(size) + 10.0
    # THEN only that division and its mirror differ as much
    found = rank_test(before, after)
    assert found.p_two_sided == pytest.approx(p) == least_p(size, size)
    assert found.p_greater == pytest.approx(p / 2)
    assert rank_test(after, before).p_greater == pytest.approx(1)


@given(samples, samples)
def test_p_is_that_of_all_divisions(before, after):
    # GIVEN samples with equal values among them
    ranks = mean_ranks(before + after)
    found, middle = sum(ranks[len(before) :]), len(after) * (len(ranks) + 1) / 2
    sums = [sum(each) for each in combinations(ranks, len(after))]
    # WHEN they are tested
    test = rank_test(np.array(before, float), np.array(after, float))
    # THEN p counts the divisions
    assert test.p_greater == pytest.approx(sum(each >= found for each in sums) / len(sums))
    far = sum(abs(each - middle) >= abs(found - middle) for each in sums)
    assert test.p_two_sided == pytest.approx(far / len(sums))


def test_the_interval_is_that_of_the_tables():
    # GIVEN 5 and 5 values, whose critical U at 5 % is 2: the third of 25 differences to the third from the end
    before, after = np.array([0.0, 1, 2, 3, 4]), np.array([100.0, 110, 120, 130, 140])
    differences = sorted(b - a for a in before for b in after)
    # WHEN
    found = shift(before, after)
    # THEN
    assert (found.low, found.value, found.high) == (differences[2], differences[12], differences[-3])
    # AND 4 of 252 divisions have U below 3 at each end
    assert found.confidence == pytest.approx(1 - 2 * 4 / 252)


def test_few_values_have_their_whole_range_and_say_how_sure_that_is():
    found = shift(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
    assert (found.low, found.value, found.high) == (1, 3, 5)
    assert found.confidence == pytest.approx(1 - 2 / comb(6, 3))


@given(samples, samples, st.integers(-20, 20))
def test_a_shift_of_the_values_is_a_shift_of_the_estimate(before, after, by):
    one = shift(np.array(before, float), np.array(after, float))
    other = shift(np.array(before, float), np.array(after, float) + by)
    assert other.value == pytest.approx(one.value + by)
    assert (other.low, other.high) == (one.low + by, one.high + by)
    assert one.low <= one.value <= one.high
