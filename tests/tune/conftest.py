# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are none, and a tuner's hands on them."""

import os
import subprocess

import misplaced as running
import pytest
import simulated_nodes
import tune_driver
from waiting import until


@pytest.fixture(scope="session")
def driver_flags(request):
    """What drivers are built with: sanitizers; for `make test`, in half the time, none."""
    is_quick = request.config.getoption("markexpr") == "not slow"
    return tune_driver.PLAIN if is_quick else tune_driver.SANITIZED


@pytest.fixture(scope="session")
def driver_program(driver_flags):
    """The driver."""
    return tune_driver.program(driver_flags)


@pytest.fixture(scope="session")
def simulator():
    """The program that simulates a node under a tuner."""
    return simulated_nodes.built()


@pytest.fixture(scope="session")
def threads_program(tmp_path_factory):
    """`tests/programs/many_threads.c`, compiled."""
    program = tmp_path_factory.mktemp("programs") / "threads"
    source = tune_driver.TOP / "tests/programs/many_threads.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-pthread", source, "-o", program], check=True)
    return program


@pytest.fixture
def start(threads_program):
    """Function (threads=, spin=, born=, pus=) -> a process with these threads that runs, bound to `pus`."""
    started = []

    def begin(threads: int = 0, *, spin: int = 0, born: int = 0, pus: set[int] | None = None):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, pus or before)
        try:
            process = subprocess.Popen(
                [threads_program, str(threads), str(spin), str(born)], stdout=subprocess.PIPE, text=True
            )
        finally:
            os.sched_setaffinity(0, before)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def two_pus():
    """Skips where there are no two."""
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("needs PUs 0 and 1")


@pytest.fixture
def misplaced(compiled, two_pus, tmp_path):
    """Function (mpi, pages, variables of the ranks, words before them) -> a Misplaced that runs."""
    jobs = []

    def begin(mpi, pages, variables, under=()):
        jobs.append(running.Misplaced(mpi, compiled(mpi, running.PROGRAM), tmp_path, pages, variables, under))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.end()


@pytest.fixture
def driving(tmp_path, driver_program):
    """Function (processes..., state=, lines=) -> a Driver whose ranks they are, after a first sample."""
    drivers = []

    def begin(*processes, state=None, lines=()):
        folder = tmp_path / f"driver{len(drivers)}"
        folder.mkdir()
        pids = [f"pid {process.pid}" for process in processes]
        drivers.append(tune_driver.Driver(folder, [*pids, *lines], driver_program, state))
        if drivers[-1].first == "ready":
            drivers[-1].sample()
        return drivers[-1]

    yield begin
    for driver in drivers:
        driver.__exit__()


@pytest.fixture
def slow_disk(tmp_path):
    """Function (driver, line, meanwhile...) -> its answer; the n-th runs while the n-th record gets on the disk."""

    def during(driver, line: str, *meanwhile) -> str:
        gates = [tmp_path / f"gate{at}" for at in range(len(meanwhile))]
        for gate in gates:
            os.mkfifo(gate)
        journal = driver.state / "journal"
        before = journal.stat().st_size
        driver.ask("disk " + " ".join(map(str, gates)))
        driver.tell(line)
        for gate, act in zip(gates, meanwhile, strict=True):
            assert until(lambda: journal.stat().st_size > before)  # noqa: B023
            before = journal.stat().st_size
            act()
            open(gate, "w").close()
        return driver.answer()

    return during


@pytest.fixture
def small_state(tmp_path):
    """A state directory in which 16 KiB can be written."""
    state = tmp_path / "small"
    state.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", state], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no mount namespaces here")
    yield state
    subprocess.run(["umount", "-l", state], check=True)
