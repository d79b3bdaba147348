# SPDX-License-Identifier: BSD-3-Clause
"""Late receivers in traces written by hand."""

import pytest
from traces import MS, recording_of, traced

from rankwise.findings.catalogue import findings_of

SIZE = 1 << 20


def out_of_step(tmp_path, rounds=10, blocked=True, size=SIZE):
    """Rank 0 sends and computes 10 ms, rank 1 computes 10 ms and receives, then waits for an answer of rank 0."""
    first, second = traced(2)
    for _ in range(rounds):
        begin = first.at_ms
        end = begin + 11 if blocked else begin + 1
        first.send_to(1, 0, end - begin, size)
        first.send_to(1, 10, 1)
        second.recv_from(0, 10, 1, size)
        second.recv_from(0, 0, first.at_ms - second.at_ms)
    return first, second, tmp_path / "a.rw"


def told(path, ranks):
    return findings_of(recording_of(path, ranks))[0]


def test_a_sender_that_waits_while_its_receiver_computes_is_told(tmp_path):
    # GIVEN rounds in which rank 0 waits 10 ms in its send, and rank 1 then as long for what follows
    first, second, path = out_of_step(tmp_path)
    # WHEN that is looked at
    (found,) = told(path, [first, second])
    # THEN it is the receiver, and not also the answer that is late for that reason
    assert (found.name, found.ranks) == ("late-receiver", [1, 0])
    assert found.sentence == "rank 0 waits 100 ms in MPI_Send for rank 1, which receives late"
    assert found.cost_s == pytest.approx(0.1)
    assert "10 messages of about 1.05 MB that rank 1 receives with MPI_Recv" in found.evidence[0]


def test_a_send_that_ends_before_its_receive_waited_for_nobody(tmp_path):
    first, second, path = out_of_step(tmp_path, blocked=False)
    assert told(path, [first, second]) == []


def test_what_the_receiver_computes_more_is_imbalance(tmp_path):
    # GIVEN rank 1 computing 10 ms in each round, rank 0 nothing
    first, second = traced(2)
    for _ in range(10):
        first.send_to(1, 0, 11, SIZE)
        second.recv_from(0, 10, 1, SIZE)
    assert [each.name for each in told(tmp_path / "a.rw", [first, second])] == ["load-imbalance"]


def test_what_the_receiver_waited_for_a_core_is_not_its_fault(tmp_path):
    first, second, path = out_of_step(tmp_path)
    second.runqueue_wait_ns = 95 * MS
    assert "late-receiver" not in [each.name for each in told(path, [first, second])]


def test_below_a_twentieth_of_the_run_it_is_not_told(tmp_path):
    # GIVEN the same, and a run that goes on for 2 s without it
    first, second, path = out_of_step(tmp_path)
    for rank in (first, second):
        rank.together("MPI_Barrier", 2000, 1)
    assert told(path, [first, second]) == []


@pytest.mark.parametrize(("needs", "names"), [(True, ["late-receiver"]), (False, ["late-sender"])])
def test_a_receive_posted_in_time_is_late_only_if_sends_end_when_the_receiver_is_back(tmp_path, needs, names):
    # GIVEN rounds in which rank 1 posts its receive and then computes for differently long
    first, second = traced(2)
    for turn in range(20):
        away = 10 + turn % 5
        second.irecv_from(0, 0, 1, SIZE)
        first.isend_to(1, 0, 1, SIZE)
        # WHEN the send ends as rank 1 is back in MPI, or after 15 ms whatever rank 1 does
        first.wait(0, away + 0.5 if needs else 15)
        second.wait(away, 0.5 + first.at_ms - second.at_ms - away, 0, SIZE)
        # AND each computes while the other waits
        first.send_to(1, 10, 0.5)
        second.recv_from(0, 0, first.at_ms - second.at_ms)
    # THEN
    assert [each.name for each in told(tmp_path / "a.rw", [first, second])] == names


@pytest.mark.parametrize("size", [1, 256 << 10])
def test_messages_that_a_higher_eager_limit_lets_go_ahead_are_told_as_that(tmp_path, size):
    first, second, path = out_of_step(tmp_path, size=size)
    (found,) = told(path, [first, second])
    assert (found.name, found.ranks) == ("rendezvous", [1, 0])
    assert found.sentence == (
        "rank 0 waits 100 ms in MPI_Send until rank 1 receives, as its messages are longer than the eager limit"
    )
    assert found.cost_s == pytest.approx(0.1)


def test_the_longest_message_that_went_ahead_is_named(tmp_path):
    # GIVEN a message of 4000 bytes that ends before its receive, and longer ones that do not
    first, second, path = out_of_step(tmp_path, size=8000)
    first.send_to(1, 0, 1, 4000)
    second.recv_from(0, 10, 1, 4000)
    (found,) = told(path, [first, second])
    assert found.evidence[1] == "messages up to 4 kB went ahead of their receives"


def test_a_synchronous_send_waits_whatever_the_limit_is(tmp_path):
    first, second = traced(2)
    for _ in range(10):
        end = first.at_ms + 11
        first.send_to(1, 0, end - first.at_ms, 8, "MPI_Ssend")
        first.send_to(1, 10, 1)
        second.recv_from(0, 10, 1, 8)
        second.recv_from(0, 0, first.at_ms - second.at_ms)
    assert [each.name for each in told(tmp_path / "a.rw", [first, second])] == ["late-receiver"]
