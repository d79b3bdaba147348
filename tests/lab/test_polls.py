# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that poll for messages: they leave their core like ranks that wait, unless they work between polls."""

import mpis
import polars as pl
import pytest

from rankwise.lab.launch import preload_list
from rankwise.recording import Recording

pytestmark = [pytest.mark.root, pytest.mark.mpi]

CALLS = ("Iprobe", "Improbe", "Test", "Testall", "Testany", "Testsome", "Request_get_status")
QUICK = ("mpich-5.0.2", "openmpi-5.0.11")
OTHERS = ("mpich-4.3.2", "mpich-5.0.2-standard-abi", "openmpi-4.1.8", "debian-openmpi")
# A rank sleeps after every sixth look. A look may not count, because others had the core before it; where all
# do not count, there are hundreds of thousands.
LOOKS_A_SLEEP, NOT_COUNTED = 10, 1000


@pytest.fixture(params=[*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def mpi(request):
    """One of each family, and the others the lab takes in `make test-all`."""
    return mpis.named(request.param)


def polled(stdout):
    """Rows that the program printed: what, how many polls, how often the core was given up meanwhile."""
    rows = [line.split() for line in stdout.splitlines()]
    return [(what, int(polls), int(times)) for what, polls, times in rows]


def test_a_rank_that_waits_in_a_loop_of_polls_sleeps(lab, mpi, compiled):
    # GIVEN a rank that waits for another by each of the calls that poll
    program = compiled(mpi, "polls.c")
    # WHEN it does so in the lab
    done = lab("run", "-n", 2, "--", program, "waiting")
    # THEN it gives its core up all the time
    assert done.returncode == 0, done.stderr
    rows = polled(done.stdout)
    assert [what for what, _, _ in rows] == list(CALLS)
    for what, polls, times in rows:
        assert polls < LOOKS_A_SLEEP * times + NOT_COUNTED, what


def test_a_rank_that_works_between_polls_never_sleeps(lab, mpi, compiled):
    # GIVEN 100 us of work between two polls
    program = compiled(mpi, "polls.c")
    # WHEN 300 polls find nothing
    done = lab("run", "-n", 2, "--", program, "working")
    # THEN these were no reason to sleep, which it would have done a hundred times
    assert done.returncode == 0, done.stderr
    [(_, polls, times)] = polled(done.stdout)
    assert polls == 300
    assert times < 50


def test_the_recorder_sees_each_poll_once_and_polls_that_find_something_do_not_sleep(
    lab, mpi, compiled, tmp_path
):
    # GIVEN 1000 polls of each call that find nothing, and 1000 of those that know requests that find one
    program = compiled(mpi, "polls.c")
    # WHEN they are recorded in the lab
    done = lab("run", "-n", 2, "--record", tmp_path / "polls.rw", "--", program, "fixed")
    # THEN the program got these answers, and slept for want of messages only
    assert done.returncode == 0, done.stderr
    rows = polled(done.stdout)
    assert [polls for _, polls, _ in rows] == [1000] * (2 * len(CALLS) - 2)
    assert all(times > 1000 / LOOKS_A_SLEEP for what, _, times in rows if what != "found")
    assert all(times < 50 for what, _, times in rows if what == "found")
    # AND as many calls are in the recording
    calls = Recording.open(tmp_path / "polls.rw").calls.filter(pl.col("rank") == 0)
    counts = {row["call"]: row["count"] for row in calls.iter_rows(named=True)}
    expected = {f"MPI_{name}": 1000 if name.endswith("probe") else 2000 for name in CALLS}
    assert {name: counts.get(name) for name in expected} == expected


@pytest.mark.parametrize("name", ["debian-mpich", "debian-openmpi"])
def test_polls_in_fortran_sleep(name, compiled):
    # GIVEN a program in Fortran that polls while another rank works for 50 ms
    mpi = mpis.named(name)
    if mpi.mpifort is None:
        pytest.skip("no gfortran; run `bash tests/install_debian_packages.sh`")
    program = compiled(mpi, "polls.f90")
    # WHEN it runs with the lab's library, THEN it does not poll hundreds of thousands of times
    done = mpi.run(2, program, environment={"LD_PRELOAD": preload_list()})
    assert done.returncode == 0, done.stderr
    polls, number = map(int, done.stdout.split())
    assert polls < 100_000
    assert number == 5


def test_programs_without_mpi_are_as_ever(lab):
    # GIVEN the library in a process that has no MPI, THEN nothing is different
    done = lab.on("rw-lab-node0", "env", f"LD_PRELOAD={preload_list()}", "echo", "here")
    assert done == "here\n"
