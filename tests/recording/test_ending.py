# SPDX-License-Identifier: BSD-3-Clause
"""Who ended a run: real programs under a real launcher."""

import re
import subprocess
import sys

import mpis
import pytest

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.gaps import gaps

PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    usleep(50000); /* clocks are read a second time after it */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && count > 1) {
        sleep(1);
        if (!strcmp(words[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (!strcmp(words[1], "crash")) abort();
        sleep(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


@pytest.fixture
def ended(tmp_path):
    """Function: the recording of a run on three ranks that ends so, and what was said of it."""
    mpi = mpis.first("mpich")

    def run(how: str, *before: str) -> tuple[Recording, str]:
        (tmp_path / "ends.c").write_text(PROGRAM)
        program = mpi.compile(tmp_path / "ends.c", tmp_path / "ends")
        line = [*before, *mpi.launch(3), str(program), how]
        command = [sys.executable, "-m", "rankwise", "record", "-o", str(tmp_path / "e.rw"), "--", *line]
        done = subprocess.run(
            command, env=mpi.environment(), capture_output=True, text=True, check=False, timeout=100
        )
        said = next(line for line in done.stderr.splitlines() if line.startswith("rankwise: partial: "))
        return Recording.open(tmp_path / "e.rw"), said.removeprefix("rankwise: partial: ")

    return run


def test_the_rank_that_aborted_is_named(ended):
    recording, said = ended("abort")
    assert (recording.context["ending"]["kind"], recording.context["ending"]["ranks"]) == ("abort", [1])
    assert said == "rank 1 called MPI_Abort (exit status 7); the launcher ended the other 2"
    assert "how it ended" not in [gap.what for gap in gaps(recording)]
    assert build(recording).program.ending.text == said


def test_the_rank_that_crashed_is_named_and_who_waited(ended):
    recording, said = ended("crash")
    found, status = recording.context["ending"], recording.context["run"]["exit_status"]
    assert found["ranks"] == [1]
    assert [(call["call"], call["ranks"]) for call in found["waiting"]] == [("MPI_Barrier", [0, 2])]
    # Hydra 4.3 at times leaves with the signal by which it ended the others: that alone names no crash.
    if status == 15:
        assert found["kind"] == "unknown"
        assert said.endswith("; in no MPI call was rank 1")
    else:
        assert found["kind"] == "crash"
        assert re.fullmatch(
            r"rank 1 ended without MPI_Finalize, in no MPI call \(exit status \d+(: aborted)?\); "
            r"waiting for others were ranks 0, 2 in MPI_Barrier",
            said,
        )


def test_a_hang_that_a_wrapper_ended_says_who_was_where_for_how_long_and_has_the_programs_name(ended):
    recording, said = ended("hang", "timeout", "6")
    found = recording.context["ending"]
    assert (found["kind"], found["ranks"]) == ("stopped", [1])
    assert [(call["call"], call["ranks"]) for call in found["waiting"]] == [("MPI_Barrier", [0, 2])]
    assert 1 < found["hung_s"] < 7
    assert said.startswith(
        "the run was ended from outside (exit status 124); waiting were ranks 0, 2 in MPI_Barrier"
    )
    assert said.endswith("; in no MPI call was rank 1")
    run = recording.context["run"]
    assert (run["programs"][0].rpartition("/")[2], run["ranks"]) == ("ends", 3)
