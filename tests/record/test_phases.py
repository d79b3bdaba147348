# SPDX-License-Identifier: BSD-3-Clause
"""A trace holds the phase that was asked for, by what the program says with MPI_Pcontrol, and nothing else."""

import sys
from collections import Counter
from pathlib import Path

import mpis
import pytest

from rankwise.recording import Recording
from rankwise.report.build import build

pytestmark = pytest.mark.mpi

# What is traced of tests/programs/phases.c: calls between the beginning, which is not, and the end, which is.
BY_PHASE = {
    "7": {"MPI_Barrier": 3, "MPI_Pcontrol": 2},
    "solve": {"MPI_Barrier": 11 + 13 + 17, "MPI_Irecv": 1, "MPI_Pcontrol": 3},
    "solver": {"MPI_Barrier": 7, "MPI_Pcontrol": 4},
    # It is never left.
    "sol": {
        "MPI_Barrier": 7 + 11 + 13 + 17 + 3,
        "MPI_Pcontrol": 7,
        **dict.fromkeys(("MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Finalize"), 1),
    },
    "nothing": {},
}


PROGRAMS = Path(__file__).resolve().parent.parent / "programs"


def traced(thread) -> Counter:
    """Calls of a trace; samples of the scheduler are none."""
    return Counter(event["call"] for event in thread.events() if event["call"] not in ("sched", "poll"))


@pytest.mark.parametrize("phase", BY_PHASE)
def test_a_phase_is_traced_whenever_it_comes_and_all_is_counted(mpi, compiled, record, phase):
    # GIVEN a program with phases by level and by name, and texts in its calls that are none
    # WHEN one of them is asked for
    asked = {"RANKWISE_TRACE": "1", "RANKWISE_PHASE": phase}
    recorded = record(mpi, 2, compiled(mpi, "phases.c"), environment=asked)
    # THEN its calls are traced on every rank, and no other
    for thread in recorded.threads:
        assert traced(thread) == Counter(BY_PHASE[phase])
        assert thread.has("cut") and thread.count("MPI_Barrier") == 60 and thread.count("MPI_Pcontrol") == 14


@mpis.only(lambda _: True, quick=("debian-mpich",))  # others have no Fortran bindings
@pytest.mark.parametrize("binding", ["MPIFH", "USEMPI", "F08"])
def test_fortran_has_levels(mpi, compiled, record, binding):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    program = compiled(mpi, "phases.f90", "-cpp", f"-D{binding}")
    recorded = record(mpi, 2, program, environment={"RANKWISE_TRACE": "1", "RANKWISE_PHASE": "3"})
    for thread in recorded.threads:
        assert traced(thread) == Counter({"MPI_Barrier": 8, "MPI_Pcontrol": 4})
        assert thread.count("MPI_Barrier") == 13 and thread.count("MPI_Pcontrol") == 9


def test_the_time_between_two_visits_is_not_in_the_trace(mpi, compiled, record):
    # GIVEN 4 visits of level 3, with exact times
    program = compiled(mpi, "phases.c")
    recorded = record(mpi, 1, program, environment={"RANKWISE_TRACE": "exact", "RANKWISE_PHASE": "solve"})
    # THEN what its events last, with the gaps before them, is within what the run lasted without the rest
    thread = recorded.rank(0)
    events = [event for event in thread.events() if event["call"] != "sched"]
    inside = sum(event["ticks"] for event in events)
    outside = sum(
        total[1] for name, total in thread.totals.items() if name not in ("MPI_Init", "MPI_Finalize")
    )
    run = thread.info["finalize_ticks"] - thread.info["init_ticks"]
    assert sum(event["gap"] for event in events) + inside <= run - (outside - inside)


def test_a_phase_that_never_came_is_said(mpi, compiled, record):
    recorded = record(
        mpi, 2, compiled(mpi, "phases.c"), environment={"RANKWISE_TRACE": "1", "RANKWISE_PHASE": "nothing"}
    )
    recording = Recording.open(recorded.directory)
    assert recording.context["trace"]["bytes"] == 0
    whys = [entry["why"] for entry in recording.context["not_recorded"]]
    assert any("did not occur" in why for why in whys)


LEVELS = pytest.mark.parametrize("phase", ["", "1"], ids=["whole", "level"])


def check_levels(recorded, phase):
    """What is recorded of profiling_levels, which has 1 + 2 + 4 + 8 + 16 barriers between levels 0, 1, 2 and 0."""
    notes = [note for note in build(Recording.open(recorded.directory)).notes if "Pcontrol" in note]
    for thread in recorded.threads:
        # All is counted, and of the trace the wanted level has what is between it and the next other one
        assert thread.count("MPI_Barrier") == 31
        expected = {"MPI_Barrier": 4, "MPI_Pcontrol": 1} if phase else {"MPI_Barrier": 31, "MPI_Pcontrol": 4}
        assert {name: traced(thread)[name] for name in expected} == expected
    # Who expects that levels switch recording off is told that they do not
    if phase:
        assert notes == []
    else:
        assert f"({4 * len(recorded.threads)} calls)" in notes[0] and "`--phase 1`" in notes[0]


@LEVELS
def test_the_standards_levels_switch_nothing_off_but_are_a_phase(mpi, compiled, record, phase):
    asked = {"RANKWISE_TRACE": "1", "RANKWISE_PHASE": phase}
    check_levels(record(mpi, 2, compiled(mpi, "profiling_levels.c"), environment=asked), phase)


@LEVELS
def test_the_standards_levels_in_fortran(mpi, compiled, record, phase):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    asked = {"RANKWISE_TRACE": "1", "RANKWISE_PHASE": phase}
    check_levels(record(mpi, 2, compiled(mpi, "profiling_levels.f90"), environment=asked), phase)


@LEVELS
@mpis.only(mpis.mpi4py_takes)
def test_the_standards_levels_in_python(mpi, record, phase):
    library = str(next((mpi.mpicc.parent.parent / "lib").glob("libmpi.so.[14]*")))
    asked = {
        "RANKWISE_TRACE": "1",
        "RANKWISE_PHASE": phase,
        "MPI4PY_LIBMPI": library,
        "RANKWISE_MPI": library,
    }
    program = PROGRAMS / "profiling_levels.py"
    check_levels(record(mpi, 2, sys.executable, program, environment=asked), phase)
