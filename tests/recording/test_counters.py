# SPDX-License-Identifier: BSD-3-Clause
"""Counters that took turns with others: what they come to, sample by sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.recording.node_use import _grown_by_turns
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


def node_rows(column, sampler, left_out=None):
    """A node's memory counter over time: NaN where it is not known."""
    values = np.array([column, sampler], float).T
    ticks = np.arange(1, len(column) + 1) * 100
    out = np.zeros(values.shape, bool)
    if left_out is not None:
        out[:, 0] = left_out
    names = {"memory:0": 0, "memory_sampler": 1}
    return Sampled(names, dict.fromkeys(names, 1), ticks, values, [], [], None, {}, {}, left_out=out)


def test_memory_counted_by_ranks_in_turn_is_counted_once():
    # GIVEN 10 an interval, by rank 7, by 8 that opens its counters anew, and by 7 again, anew
    found = _grown_by_turns(node_rows([0, 10, 20, 0, 10, 0, 10], [7, 7, 7, 8, 8, 7, 7]), "memory:0", 0)
    assert found.tolist() == pytest.approx([0, 10, 20, 30, 40, 50, 60])
    # AND one whose counters stayed open, and a row that is not known
    found = _grown_by_turns(node_rows([0, 10, 0, NAN, 20, 60], [7, 7, 8, 8, 8, 7]), "memory:0", 0)
    assert found.tolist() == pytest.approx([0, 10, 20, NAN, 40, 50], nan_ok=True)
    assert np.isnan(_grown_by_turns(node_rows([0, 5], [7, 8]), "memory:0", 0)).all()


def test_what_takes_long_is_told_from_what_cannot_be_read():
    lost = {"memory": "memory bandwidth"}
    (closed,) = node_rows([0, 10, NAN, NAN], [7] * 4).lost(lost, 100, 1.0)
    assert closed.why == "could not be read after 100 s" and "descriptors" in closed.remedy
    (dear,) = node_rows([0, NAN, NAN, NAN], [7] * 4, [False, True, True, True]).lost(lost, 100, 1.0)
    assert dear.source == "memory bandwidth between start and end" and "1 of 4 samples" in dear.why
    assert node_rows([0, NAN, 5, NAN], [7] * 4, [False, True, False, True]).lost(lost, 100, 1.0) == []
