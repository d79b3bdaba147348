# SPDX-License-Identifier: BSD-3-Clause
"""A program that makes all calls that workloads may make, and has options: data arrive, options are read."""

import mpis
import pytest

AT_HAND = {mpi.name: mpi for mpi in mpis.installed()}
SOURCE = mpis.TOP / "tests" / "workloads" / "every_call.c"


@pytest.mark.mpi
@pytest.mark.parametrize(("library", "ranks"), [("mpich-5.0.2", 4), ("openmpi-5.0.11", 6)])
def test_data_arrive_in_the_world_and_in_groups_in_another_order(workload_program, library, ranks):
    mpi = AT_HAND[library]
    done = mpi.run(ranks, workload_program(mpi, "every", SOURCE), "--number", "-3", "--colour", "red")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[:5] == ["every", f"ranks={ranks}", f"grid={ranks - 3}x0x0", "number=-3", "colour=red"]
    assert words[5] == "iterations=3" and words[-1] == "verified=yes"


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("options", "status", "error"),
    [
        (["--number", "6"], 2, "error: `6` is not a value of `--number`\n\nhint: every --help\n"),
        (["--colour", "blue"], 2, "error: `blue` is not a value of `--colour`\n\nhint: every --help\n"),
        (["--class", "S"], 2, "error: every has no option `--class`\n\nhint: every --help\n"),
        ([], 1, "error: this runs on an even number of ranks\n\nhint: mpiexec -n 2 every\n"),
    ],
)
def test_options_that_do_not_fit_are_answered(workload_program, options, status, error):
    mpi = AT_HAND["mpich-5.0.2"]
    done = mpi.run(3, workload_program(mpi, "every", SOURCE), *options)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(error)


@pytest.mark.mpi
def test_help_names_each_option_with_its_usual_value(workload_program):
    mpi = AT_HAND["mpich-5.0.2"]
    done = mpi.run(1, workload_program(mpi, "every", SOURCE), "--help")
    assert "  --number N              a number (default 2)\n" in done.stdout
    assert "  --colour red|green      a choice (default green)\n" in done.stdout
    assert "--class" not in done.stdout
