# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose ranks wait for each other, and the same programs mended."""

import pytest
from proof import bound, prove, record

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.usefixtures("two_cores")]


TRACED = ("--trace", "--exact-times")


@pytest.mark.parametrize(
    ("name", "options"), [("load_imbalance", ()), ("late_sender", TRACED), ("serialised", TRACED)]
)
def test_what_is_told_first_costs_what_mending_saves(mpi, defective, tmp_path, name, options):
    program = defective(mpi, name)

    def run(how, to):
        return record(bound(mpi, 2, program, how), to, mpi.environment(), *options)

    prove(run, tmp_path).holds(name.replace("_", "-"))
