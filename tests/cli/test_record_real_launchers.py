# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise record` under the launchers at hand: what comes out is what comes out without it."""

import json
import subprocess
import sys

import mpis
import pytest

pytestmark = pytest.mark.mpi


def record(directory, *line):
    return [sys.executable, "-m", "rankwise", "record", "-q", "-o", str(directory), "--", *map(str, line)]


def context(directory):
    return json.loads((directory / "context.json").read_text())


@pytest.fixture
def both(mpi, compiled, tmp_path):
    """Function: run `ending ARGS` directly and recorded; two completed processes."""

    def run(ranks, *words, stdin=b""):
        line = mpi.launch(ranks, compiled(mpi, "ending.c"), *words)
        keywords = {"env": mpi.environment(), "input": stdin, "capture_output": True, "timeout": 60}
        recorded = record(tmp_path / "a.rw", *line)
        return subprocess.run(line, **keywords), subprocess.run(recorded, **keywords)

    return run


def test_input_output_and_the_exit_status_7_come_through(both, tmp_path):
    direct, recorded = both(2, "status", "7", "2", stdin=b"first\nlast\n")
    assert (direct.returncode, recorded.returncode) == (7, 7)
    assert recorded.stdout == direct.stdout == b"first\nlast\n" + bytes(range(256)) * 64
    assert (context(tmp_path / "a.rw")["world_size"], context(tmp_path / "a.rw")["partial_ranks"]) == (2, [])


def test_a_rank_killed_by_a_signal_ends_the_run_as_it_does_unrecorded(both, tmp_path):
    direct, recorded = both(2, "signal", "11")
    assert direct.returncode != 0
    assert recorded.returncode == direct.returncode
    # THEN what it did until then is there, and is said to be partial
    partial = context(tmp_path / "a.rw")["partial_ranks"]
    assert {"rank": 0, "why": "MPI_Finalize was not reached"} in partial


def test_a_singleton_killed_by_a_signal_kills_us_likewise(mpi, compiled, tmp_path):
    line = [str(compiled(mpi, "ending.c")), "signal", "11"]
    # Open MPI 4 from its wheel finds itself through its launcher only, and here is none.
    environment = mpi.environment() | {"OPAL_PREFIX": str(mpi.mpiexec.parent.parent)}
    keywords = {"env": environment, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    recorded = record(tmp_path / "a.rw", *line)
    direct = subprocess.run(line, **keywords)
    assert subprocess.run(recorded, **keywords).returncode == direct.returncode == -11


# mpi4py's wheel loads libmpi.so.12 or libmpi.so.40 only.
@mpis.only(
    lambda mpi: mpi.flavour != "standard_abi" and mpi.name != "debian-mpich",
    quick=("mpich-5.0.2", "openmpi-4.1.8"),
)
def test_a_python_program_is_recorded(mpi, tmp_path):
    # GIVEN a program that loads MPI long after it has started
    program = "from mpi4py import MPI; MPI.COMM_WORLD.barrier(); MPI.COMM_WORLD.barrier()"
    library = mpi.mpiexec.parent.parent / "lib"
    environment = mpi.environment() | (
        {} if mpi.name.startswith("debian") else {"LD_LIBRARY_PATH": str(library)}
    )
    environment["MPI4PY_MPIABI"] = mpi.flavour
    # WHEN it is recorded
    line = record(tmp_path / "a.rw", *mpi.launch(2, sys.executable, "-c", program))
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    # THEN its ranks and their calls are there
    assert (done.returncode, done.stderr) == (0, "")
    import polars as pl

    calls = pl.read_parquet(tmp_path / "a.rw" / "tables" / "calls.parquet")
    barriers = calls.filter(pl.col("call") == "MPI_Barrier")
    assert sorted(barriers.select("rank", "count").rows()) == [(0, 2), (1, 2)]
