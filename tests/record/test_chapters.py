# SPDX-License-Identifier: BSD-3-Clause
"""A program for each chapter of MPI; each says itself what must be recorded of it, beside each call."""

import expected
import pytest

pytestmark = pytest.mark.mpi

# Program -> the function without which it cannot be built.
CHAPTERS = {
    "point_to_point": None,
    "partitioned": "MPI_Psend_init",
    "collectives": None,
    "neighbours": None,
    "communicators": None,
    "one_sided": None,
    "files": None,
}

FORTRAN = [*CHAPTERS, "intercommunicators", "requests", "persistent_collectives", "active_target", "threads"]
# Of these `make test` takes one binding; of the others, `f08` with both libraries and each other binding with one.
SAMPLED = FORTRAN[len(CHAPTERS) :]
# As in CHAPTERS.
NEEDED_BY_FORTRAN = {"persistent_collectives": "MPI_Allreduce_init", "large_counts": "MPI_Send_c"}
BINDINGS = {"mpif.h": ("-DMPIFH", "-fallow-argument-mismatch"), "use mpi": ("-DUSEMPI",), "f08": ("-DF08",)}

# Parts of programs that are left out where the library lacks them.
OPTIONAL = ("MPI_Send_c", "MPI_Isendrecv", "MPI_Allreduce_init", "MPI_Neighbor_allgather_init")


@pytest.mark.matrix(ranks=[5])
@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
def test_every_call_of_the_chapter_has_exactly_the_known_counts(
    mpi, compiled, record, tmp_path_factory, chapter, ranks
):
    # GIVEN a program that writes down what it sends, receives and calls
    needed = CHAPTERS[chapter]
    if needed and not mpi.has(needed):
        pytest.skip(f"this MPI has no {needed}")
    flags = [f"-DHAVE_{function}" for function in OPTIONAL if mpi.has(function)]
    check(mpi, ranks, compiled(mpi, f"calls/{chapter}.c", *flags), record, tmp_path_factory)


OF_ONE_LIBRARY = {"mpif.h": "debian-openmpi", "use mpi": "debian-mpich"}


def quick_marks(chapter: str, name: str) -> list:
    """What leaves a program to `make test-all`, or its libraries but one."""
    if name == "f08":
        return []
    if chapter in SAMPLED:
        return [pytest.mark.slow]
    return [pytest.mark.matrix(libraries=(OF_ONE_LIBRARY[name],))]


FORTRAN_PROGRAMS = [
    pytest.param(
        chapter,
        name,
        marks=quick_marks(chapter, name),
        id=f"{chapter}-{name}",
    )
    for chapter in FORTRAN
    for name in BINDINGS
] + [pytest.param("large_counts", "f08", id="large_counts-f08")]


@pytest.mark.one_of(3)
@pytest.mark.matrix(ranks=[5])
@pytest.mark.parametrize(("chapter", "name"), FORTRAN_PROGRAMS)
@pytest.mark.parametrize("ranks", [1, 2, 5, 16])
def test_every_fortran_call_of_the_chapter_is_seen_once_and_has_the_known_counts(
    mpi, compiled, record, tmp_path_factory, chapter, name, ranks
):
    needed = CHAPTERS.get(chapter) or NEEDED_BY_FORTRAN.get(chapter)
    if mpi.mpifort is None or (needed and not mpi.has(needed)):
        pytest.skip(
            "this MPI has no Fortran bindings here" if mpi.mpifort is None else f"this MPI has no {needed}"
        )
    threads = ("-fopenmp",) if chapter == "threads" else ()
    program = compiled(mpi, f"fortran/{chapter}.f90", "-cpp", *BINDINGS[name], *threads)
    check(mpi, ranks, program, record, tmp_path_factory)


def check(mpi, ranks, program, record, tmp_path_factory):
    """Record a program that states what must be recorded of it, and compare."""
    stated = tmp_path_factory.mktemp("expected")
    # WHEN it is recorded
    recorded = record(mpi, ranks, program, stated / "file", environment={"EXPECT": str(stated)})
    # THEN each rank has recorded that and nothing else
    for rank in range(ranks):
        threads = [thread for thread in recorded.threads if thread.info["world_rank"] == rank]
        expected.check(threads, expected.read(stated / str(rank)))
