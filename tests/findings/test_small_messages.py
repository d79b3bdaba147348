# SPDX-License-Identifier: BSD-3-Clause
"""Small messages that could be one, in traces written by hand."""

import pytest
from traces import MS, recording_of, traced

from rankwise.findings.bundles import bundles_of
from rankwise.findings.catalogue import findings_of
from rankwise.findings.evidence import Evidence


def told(path, ranks):
    return findings_of(recording_of(path, ranks))[0]


def stream(rounds=5, messages=20, size=8, answered=False):
    """Rank 0 computes 20 ms in each round and sends rank 1, which computes as long, messages of 1 ms each."""
    ranks = traced(2)
    for _ in range(rounds):
        for message in range(messages):
            compute = 0 if message else 20
            for rank in ranks:
                (rank.send_to if rank.world_rank == 0 else rank.recv_from)(
                    1 - rank.world_rank, compute, 1, size
                )
            if answered:
                for rank in ranks:
                    (rank.send_to if rank.world_rank else rank.recv_from)(1 - rank.world_rank, 0, 1, size)
    return ranks


def test_messages_that_follow_each_other_are_told_with_the_calls_that_would_go(tmp_path):
    (found,) = told(tmp_path / "a.rw", stream())
    # THEN of 100 messages 5 are left, one after each computation, and 95 calls of 1 ms go on each rank
    assert (found.name, found.ranks) == ("small-messages", [0, 1])
    assert found.sentence == (
        "rank 0 sends rank 1 100 messages of 8 B with MPI_Send; 5 larger ones would be enough"
    )
    assert found.cost_s == pytest.approx(0.095)


@pytest.mark.parametrize("how", [{"size": 513}, {"answered": True}, {"messages": 1, "rounds": 100}])
def test_large_messages_answered_ones_and_single_ones_are_not_told(tmp_path, how):
    assert told(tmp_path / "a.rw", stream(**how)) == []


def test_what_a_rank_waited_for_the_other_is_not_what_packing_saves(tmp_path):
    # GIVEN a sender that computes 3 ms before each message of 1 ms, and a receiver that waits for it
    first, second = traced(2)
    for _ in range(50):
        first.send_to(1, 3, 1)
        second.recv_from(0, 0, 4)
    found = bundles_of(Evidence(recording_of(tmp_path / "a.rw", [first, second])).timeline)
    assert found.saved_s.tolist() == pytest.approx([0.049, 0.049])


def test_posted_receives_and_sends_that_one_call_ends_share_its_time(tmp_path):
    # GIVEN ten messages each way whose ends are waited for one by one
    ranks = traced(2)
    for rank in ranks:
        peer = 1 - rank.world_rank
        for _ in range(10):
            rank.irecv_from(peer, 0, 1)
        for _ in range(10):
            rank.isend_to(peer, 0, 1)
        for message in range(20):
            rank.wait(0, 1, peer if message < 10 else None, back=20 - message)
    found = bundles_of(Evidence(recording_of(tmp_path / "a.rw", ranks)).timeline)
    # THEN of 40 calls of 1 ms on each rank 36 would go
    assert found.messages.tolist() == [10, 10] and found.bundles.tolist() == [1, 1]
    assert found.saved_s.tolist() == pytest.approx([0.036, 0.036])


def test_what_ranks_waited_for_a_core_is_taken_off(tmp_path):
    ranks = stream()
    for rank in ranks:
        rank.runqueue_wait_ns = 94 * MS
    assert "small-messages" not in [each.name for each in told(tmp_path / "a.rw", ranks)]
