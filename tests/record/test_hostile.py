# SPDX-License-Identifier: BSD-3-Clause
"""
Programs that other recorders crash on, hang on or miscount: each with its known answer, on every MPI.

What is not here because it is no answer but an ending (MPI_Abort, SIGSEGV, SIGKILL, SIGTERM, _exit, exit without
MPI_Finalize) is in test_endings.py; two MPI libraries in one process cannot come about, as the recorder links none
(test_recorded_programs.py: the standard ABI, mpi4py, and programs of one MPI beside those of another).
"""

import sys
from dataclasses import dataclass

import expected
import mpis
import pytest

pytestmark = pytest.mark.mpi


@dataclass(frozen=True)
class Case:
    """One program in tests/programs/hostile/, and what its MPI must have."""

    source: str
    needs: str | None = None
    flags: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # defines HAVE_... of those that its MPI has


CASES = {
    "f08": Case("fortran.f90", flags=("-cpp", "-DF08")),
    "use mpi": Case("fortran.f90", flags=("-cpp", "-DUSEMPI")),
    "mpif.h": Case("fortran.f90", flags=("-cpp", "-DMPIFH", "-fallow-argument-mismatch")),
    "mpi4py": Case("python.py"),
    "sessions": Case("session.c", "MPI_Session_init"),
    "collective of MPI_COMM_SELF": Case("comm_self.c"),
    "freed communicators": Case("freed_communicators.c"),
    "2200 communicators": Case("many_splits.c"),
    "in place without datatypes": Case("in_place.c"),
    "intercommunicator": Case("intercommunicator.c"),
    "MPI_Win_allocate": Case("window_allocate.c"),
    "MPI_PROC_NULL": Case("proc_null.c"),
    "persistent": Case("persistent.c", optional=("MPI_Alltoallv_init",)),
    "2.5 GiB": Case("huge_send.c"),
    "wildcard without status": Case("wildcard.c"),
    "neighbours": Case("neighbours.c"),
    "large counts": Case("large_counts.c", "MPI_Send_c"),
    "matched probes": Case("matched_probes.c"),
    "partitioned": Case("partitioned.c", "MPI_Psend_init"),
    "threads": Case("threads.c", flags=("-pthread",)),
    "requests that another thread completes": Case("passed_on.c", flags=("-pthread",)),
}


def marks_of(name: str, case: Case) -> list:
    """For which libraries a program is, and with which `make test` runs it if not with both."""
    if case.source.endswith(".py"):
        return [mpis.only(mpis.mpi4py_takes)]
    # MPICH takes half a minute to hand it on.
    return [pytest.mark.matrix(libraries=("openmpi-5.0.11",))] if name == "2.5 GiB" else []


def command_of(mpi: mpis.Mpi, case: Case, compiled) -> tuple[list, dict[str, str]]:
    """What to run, and what its ranks need in the environment; skips where the MPI cannot."""
    if case.source.endswith(".py"):
        library = next((mpi.mpicc.parent.parent / "lib").glob("libmpi.so.[14]*"))
        named = {"MPI4PY_LIBMPI": str(library), "RANKWISE_MPI": str(library)}
        return [sys.executable, mpis.PROGRAMS / "hostile" / case.source], named
    if case.source.endswith(".f90") and mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    if case.needs and not mpi.has(case.needs):
        pytest.skip(f"this MPI has no {case.needs}")
    known = [f"-DHAVE_{function}" for function in case.optional if mpi.has(function)]
    return [compiled(mpi, f"hostile/{case.source}", *case.flags, *known)], {}


@pytest.mark.one_of(2)
@pytest.mark.matrix(ranks=[2])
@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=marks_of(name, case)) for name, case in CASES.items()],
)
def test_a_hostile_program_runs_as_ever_and_is_counted_exactly(
    mpi, compiled, record, tmp_path_factory, name, ranks
):
    if name == "2200 communicators" and mpi.family == "mpich" and mpi.version < (4, 1):
        # Its ranks spin while they wait: on two busy processors 2 of them took 0.2 s, 3 took 38 s, 5 more than 60.
        ranks = min(ranks, 2)
    # GIVEN a program that does what others stumble over, and writes down what must be recorded of it
    command, environment = command_of(mpi, CASES[name], compiled)
    stated = tmp_path_factory.mktemp("expected")
    if name == "sessions" and mpi.name != "mpich-5.0.2" and mpi.run(ranks, *command).returncode:
        pytest.skip("this MPI's sessions do not work here")
    # WHEN it is recorded
    environment["EXPECT"] = str(stated)
    # Ranks of some libraries spin while they wait, 16 of them on few cores for long.
    recorded = record(mpi, ranks, *command, environment=environment, timeout=120 if ranks < 16 else 600)
    # THEN it ends well and says nothing, and each rank has recorded exactly that
    assert recorded.run.stdout == ""
    for rank in range(ranks):
        threads = [thread for thread in recorded.threads if thread.info["world_rank"] == rank]
        expected.check(threads, expected.read(stated / str(rank)))
