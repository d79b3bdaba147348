# SPDX-License-Identifier: BSD-3-Clause
"""How long a run took, from what its ranks wrote down."""

import pytest
from raw_writer import Rank, write_recording

from rankwise.recording.job import choose_job
from rankwise.recording.raw import read
from rankwise.recording.span import span_of


def span(tmp_path, ranks, **keywords):
    return span_of(choose_job(read(write_recording(tmp_path / "x.rw", ranks))).first_threads, **keywords)


def test_a_run_begins_with_its_last_rank_and_ends_with_its_last(tmp_path):
    # GIVEN ranks that leave MPI_Init at 0 and 2 ms of one clock, and enter MPI_Finalize at 5 and 6 ms
    ranks = [Rank(0, 2, run_ns=5_000_000), Rank(1, 2, run_ns=6_000_000, shift_ns=2_000_000)]
    found = span(tmp_path, ranks)
    # THEN they end 3 and 4 ms after both are there
    assert found.rank_s == pytest.approx([3e-3, 4e-3])
    assert found.time_s == pytest.approx(4e-3)


def test_hosts_have_clocks_of_their_own_unless_they_are_nodes_of_a_lab(tmp_path):
    ranks = [Rank(0, 2, "a", run_ns=5_000_000), Rank(1, 2, "b", run_ns=6_000_000, shift_ns=2_000_000)]
    assert span(tmp_path, ranks).rank_s == pytest.approx([5e-3, 4e-3])
    assert span(tmp_path, ranks, one_clock=True).rank_s == pytest.approx([3e-3, 4e-3])


def test_a_run_that_did_not_get_to_its_end_has_none(tmp_path):
    assert span(tmp_path, [Rank(0, 2), Rank(1, 2, flags=0)]) is None
