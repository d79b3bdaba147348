# SPDX-License-Identifier: BSD-3-Clause
"""Messages above the eager limit, and the same program with the limit that the finding's command sets."""

import shlex

import mpis
import pytest
from proof import bound, prove, record

from rankwise.findings.catalogue import findings_of

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.usefixtures("two_cores"),
    mpis.only(lambda mpi: mpi.family == "mpich" and mpi.version >= (4, 3)),
]


def test_the_command_of_the_finding_saves_what_it_costs(mpi, defective, tmp_path):
    # GIVEN sends of 48 KiB to a rank that receives them after it has computed
    line = bound(mpi, 2, defective(mpi, "rendezvous"))
    (first, *_), _ = findings_of(
        record(line, tmp_path / "first.rw", mpi.environment(), "--trace", "--exact-times")
    )
    mended = shlex.split(first.command)

    def run(how, to):
        return record(line if how == "defect" else mended, to, mpi.environment(), "--trace", "--exact-times")

    prove(run, tmp_path).holds("rendezvous")
