# SPDX-License-Identifier: BSD-3-Clause
"""Real programs, recorded and collected, on every MPI at hand: known answers from both sides."""

import subprocess
import sys

import mpis
import polars as pl
import pytest

from rankwise.recording import Recording

LAPS = 23


def record(mpi, directory, ranks, *command, options=("--trace",)):
    """Run under `rankwise record` and open what it left."""
    line = [
        sys.executable,
        "-m",
        "rankwise",
        "record",
        "-o",
        directory,
        *options,
        "--",
        *mpi.launch(ranks, *command),
    ]
    run = subprocess.run(
        list(map(str, line)), env=mpi.environment(), capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return Recording.open(directory)


@pytest.mark.one_of(2)
@pytest.mark.mpi
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_ring_of_23_laps_is_counted_exactly(mpi, compiled, tmp_path, size):
    recording = record(mpi, tmp_path / "ring.rw", size, compiled(mpi, "ring.c"), LAPS)
    expected = sorted((me, (me + 1) % size, LAPS, LAPS * 1000) for me in range(size))
    for table in (recording.messages, recording.received):
        assert table.select("source", "destination", "messages", "bytes").rows() == expected
        assert set(table["bytes_up_to"]) == {1024}
    assert recording.ranks["rank"].to_list() == list(range(size))
    assert not recording.ranks["partial"].any()
    assert (recording.ranks["time_s"] >= recording.ranks["mpi_s"]).all()
    # AND the trace has the same messages in program order
    events = recording.events(0)
    assert events["problem"] == "" and (events["send_bytes"] == 1000).sum() == LAPS
    assert recording.context["missing_ranks"] == recording.context["partial_ranks"] == []
    assert recording.context["mpi"]["family"] == ("openmpi" if mpi.family == "openmpi" else "mpich")


@pytest.mark.mpi
def test_collectives_are_recorded_as_calls_and_expanded(mpi, compiled, tmp_path):
    recording = record(
        mpi, tmp_path / "allreduce.rw", 4, compiled(mpi, "one_collective.c"), "allreduce", 8, 10
    )
    assert recording.collectives.filter(call="MPI_Allreduce").select("rank", "count", "bytes").rows() == [
        (rank, 10, 8) for rank in range(4)
    ]
    messages = recording.messages.filter(call="MPI_Allreduce")
    # Recursive doubling of 4 ranks: two partners each.
    assert set(messages["algorithm"]) == {"recursive_doubling"}
    assert messages["messages"].to_list() == [10] * 8 and messages["bytes"].sum() == 8 * 10 * 8


@pytest.mark.mpi
def test_counting_alone_leaves_all_times_open_and_the_report_says_so(mpi, compiled, tmp_path):
    recording = record(
        mpi, tmp_path / "ring.rw", 2, compiled(mpi, "ring.c"), LAPS, options=("--counts", "--callsites")
    )
    assert recording.messages["messages"].to_list() == [LAPS, LAPS]
    for table, column in (
        (recording.calls, "time_s"),
        (recording.ranks, "mpi_s"),
        (recording.call_sites, "time_s"),
    ):
        assert table[column].null_count() == len(table) > 0
    assert len(recording.durations) == 0
    shown = subprocess.run(
        [sys.executable, "-m", "rankwise", "report", "-v", tmp_path / "ring.rw"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    assert "not timed" in shown.stdout and "ns a call, measured as the run began" in shown.stdout


@pytest.mark.mpi
def test_call_sites_are_lines_of_the_program(mpi, compiled, tmp_path):
    # GIVEN a program with debugging information
    program = compiled(mpi, "ring.c", "-g")
    # WHEN it is recorded with call sites
    recording = record(mpi, tmp_path / "ring.rw", 2, program, LAPS, options=("--callsites",))
    # THEN its sends come from the lines where it says so
    lines = (mpis.PROGRAMS / "ring.c").read_text().splitlines()
    sites = recording.call_sites.filter(call="MPI_Send")
    assert sites.group_by("rank").agg(pl.col("count").sum()).sort("rank").rows() == [(0, LAPS), (1, LAPS)]
    for site in sites.iter_rows(named=True):
        assert site["function"] == "main" and site["file"].endswith("ring.c")
        assert "MPI_Send(" in lines[site["line"] - 1]


STOPPED = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
    MPI_Init(&count, &words);
    const double begin = MPI_Wtime();
    if (fork() == 0) {
        usleep(200000);
        kill(getppid(), SIGSTOP);
        usleep(1000000);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    while (MPI_Wtime() - begin < 1.5)
        ;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.mpi
def test_a_rank_that_was_stopped_while_it_computed_is_named(tmp_path):
    # GIVEN a rank that is stopped for a second while it is in no call
    mpi = mpis.first("mpich")
    (tmp_path / "stopped.c").write_text(STOPPED)
    program = mpi.compile(tmp_path / "stopped.c", tmp_path / "stopped")
    # WHEN it is recorded THEN its time says how long it stood still, at least
    (found,) = record(mpi, tmp_path / "stopped.rw", 1, program).context["stood_still"]
    assert found["rank"] == 0 and 0.9 < found["time_s"] < 1.5
