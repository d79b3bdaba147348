# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose ranks come late to each other, and the same programs mended."""

import pytest
from proof import bound, prove, record

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.usefixtures("two_cores")]


@pytest.mark.parametrize("name", ["late_receiver", "late_collective", "late_root"])
def test_what_is_told_first_costs_what_mending_saves(mpi, defective, tmp_path, name):
    program = defective(mpi, name)

    def run(how, to):
        return record(
            bound(mpi, 2, program, how), to, mpi.environment(), "--trace", "--exact-times", timeout_s=30
        )

    prove(run, tmp_path).holds("late-collective" if name == "late_root" else name.replace("_", "-"))
