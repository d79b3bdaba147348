# SPDX-License-Identifier: BSD-3-Clause
"""Late collectives in traces written by hand."""

import pytest
from raw_writer import u, z
from traces import MS, recording_of, traced

from rankwise.findings.catalogue import findings_of


def stepping(work_ms, call="MPI_Allreduce", steps=20):
    """Ranks that compute `work_ms(rank, step)` before a collective that takes 0.5 ms for the last one."""
    ranks = traced(4)
    for step in range(steps):
        came = [rank.at_ms + work_ms(rank.world_rank, step) for rank in ranks]
        for rank in ranks:
            work = work_ms(rank.world_rank, step)
            rank.together(call, work, rank.until(max(came) + 0.5, work))
    return ranks


def told(path, ranks):
    return findings_of(recording_of(path, ranks))[0]


def test_ranks_that_are_late_in_turns_are_told_with_what_even_steps_save(tmp_path):
    # GIVEN 20 steps in which one rank after the other computes 18 ms, the others 10 ms: 12 ms in the mean
    ranks = stepping(lambda rank, step: 18 if step % 4 == rank else 10)
    # WHEN
    (found,) = told(tmp_path / "a.rw", ranks)
    # THEN 6 ms of each of the 19 steps between two calls are lost, and the first one is not between two
    assert found.name == "late-collective"
    assert found.sentence == "ranks take turns in coming late to MPI_Allreduce"
    # AND those 19 steps, one of which rank 0 misses, leave rank 1 with 2 ms more than the mean
    assert found.cost_s == pytest.approx(0.019 * 6 - 0.002)
    assert "19 steps the rank that computes longest does so for 1.8 times as long" in found.evidence[0]


@pytest.mark.parametrize("call", ["MPI_Barrier", "MPI_Alltoall"])
def test_the_same_rank_in_each_step_is_load_imbalance_alone(tmp_path, call):
    ranks = stepping(lambda rank, step: 18 if rank == 2 else 10, call)
    assert [each.name for each in told(tmp_path / "a.rw", ranks)] == ["load-imbalance"]


def test_both_are_told_of_with_what_each_costs(tmp_path):
    # GIVEN rank 3 with 10 ms more in each step, and ranks 0 to 2 with 20 ms more than it in turns, once in four
    work = [[10, 10, 10, 20] for _ in range(81)]
    for step in range(0, 81, 4):
        work[step][step // 4 % 3] = 40
    ranks = stepping(lambda rank, step: work[step][rank], steps=81)
    # WHEN
    found = {each.name: each.cost_s for each in told(tmp_path / "a.rw", ranks)}
    # THEN together they are what even steps save: 7.5 ms in three of four steps, 22.5 - 2.5 ms in one
    assert set(found) == {"load-imbalance", "late-collective"}
    steps = [max(each) - sum(each) / 4 for each in work[1:]]
    assert found["late-collective"] + found["load-imbalance"] == pytest.approx(sum(steps) / 1000, rel=0.05)


def test_little_differences_and_short_waits_are_not_told(tmp_path):
    # GIVEN 1.08 times as long, which costs 6 % of the run
    ranks = stepping(lambda rank, step: 10.8 if step % 4 == rank else 10, steps=40)
    assert told(tmp_path / "a.rw", ranks) == []


def test_what_ranks_waited_for_a_core_is_taken_off(tmp_path):
    ranks = stepping(lambda rank, step: 18 if step % 4 == rank else 10)
    for rank in ranks:
        rank.runqueue_wait_ns = 28 * MS
    assert "late-collective" not in [each.name for each in told(tmp_path / "a.rw", ranks)]


def test_no_steps_are_told_where_ranks_wait_in_messages(tmp_path):
    # GIVEN the same imbalance, after which the ranks wait in a barrier for nobody
    ranks = stepping(lambda rank, step: 10)
    for rank in ranks:
        rank.trace.clear()
        rank.at_ms = 0.0
        for step in range(20):
            work = 18 if step % 4 == rank.world_rank else 10
            rank.call("MPI_Comm_set_name", work, 18 - work)
            rank.together("MPI_Barrier", 0, 0.5)
    assert told(tmp_path / "a.rw", ranks) == []


@pytest.mark.parametrize(
    ("call", "late", "sentence"),
    [
        ("MPI_Bcast", 0, "rank 1 waits 100 ms in MPI_Bcast for rank 0, which comes late"),
        ("MPI_Scan", 0, "rank 1 waits 100 ms in MPI_Scan for rank 0, which comes late"),
        ("MPI_Reduce", 1, "rank 0 waits 100 ms in MPI_Reduce for rank 1, which comes late"),
    ],
)
def test_a_root_or_member_that_computes_before_is_told(tmp_path, call, late, sentence):
    # GIVEN rounds in which one rank computes 10 ms before the call, the other one as long after it
    ranks = traced(2)
    for _ in range(10):
        for rank in ranks:
            first = rank.world_rank == late
            rank.together(call, 10 if first else 0, 1 if first else 11, root=0)
            rank.together("MPI_Barrier", 0 if first else 10, 11 if first else 1)
    # WHEN
    (found,) = told(tmp_path / "a.rw", ranks)
    # THEN it is that one
    assert (found.name, found.sentence, found.ranks[0]) == ("late-collective", sentence, late)
    assert found.cost_s == pytest.approx(0.1)


def test_ranks_that_need_nothing_of_a_late_root_are_not_said_to_wait(tmp_path):
    # GIVEN a reduction whose root comes late, and members that may leave before
    ranks = traced(2)
    for _ in range(10):
        ranks[0].together("MPI_Reduce", 10, 1, root=0)
        ranks[1].together("MPI_Reduce", 0, 11, root=0)
        ranks[0].together("MPI_Barrier", 0, 11)
        ranks[1].together("MPI_Barrier", 10, 1)
    # THEN
    assert told(tmp_path / "a.rw", ranks) == []


def test_ranks_of_a_communicator_that_take_turns_in_coming_late_are_told(tmp_path):
    # GIVEN two pairs of ranks, each with a communicator of its own, in which one computes 20 ms in turn
    ranks = traced(4)
    for rank in ranks:
        pair = [0, 1] if rank.world_rank < 2 else [2, 3]
        rank.comm(2, pair)
        for step in range(20):
            works = step % 2 == rank.world_rank % 2
            payload = u(2) + z(-1) + u(0) + u(8) + u(8) + u(0) + u(0)
            rank.call("MPI_Allreduce", 20 if works else 0, 1 if works else 21, payload)
    (found,) = told(tmp_path / "a.rw", ranks)
    assert found.sentence == "ranks 0, 1 take turns in coming late to MPI_Allreduce"
    assert found.cost_s == pytest.approx(0.19, abs=0.02)
