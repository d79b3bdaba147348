# SPDX-License-Identifier: BSD-3-Clause
"""Counters that took turns with others: what they come to, sample by sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.recording.samples import Sampled

NAN = float("nan")


def sampled(*rows):
    """Rows of value, enabled and running time of one counter."""
    values = np.array(rows, float).reshape(len(rows), 3)
    ticks = np.arange(1, len(rows) + 1)
    return Sampled({"counter:cycles": 0}, {"counter:cycles": 3}, ticks, values, [], [], None, {}, {})


def counted(*rows):
    return pytest.approx(sampled(*rows).counted("cycles").tolist(), nan_ok=True)


def test_a_counter_that_had_not_run_at_the_first_sample_counts_from_there():
    # GIVEN 1000 a millisecond, of which it ran half of the time, but not before the first sample
    rows = (0, 0.1, 0), (50_000, 100.1, 50), (100_000, 200.1, 100)
    assert counted(*rows) == [0, 100_000, 200_000]


def test_each_interval_has_its_own_scale():
    # GIVEN 100 while it ran always, then 100 in a tenth of the time
    assert counted((7, 1, 1), (107, 11, 11), (207, 21, 12)) == [0, 100, 1100]


def test_what_did_not_run_between_two_samples_is_counted_with_the_next():
    assert counted((0, 0, 0), (0, 10, 0), (100, 20, 10)) == [0, NAN, 200]
    # AND at the end it goes on as before
    assert counted((0, 0, 0), (100, 10, 10), (100, 20, 10)) == [0, 100, 200]


def test_what_never_ran_or_was_seen_once_is_not_known():
    assert counted((0, 0, 0), (0, 10, 0)) == [NAN, NAN]
    assert counted((5, 1, 1)) == [NAN]
    assert counted() == []
    assert counted((NAN, NAN, NAN), (5, 1, 1), (NAN, NAN, NAN), (9, 2, 2)) == [NAN, 0, NAN, 4]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**9), st.integers(1, 10**6), st.floats(0, 1)), min_size=1, max_size=30
    )
)
def test_it_never_falls_and_is_at_least_what_was_seen(steps):
    rows = [(0.0, 0.0, 0.0)]
    for grown, on, part in steps:
        value, enabled, running = rows[-1]
        ran = round(on * part)
        rows.append((value + (grown if ran else 0), enabled + on, running + ran))
    found = sampled(*rows).counted("cycles")
    known = found[~np.isnan(found)]
    assert (np.diff(known) >= 0).all()
    if len(known):
        assert known[-1] >= rows[-1][0] * (1 - 1e-9)
