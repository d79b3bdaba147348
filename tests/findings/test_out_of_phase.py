# SPDX-License-Identifier: BSD-3-Clause
"""Pairs that wait in turns, in traces written by hand."""

import polars as pl
import pytest
from traces import Traced, recording_of, traced

from rankwise.findings.catalogue import findings_of

SIZE = 1 << 20


def in_turns(rounds=20) -> list[Traced]:
    """LAMMPS over TCP: rank 1 waits in MPI_Wait while rank 0 computes, which waits in MPI_Send while rank 1 does.

    Ranks 2 and 3 compute as long and wait for nobody.
    """
    first, second, *others = traced(4)
    for rank in (first, second):
        rank.irecv_from(1 - rank.world_rank, 0, 0.1, SIZE)
        rank.send_to(1 - rank.world_rank, 0, 0.1, SIZE)
    first.wait(0, 0.1, 1, SIZE)
    for turn in range(rounds):
        away = 10 + turn % 3
        came = first.at_ms + away
        # Rank 0 is back and hands over the rest of what it sent, then waits for rank 1, which computes.
        second.wait(0, second.until(came + 0.5), 0, SIZE)
        first.irecv_from(1, away, 0.1, SIZE)
        first.send_to(1, 0, first.until(came + away + 0.3), SIZE)
        second.irecv_from(0, away - 0.5, 0.1, SIZE)
        second.send_to(0, 0, 0.1, SIZE)
        first.wait(0, 0.2, 1, SIZE)
    second.wait(0, second.until(first.at_ms), 0, SIZE)
    for rank in others:
        rank.call("MPI_Comm_set_name", first.at_ms / 2, first.at_ms / 2)
    return [first, second, *others]


def with_interrupts(recording, shares):
    """PU `n` spends a part of the run in interrupts."""
    samples = pl.DataFrame(
        [
            {"host": "n0", "pu": pu, "time_s": at, "irq_s": 0.25 * share * at, "softirq_s": 0.75 * share * at}
            for pu, share in enumerate(shares)
            for at in (0.0, 1.0)
        ]
    )
    table = recording.table
    recording.table = lambda name: samples if name == "core_samples" else table(name)
    return recording


def told(path, shares):
    return findings_of(with_interrupts(recording_of(path, in_turns()), shares))[0]


def test_a_pair_that_waits_in_turns_on_unequal_cores_is_told_with_a_swap(tmp_path):
    # GIVEN rank 1 on a core that spends a quarter of its time on interrupts, as that of rank 2 does
    (found,) = told(tmp_path / "a.rw", [0.01, 0.25, 0.24, 0.01])
    # THEN
    assert (found.name, found.ranks) == ("out-of-phase", [1, 0])
    assert found.sentence == (
        "ranks 0 and 1 compute in turns and wait for each other: rank 1 in MPI_Wait, rank 0 in MPI_Send, "
        "because the core of rank 1 takes the interrupts"
    )
    assert found.do.startswith("swap the cores of ranks 0 and 2")
    # AND rank 0 waits as long as rank 1 computes, 10.5 ms in the mean
    assert found.cost_s == pytest.approx(20 * 0.01045, rel=0.02)


@pytest.mark.parametrize("shares", [[0.25, 0.25, 0, 0], [0.02, 0.05, 0, 0]])
def test_on_equal_cores_it_is_the_receiver_that_is_late(tmp_path, shares):
    assert [each.name for each in told(tmp_path / "a.rw", shares)] == ["late-receiver"]
