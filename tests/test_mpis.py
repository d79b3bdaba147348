# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs the tests rely on really run."""

import pytest


@pytest.mark.mpi
def test_every_mpi_at_hand_runs_a_ring_of_five_ranks(mpi, compiled):
    # GIVEN a ring program compiled by this MPI's wrapper
    ring = compiled(mpi, "ring.c")
    # WHEN five ranks run it, on however many cores there are
    result = mpi.run(5, ring)
    # THEN it ends well and says only what it says
    assert (result.returncode, result.stdout, result.stderr) == (0, "23 laps\n", "")
