# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that take most of the time in MPI, in traces written by hand."""

import pytest
from traces import recording_of, traced

from rankwise.findings.catalogue import findings_of


def adding(path, *, compute_ms=4.0, inside_ms=1.0, late_ms=0.0, size=8, call="MPI_Allreduce", calls=100):
    """Four ranks that compute, wait for the last of them and are in the collective together."""
    ranks = traced(4)
    for step in range(calls):
        for rank in ranks:
            late = late_ms if rank.world_rank == step % 4 else 0.0
            rank.together(call, compute_ms + late, inside_ms + late_ms - late, size)
    return findings_of(recording_of(path, ranks))[0]


@pytest.mark.parametrize(
    ("call", "size", "what", "do"),
    [
        ("MPI_Allreduce", 8, "of 8 B on average; ", "call it less often"),
        ("MPI_Bcast", 8, "of 8 B on average; ", "call it less often"),
        ("MPI_Alltoall", 1 << 20, "of 1.05 MB on average; ", "move less data"),
        ("MPI_Barrier", 0, "100 calls a rank; ", "leave out barriers"),
    ],
)
def test_it_is_told_with_all_that_ranks_are_in_it_together(tmp_path, call, size, what, do):
    (found,) = adding(tmp_path / "a.rw", call=call, size=size)
    assert found.name == "collective-dominates"
    assert (
        found.sentence
        == f"{call} takes 100 ms of a rank's 500 ms, not counting the wait for ranks that come late"
    )
    assert found.cost_s == pytest.approx(0.1)
    assert what in found.evidence[0] and found.do.startswith(do)


def test_waiting_for_the_last_one_is_something_else(tmp_path):
    # GIVEN 0.25 ms in each call when all have come, 5 % of the run, and 2 ms of waiting for one rank
    found = adding(tmp_path / "a.rw", compute_ms=3, inside_ms=0.25, late_ms=2)
    assert [each.name for each in found] == ["late-collective"]


def test_little_of_the_run_is_not_told(tmp_path):
    assert adding(tmp_path / "a.rw", compute_ms=9.5, inside_ms=0.5) == []


def test_a_collective_that_is_the_smaller_part_of_mpi_does_not_dominate(tmp_path):
    ranks = traced(2)
    for _ in range(20):
        for rank in ranks:
            rank.together("MPI_Allreduce", 10, 2)
            rank.together("MPI_Allgather", 0, 1)
            rank.send_to(1 - rank.world_rank, 0, 4)
            rank.recv_from(1 - rank.world_rank, 0, 1)
    found = findings_of(recording_of(tmp_path / "a.rw", ranks))[0]
    assert "collective-dominates" not in [each.name for each in found]


def test_it_is_told_of_libraries_whose_algorithms_are_not_known(tmp_path):
    ranks = traced(4)
    for rank in ranks:
        rank.version = "Intel(R) MPI Library 2021.18 for Linux* OS"
        for _ in range(100):
            rank.together("MPI_Allreduce", 4, 1)
    found, without = findings_of(recording_of(tmp_path / "a.rw", ranks))
    assert [each.name for each in found] == ["collective-dominates"]
    assert [each.why for each in without if each.name == "collective-algorithm"] == [
        "the algorithms of this MPI library are not known"
    ]
