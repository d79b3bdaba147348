# SPDX-License-Identifier: BSD-3-Clause
"""What was recorded until then is there, however a rank ends; and ranks end as they would without the recorder."""

import mpis
import pytest

from rankwise.recording import Recording

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("how", ["abort", "kill", "kill all", "segv", "term", "exec", "_exit", "exit"])
def test_what_was_recorded_survives_every_ending(mpi, compiled, record, how):
    # GIVEN two ranks that have exchanged 50 messages
    endings = compiled(mpi, "endings.c")
    # WHEN they end without MPI_Finalize
    recorded = record(mpi, 2, endings, how, expect=None)
    # THEN both recordings are there, and say that they are partial
    assert [t.info["world_rank"] for t in recorded.threads] == [0, 1]
    for rank in range(2):
        thread = recorded.rank(rank)
        assert thread.sent == {(1 - rank, "MPI_Sendrecv"): 50}
        assert thread.received_bytes == {(1 - rank, "MPI_Sendrecv"): 3200}
        assert not thread.has("finalized")
        assert thread.info["finalize_ticks"] == 0
    assert recorded.rank(1).has("aborted") == (how == "abort")
    assert recorded.rank(1).count("MPI_Abort") == (how == "abort")
    # Backtraces name libraries in this checkout.
    assert "rankwise" not in (recorded.run.stdout + recorded.run.stderr).replace(str(mpis.TOP), "")


def test_the_call_in_which_a_rank_hung_is_named(mpi, compiled, record):
    # GIVEN rank 0 in a receive of what never comes, while rank 1 computes and is killed
    recorded = record(mpi, 2, compiled(mpi, "endings.c"), "stuck", expect=None)
    # THEN the recording says where rank 0 was to the end, and since when; and that rank 1 was in no call
    stuck, killed = recorded.rank(0), recorded.rank(1)
    assert (stuck.info["in_call"], killed.info["in_call"]) == ("MPI_Recv", None)
    assert stuck.info["in_call_begin_ticks"] > stuck.info["init_ticks"]
    # AND so does what is made of it
    partial = Recording.open(recorded.directory).context["partial_ranks"]
    assert (
        partial[0]["why"] == "MPI_Finalize was not reached; the last call was MPI_Recv, which did not return"
    )
    assert partial[0]["in_call"] == "MPI_Recv"
    # Two ranks of which neither lived for 10 ms may have read no clock twice.
    assert partial[0]["since_s"] is None or 0 < partial[0]["since_s"] < 60
    assert partial[1] == {"rank": 1, "why": "MPI_Finalize was not reached"}


def test_a_rank_that_ended_well_is_in_no_call(mpi, compiled, record):
    for thread in record(mpi, 2, compiled(mpi, "ring.c")).threads:
        assert thread.info["in_call"] is None


@pytest.mark.parametrize("how", ["abort", "kill", "segv", "term"])
def test_the_exit_status_is_the_one_without_the_recorder(mpi, compiled, record, how):
    endings = compiled(mpi, "endings.c")
    without = mpi.run(2, endings, how)
    assert record(mpi, 2, endings, how, expect=None).run.returncode == without.returncode
