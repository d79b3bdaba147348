# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise record` under the launchers at hand: what comes out is what comes out without it."""

import subprocess

import pytest

pytestmark = pytest.mark.mpi


@pytest.fixture
def both(mpi, compiled, record_with, tmp_path):
    """Function: run `ending ARGS` directly and recorded; two completed processes."""

    def run(ranks, *words, stdin=b""):
        line = mpi.launch(ranks, compiled(mpi, "ending.c"), *words)
        keywords = {"env": mpi.environment(), "input": stdin, "capture_output": True, "timeout": 60}
        recorded = record_with("-q", "-o", tmp_path / "a.rw", "--", *line)
        return subprocess.run(line, **keywords), subprocess.run(recorded, **keywords)

    return run


def test_input_output_and_the_exit_status_7_come_through(both):
    direct, recorded = both(2, "status", "7", "2", stdin=b"first\nlast\n")
    assert (direct.returncode, recorded.returncode) == (7, 7)
    assert recorded.stdout == direct.stdout == b"first\nlast\n" + bytes(range(256)) * 64


def test_a_rank_killed_by_a_signal_ends_the_run_as_it_does_unrecorded(both):
    direct, recorded = both(2, "signal", "11")
    assert direct.returncode != 0
    assert recorded.returncode == direct.returncode


def test_a_singleton_killed_by_a_signal_kills_us_likewise(mpi, compiled, record_with, tmp_path):
    line = [str(compiled(mpi, "ending.c")), "signal", "11"]
    # Open MPI 4 from its wheel finds itself through its launcher only, and here is none.
    environment = mpi.environment() | {"OPAL_PREFIX": str(mpi.mpiexec.parent.parent)}
    keywords = {"env": environment, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    recorded = record_with("-q", "-o", tmp_path / "a.rw", "--", *line)
    direct = subprocess.run(line, **keywords)
    assert subprocess.run(recorded, **keywords).returncode == direct.returncode == -11
