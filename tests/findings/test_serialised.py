# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that compute one after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_defects import late, recorded

from rankwise.findings.catalogue import findings_of
from rankwise.findings.late import LatePair, in_turns


def pair(late_rank, waiting, waited_s):
    return LatePair(late_rank, waiting, "message", 0, 0, waited_s, 1, 8.0)


def test_two_ranks_that_answer_each_other_take_turns(tmp_path):
    # GIVEN rank 0 that computes 500 ms in five turns, and rank 1 that computes 490 ms when it has its message
    (found,) = findings_of(recorded(tmp_path / "a.rw", late(back=True)))[0]
    # THEN both at once would save what one of them computes, and nobody is called late
    assert (found.name, found.ranks) == ("serialised", [0, 1])
    assert found.sentence == "ranks 0, 1 take turns: while one computes, the others wait for its message"
    assert found.cost_s == pytest.approx(0.49, rel=0.05)
    assert found.evidence[0] == "rank 1 waits 500 ms in MPI_Recv while rank 0 computes"


@given(size=st.integers(2, 40), beside=st.integers(0, 5))
def test_all_of_a_ring_take_turns_and_none_beside_it(size, beside):
    # GIVEN a token that goes round some ranks, and ranks that wait for one of these
    ring = [pair(rank, (rank + 1) % size, 1.0) for rank in range(size)]
    watching = [pair(0, size + other, 1.0) for other in range(beside)]
    useful = np.concatenate([np.ones(size), np.full(beside, 0.1)])
    assert in_turns(ring + watching, useful) == [list(range(size))]
    # AND not where they compute more than twice as long as they are waited for
    assert in_turns(ring + watching, 2.1 * useful) == []


def test_a_chain_that_does_not_close_is_no_turn():
    assert in_turns([pair(0, 1, 1.0), pair(1, 2, 1.0)], np.ones(3)) == []


def test_waiting_for_little_of_what_the_other_computes_is_no_turn():
    assert in_turns([pair(0, 1, 0.4), pair(1, 0, 1.0)], np.ones(2)) == []
