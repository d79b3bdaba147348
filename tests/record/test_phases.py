# SPDX-License-Identifier: BSD-3-Clause
"""A trace holds the phase that was asked for, by what the program says with MPI_Pcontrol, and nothing else."""

from collections import Counter

import mpis
import pytest

from rankwise.recording import Recording

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
