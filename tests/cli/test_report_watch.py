# SPDX-License-Identifier: BSD-3-Clause
"""A run that is going on, from what its ranks have written."""

import subprocess
import sys
import time

import pytest

from rankwise.cli import main

pytestmark = pytest.mark.mpi
PROGRAM = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 600; i++) {
        int sum, one = 1;
        usleep(10000);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"""


def test_a_run_is_followed_to_its_end_and_its_recording_left_alone(mpi, tmp_path):
    # GIVEN a program of 6 s that is being recorded
    source, path = tmp_path / "steps.c", tmp_path / "a.rw"
    source.write_text(PROGRAM)
    program = mpi.compile(source, tmp_path / "steps")
    record = [sys.executable, "-m", "rankwise", "record", "-q", "-o", str(path), "--"]
    running = subprocess.Popen(
        [*record, *mpi.launch(2, program)], env=mpi.environment(), stdin=subprocess.DEVNULL
    )
    while not list(path.glob("raw/*.rwn")):
        assert running.poll() is None
        time.sleep(0.05)
    # WHEN it is watched
    watch = [sys.executable, "-m", "rankwise", "report", "--watch", "--every", "500ms", str(path)]
    done = subprocess.run(watch, capture_output=True, text=True, timeout=100)
    # THEN lines come while it runs, the last of which has all calls, and nothing was made of it meanwhile
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "of 2 ranks" in line]
    assert len(lines) >= 3 and "in MPI" in lines[0]
    assert "the run has ended" in done.stderr
    assert running.wait(60) == 0


def test_what_does_not_run_is_said(tmp_path, capsys):
    assert main(["report", "--watch", str(tmp_path / "none.rw")]) == 1
    assert "is not there" in capsys.readouterr().err
    (tmp_path / "old.rw").mkdir()
    assert main(["report", "--watch", str(tmp_path / "old.rw")]) == 0
    assert "no run writes to" in capsys.readouterr().err
    assert main(["report", "--watch", "a.rw", "b.rw"]) == 2
