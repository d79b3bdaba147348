# SPDX-License-Identifier: BSD-3-Clause
"""What ranks say of themselves in their pages: programs of known structure."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import mpis
import pytest
import tune_page

from rankwise.record.library import What, variables
from rankwise.tune.preload import tune_environment

pytestmark = pytest.mark.mpi

FORTRAN = """
program loops
    use mpi
    implicit none
    integer :: i, error, rank, status, number
    character(len=500) :: directory, path
    double precision :: mine, sum
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    mine = 1
    do i = 1, 200
        call MPI_Allreduce(mine, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        call MPI_Barrier(MPI_COMM_WORLD, error)
        call MPI_Allreduce(mine, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
    call get_environment_variable("RANKWISE_TUNE", directory)
    number = getpid()
    write (path, '(a, "/", i0, ".", i0, ".page")') trim(directory), rank, number
    call link(trim(path), trim(path) // ".kept", status)
    call MPI_Finalize(error)
end program
"""
PYTHON = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(150):
    world.sendrecv(step, (world.rank + 1) % world.size)
    world.allreduce(step)
    world.Barrier()
path = f"{os.environ['RANKWISE_TUNE']}/{world.rank}.{os.getpid()}.page"
os.link(path, path + ".kept")
"""


@dataclass
class Tuned:
    """How a program ended, and its ranks' pages."""

    run: CompletedProcess
    pages: list[tune_page.Page]


@pytest.fixture
def tuned(tmp_path):
    """Function (mpi, ranks, command..., library=) -> Tuned."""

    def run(
        mpi: mpis.Mpi, ranks: int, *command: str | Path, library: str | None = None, **more: str
    ) -> Tuned:
        environment = tune_environment(tmp_path, library, None) | more
        done = mpi.run(ranks, *command, environment=environment)
        assert done.returncode == 0, done.stderr
        assert "rankwise" not in done.stderr
        # No page is left but those that the program gave a second name.
        assert not list(tmp_path.glob("*.page"))
        return Tuned(done, tune_page.read_all(tmp_path))

    return run


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_page_says_whose_it_is_and_what_was_sent_to_whom(mpi, ranks, compiled, tuned):
    # GIVEN messages to the next rank: 50 of 100 bytes by persistent requests and 50 of 7 bytes, all in a communicator
    # whose ranks are turned round, and some to nobody
    program = compiled(mpi, "tuned.c", "-pthread")
    pages = tuned(mpi, ranks, program, "peers", "50").pages
    # THEN each rank's page has them by the world rank of the receiver
    assert [page.rank for page in pages] == list(range(ranks))
    for page in pages:
        assert page.ranks == ranks and page.ended and page.entered == 0
        assert page.peers == {(page.rank + 1) % ranks: (100, 50 * 107)}
        assert (page.messages, page.bytes) == (100, 50 * 107)
        # Of MPI_Comm_rank, MPI_Comm_size, five calls before the loop and three behind it, two of init
        assert page.calls == 2 + 3 + 4 * 50 + 3
        assert 1e6 < page.ticks_per_s < 1e11 and page.process_start > 0


def test_handles_that_come_again_mean_what_they_mean_then(mpi, compiled, tuned):
    # GIVEN messages to the next rank of 1, 2 and 3 bytes, each in a communicator and of a datatype of its own
    pages = tuned(mpi, 3, compiled(mpi, "tuned.c", "-pthread"), "remade", "30").pages
    # THEN all went there, with their sizes
    assert [page.peers for page in pages] == [{(page.rank + 1) % 3: (30, 60)} for page in pages]


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    "mode, steps, iterations",
    [
        ("flat", 300, 300),
        ("polling", 300, 300),
        ("nested", 150, 150),
        ("converge", 150, 150),
        ("phases", 300, 600),
        ("phases", 400, 800),
        ("phases", 1000, 2000),
        ("pcontrol", 40, 40),
    ],
)
@pytest.mark.parametrize("ranks", [1, 2])
def test_iterations_are_told_by_the_sequence_of_calls(mpi, ranks, mode, steps, iterations, compiled, tuned):
    # GIVEN loops whose structure is known (tests/programs/tuned.c)
    pages = tuned(mpi, ranks, compiled(mpi, "tuned.c", "-pthread"), mode, str(steps)).pages
    assert len(pages) == ranks
    for page in pages:
        # THEN their iterations are counted, though nobody says what they are; MPI_Pcontrol wins where it is called
        assert abs(page.iterations - iterations) <= 2
        assert page.known_by == (tune_page.BY_PCONTROL if mode == "pcontrol" else tune_page.BY_PATTERN)
        assert page.anchor >= 1


def test_where_no_tuner_can_be_started_a_rank_says_so_and_the_program_runs(mpi, compiled, tmp_path):
    # GIVEN a node on which the program that would start a tuner is not
    pages = tmp_path / "job" / "pages"
    environment = tune_environment(pages, None) | {
        "RANKWISE_TUNE_PYTHON": "/absent/python",
        "RANKWISE_TUNE_NODE": "asked",
    }
    # WHEN a program runs there
    done = mpi.run(1, compiled(mpi, "tuned.c", "-pthread"), "flat", "2", environment=environment)
    # THEN it ends well, and one line says what is missing
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if "rankwise" in line]
    assert said == ["rankwise: the tuner does not see the ranks: none could be started on this node"]
    assert not pages.parent.exists()


def test_programs_without_a_loop_have_no_iterations(mpi, compiled, tuned):
    [page] = tuned(mpi, 1, compiled(mpi, "tuned.c", "-pthread"), "flat", "2").pages
    assert (page.iterations, page.known_by, page.anchor) == (0, tune_page.NOT_KNOWN, 0)


def test_waiting_time_is_that_of_the_ranks_that_wait(mpi, compiled, tuned):
    # GIVEN 25 barriers to which rank 0 comes 20 ms late
    first, second = tuned(mpi, 2, compiled(mpi, "tuned.c", "-pthread"), "late", "25").pages
    # THEN rank 1 waits, and rank 0 does not as long
    assert second.wait_s > 0.45
    assert first.wait_s < second.wait_s / 2
    assert second.wait_s <= second.mpi_s


@pytest.mark.one_of(4)
@pytest.mark.parametrize("mode, bursts, seen", [("bursts", 200, 0.9), ("quick_bursts", 3000, 0.3)])
def test_waits_among_many_short_receives_of_one_place_are_seen(mode, bursts, seen, mpi, compiled, tuned):
    # GIVEN a rank that only receives, where one receive of 64 or 32 waits and the others find their message there
    run = tuned(mpi, 2, compiled(mpi, "tuned.c", "-pthread"), mode, str(bursts))
    received_s = float(re.search(r"received for ([0-9.]+) s", run.run.stdout)[1])
    # THEN nearly all of that time was in MPI, and waited for; where calls come quickly, some are timed only, and what
    # other processes do to one of them is often missed
    assert seen * received_s < run.pages[1].wait_s < 1.05 * received_s


def test_calls_of_all_threads_are_counted(mpi, compiled, tuned):
    # GIVEN four threads that send 3000 messages of 8 bytes each at the same time
    run = tuned(mpi, 2, compiled(mpi, "tuned.c", "-pthread"), "threads", "3000")
    for page in run.pages:
        # THEN none is lost
        assert page.peers == {page.rank: (12000, 96000)}
        assert page.calls == 2 + 4 * 3 * 3000


def test_calls_that_only_ask_do_not_count(mpi, compiled, tuned):
    # GIVEN 300 exchanges that are asked for until they are done, however often that is
    for page in tuned(mpi, 2, compiled(mpi, "tuned.c", "-pthread"), "polling", "300").pages:
        # THEN calls are those that the program makes in any case
        assert page.calls == 2 + 300 * 3


@mpis.only(lambda _: True, quick=("debian-mpich",))  # others have no Fortran bindings
def test_fortran_calls_are_seen(mpi, tmp_path_factory, tuned):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    source = tmp_path_factory.mktemp("fortran") / "loops.f90"
    source.write_text(FORTRAN)
    program = mpi.compile(source, source.with_suffix(""))
    # WHEN two Allreduces and a Barrier repeat 200 times
    for page in tuned(mpi, 2, program).pages:
        assert page.calls == 601
        assert abs(page.iterations - 200) <= 2


@mpis.only(mpis.mpi4py_takes)
def test_mpi4py_which_loads_mpi_late_is_seen(mpi, tmp_path_factory, tuned):
    script = tmp_path_factory.mktemp("script") / "loop.py"
    script.write_text(PYTHON)
    library = str(next((mpi.mpicc.parent.parent / "lib").glob("libmpi.so.[14]*")))
    pages = tuned(mpi, 2, sys.executable, script, library=library, MPI4PY_LIBMPI=library).pages
    assert [page.rank for page in pages] == [0, 1]
    for page in pages:
        # Objects are sent as messages of their own; how many is mpi4py's business.
        assert page.peers[1 - page.rank][0] >= 150
        assert abs(page.iterations - 150) <= 2


@pytest.mark.parametrize("first", ["record", "tune"])
def test_a_run_is_recorded_and_tuned_at_once(mpi, first, compiled, tmp_path, tmp_path_factory):
    # GIVEN both libraries in LD_PRELOAD, in either order
    recording = tmp_path_factory.mktemp("both") / "both.rw"
    (recording / "raw").mkdir(parents=True)
    recorder = variables(recording, What(), None)
    tuner = tune_environment(tmp_path, None, None)
    both = [recorder["LD_PRELOAD"], tuner["LD_PRELOAD"]]
    environment = recorder | tuner | {"LD_PRELOAD": ":".join(both if first == "record" else both[::-1])}
    done = mpi.run(2, compiled(mpi, "tuned.c", "-pthread"), "flat", "100", environment=environment)
    assert done.returncode == 0, done.stderr
    # THEN the page is right, and there is a recording
    for page in tune_page.read_all(tmp_path):
        assert abs(page.iterations - 100) <= 2
        assert page.peers == {1 - page.rank: (100, 800)}
    assert list(recording.glob("**/*.rwn"))
