# SPDX-License-Identifier: BSD-3-Clause
"""Programs that call MPI too often, and the same programs with few calls."""

import pytest
from proof import bound, prove, record

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.usefixtures("two_cores")]


@pytest.mark.parametrize("name", ["small_messages", "collective_dominates"])
def test_what_is_told_first_costs_what_mending_saves(mpi, defective, tmp_path, name):
    # GIVEN calls that cost more than recording them does: shared memory of Open MPI and of UCX is as fast as that
    environment = mpi.environment() | {"OMPI_MCA_btl": "self,tcp", "UCX_TLS": "self,tcp"}
    program = defective(mpi, name)

    def run(how, to):
        return record(bound(mpi, 2, program, how), to, environment, "--trace", "--exact-times")

    prove(run, tmp_path).holds(name.replace("_", "-"))
