# SPDX-License-Identifier: BSD-3-Clause
"""Efficiencies against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.findings.efficiency import efficiency, ideal_run

NS = 1e-9


def schedule(*ranks):
    """Of operations as GOAL has them, each after the one before."""
    text = [f"num_ranks {len(ranks)}"]
    for at, lines in enumerate(ranks):
        text += [f"rank {at} {{", *(f"l{i}: {line}" for i, line in enumerate(lines, 1))]
        text += [*(f"l{i} requires l{i - 1}" for i in range(2, len(lines) + 1)), "}"]
    return _core.schedule.Schedule.read_goal("\n".join(text) + "\n", "test.goal")


def test_a_rank_with_four_times_the_work():
    # GIVEN four ranks, one of which computes 4 s and the others 1 s, in a run of 5 s
    found = efficiency(np.array([1.0, 4.0, 1.0, 1.0]), 5.0, np.array([0, 0, 1, 1]))
    # THEN the mean is 1.75 s of the most, 4 s
    assert found.load_balance == pytest.approx(1.75 / 4)
    assert found.communication == pytest.approx(4 / 5)
    assert found.parallel == pytest.approx(1.75 / 5)
    # AND the nodes have 5 and 2 s: what is uneven inside of them and between them
    assert found.load_balance_in_nodes == pytest.approx(2.5 / 4)
    assert found.load_balance_between_nodes == pytest.approx(3.5 / 5)
    assert (found.serialisation, found.transfer) == (None, None)


def test_ranks_that_wait_for_each_other_in_turn_are_serialised():
    # GIVEN a token that goes round 4 ranks, each of which computes 1 ms when it has it
    first = ["calc 1000000", "send 8b to 1 tag 0"]
    middle = [[f"recv 8b from {at - 1} tag 0", "calc 1000000", f"send 8b to {at + 1} tag 0"] for at in (1, 2)]
    last = ["recv 8b from 2 tag 0", "calc 1000000"]
    ideal = ideal_run(schedule(first, *middle, last))
    assert ideal.time_s == pytest.approx(4e-3) and ideal.useful_s == pytest.approx(np.full(4, 1e-3))
    # WHEN the run took 5 ms
    found = efficiency(ideal.useful_s, 5e-3, np.arange(4), ideal.time_s)
    # THEN a quarter is what serialisation leaves, and 0.8 what transfer leaves
    assert found.load_balance == 1
    assert found.serialisation == pytest.approx(1 / 4) and found.transfer == pytest.approx(4 / 5)
    assert found.parallel == pytest.approx(found.load_balance * found.serialisation * found.transfer)


@pytest.mark.parametrize(("size", "expected_s"), [(32768, 3e-3), (32769, 4e-3)])
def test_the_eager_limit_is_kept_on_the_ideal_network(size, expected_s):
    # GIVEN a sender that computes 1 ms before and after its message, whose receiver computes 3 ms before
    sender = ["calc 1000000", f"send {size}b to 1 tag 0", "calc 1000000"]
    receiver = ["calc 3000000", f"recv {size}b from 0 tag 0"]
    # THEN only a message above the limit has the sender wait for the receive
    assert ideal_run(schedule(sender, receiver)).time_s == pytest.approx(expected_s)


def test_nothing_computed_has_no_efficiency():
    with pytest.raises(RankwiseError, match="outside of MPI"):
        efficiency(np.zeros(2), 1.0, np.array([0, 1]))


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e3), st.integers(0, 5)), min_size=1, max_size=40),
    st.floats(1.0, 10.0),
    st.floats(0.0, 1.0),
)
def test_factors_multiply_and_are_at_most_one(ranks, longer, between):
    useful = np.array([each for each, _ in ranks])
    elapsed = useful.max() * longer
    ideal = useful.max() + between * (elapsed - useful.max())
    found = efficiency(useful, elapsed, np.array([node for _, node in ranks]), ideal)
    assert found.parallel == pytest.approx(found.load_balance * found.communication)
    assert found.communication == pytest.approx(found.serialisation * found.transfer)
    assert found.load_balance == pytest.approx(found.load_balance_in_nodes * found.load_balance_between_nodes)
    parts = (
        found.load_balance_in_nodes,
        found.load_balance_between_nodes,
        found.serialisation,
        found.transfer,
    )
    assert all(0 < part <= 1 + 1e-12 for part in parts)
