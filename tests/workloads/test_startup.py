# SPDX-License-Identifier: BSD-3-Clause
"""The program that starts and ends MPI and does nothing between."""

import mpis
import pytest

from rankwise.workloads import build_startup

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["mpich-5.0.2", "openmpi-5.0.11"])
def test_it_succeeds_on_any_number_of_ranks_and_says_nothing(library, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mpi = AT_HAND[library]
    done = mpi.run(3, build_startup(str(mpi.mpiexec)))
    assert (done.returncode, done.stdout) == (0, "")
