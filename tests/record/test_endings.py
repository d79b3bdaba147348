# SPDX-License-Identifier: BSD-3-Clause
"""What was recorded until then is there, however a rank ends; and ranks end as they would without the recorder."""

import pytest

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("how", ["abort", "kill", "segv", "term", "_exit", "exit"])
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
    assert "rankwise" not in recorded.run.stdout + recorded.run.stderr


@pytest.mark.parametrize("how", ["abort", "kill", "segv", "term"])
def test_the_exit_status_is_the_one_without_the_recorder(mpi, compiled, record, how):
    endings = compiled(mpi, "endings.c")
    without = mpi.run(2, endings, how)
    assert record(mpi, 2, endings, how, expect=None).run.returncode == without.returncode
