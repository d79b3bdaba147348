# SPDX-License-Identifier: BSD-3-Clause
"""Capacities of what pairs share."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.measure.fitting.capacity import fit, sweep
from rankwise.measure.samples import SCHEMA


@settings(max_examples=60, deadline=None)
@given(
    b=st.floats(1e6, 1e10),
    share=st.floats(1.0, 6.0),
    most=st.sampled_from([8, 12, 16]),
    seed=st.integers(0, 2**31),
)
def test_a_capacity_that_was_reached_comes_back(b, share, most, seed):
    # GIVEN k pairs that get min(k b, C), with 3 % noise, and C between one and six pairs' worth
    random = np.random.default_rng(seed)
    totals = {k: min(k * b, share * b) * random.normal(1, 0.03, 15) for k in (1, 2, 3, 4, 8, most)}
    found = fit(totals)
    # THEN C is found within 5 %
    assert found.capacity.value == pytest.approx(share * b, rel=0.05)


def test_a_capacity_that_was_not_reached_is_not_made_up():
    totals = {k: k * 1e9 * np.random.default_rng(k).normal(1, 0.03, 15) for k in (1, 2, 3, 4)}
    found = fit(totals)
    assert found.capacity is None
    assert found.most == pytest.approx(4e9, rel=0.05)


def test_one_pair_that_reaches_the_interface_alone_is_seen():
    found = fit({k: np.full(9, 12.5e6) for k in (1, 2, 4)})
    assert found.capacity.value == 12.5e6


def test_one_count_of_pairs_gives_no_capacity():
    assert fit({1: np.full(9, 1e9)}).capacity is None


def test_only_rates_of_the_same_window_are_added():
    # GIVEN two pairs, three windows, with rates 1, 2, 3 and 10, 20, 30; of the third window one pair's row is lost
    rows = []
    for pair, scale in ((0, 1.0), (1, 10.0)):
        for window in range(3 if pair == 0 else 2):
            rate = scale * (window + 1)
            rows.append(
                (
                    *(0, 5, "share", "network", 2, pair, 2 + pair, 65536, 16, 0, None, 0, 1),
                    *(rate, rate, 0.2, 0.0, 0.0, 0, 0, None, None, "{}"),
                )
            )
    found = sweep(pl.DataFrame(rows, schema=SCHEMA, orient="row"), 65536, "value1")
    # THEN the totals are 11 and 22
    assert found.rates[2].low == 11
    assert found.rates[2].high == 22
    assert found.rates[2].count == 2


def test_a_window_in_which_one_pair_was_disturbed_is_left_out_as_a_whole_or_kept_as_a_whole():
    def rows(switches):
        return pl.DataFrame(
            [
                (
                    *(0, 5, "share", "network", 2, pair, 2 + pair, 65536, 16, count, None, 0, 1),
                    *(10.0 * (pair + 1), 1.0, 0.2, 0.0, 0.0, 0, 0, None, None, "{}"),
                )
                for pair in (0, 1)
                for count in switches[pair]
            ],
            schema=SCHEMA,
            orient="row",
        )

    # GIVEN ten windows, each of them disturbed for one of the two pairs, which leaves half of each pair's rows
    found = sweep(rows([[0, 1] * 5, [1, 0] * 5]), 65536, "value1")
    # THEN all of them count, with what both pairs got
    assert found.rates[2].value == 30 and found.rates[2].count == 10
    # WHEN four windows are undisturbed for both, THEN these count
    found = sweep(rows([[0] * 4 + [1] * 6, [0] * 4 + [2] * 6]), 65536, "value1")
    assert found.rates[2].value == 30 and found.rates[2].count == 4
