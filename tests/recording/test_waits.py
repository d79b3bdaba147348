# SPDX-License-Identifier: BSD-3-Clause
"""Clocks of several hosts related by messages, and waiting told apart from transferring: known answers."""

import pytest
from raw_writer import FINALIZED, SCHED, TRACED, Rank, u, write_recording, z

from rankwise.errors import RankwiseError
from rankwise.recording import Recording
from rankwise.recording.layouts import TRACE_EXACT, TRACE_QUANTISED

US = 1000  # ticks are nanoseconds


def send(peer, tag=0, size=8):
    return u(0) + z(peer) + z(tag) + u(size)


def recv(peer, tag=0, size=8):
    return u(0) + z(peer) + z(tag) + z(peer) + z(tag) + u(size)


def traced(me, size, host="n0", coding=(TRACE_EXACT, 0)):
    return Rank(me, size, host=host, flags=FINALIZED | TRACED, coding=coding)


def allreduce():
    return u(0) + z(-1) + u(0) + u(8) + u(8) + u(0) + u(0)


def test_a_receive_waits_until_its_send_began_and_transfers_afterwards(tmp_path):
    # GIVEN rank 1 receiving from 100 us on; rank 0 sends at 130 us, and the message is there at 135 us
    sender, receiver = traced(0, 2), traced(1, 2)
    sender.event("MPI_Send", 130 * US, 2 * US, send(1))
    receiver.event("MPI_Recv", 100 * US, 35 * US, recv(0))
    # AND a second message that was sent long before it is received
    sender.event("MPI_Send", 1 * US, 2 * US, send(1, tag=5))
    receiver.event("MPI_Recv", 65 * US, 4 * US, recv(0, tag=5))
    # WHEN
    found = Recording.open(write_recording(tmp_path, [sender, receiver])).waits()
    # THEN 30 us were waiting, 5 and 4 us transferring
    assert found.select("rank", "call").rows() == [(1, "MPI_Recv")]
    assert found["time_s"][0] == pytest.approx(39e-6) and found["waiting_s"][0] == pytest.approx(30e-6)


def test_nonblocking_receives_wait_where_they_are_waited_for(tmp_path):
    sender, receiver = traced(0, 2), traced(1, 2)
    receiver.event("MPI_Irecv", 0, 1 * US, u(0) + z(-2) + z(-1) + u(64))
    receiver.event("MPI_Irecv", 0, 1 * US, u(0) + z(0) + z(7) + u(64))
    receiver.event(
        "MPI_Waitall",
        8 * US,
        50 * US,
        u(2) + u(2) + u(1) + z(0) + z(3) + u(8) + u(1) + u(1) + z(0) + z(7) + u(8),
    )
    sender.event("MPI_Isend", 20 * US, 1 * US, send(1, tag=7))
    sender.event("MPI_Send", 19 * US, 1 * US, send(1, tag=3))
    found = Recording.open(write_recording(tmp_path, [sender, receiver])).waits()
    # From 10 us, when it began to wait, until 40 us, when the last of both was sent.
    assert found.select("rank", "call").rows() == [(1, "MPI_Waitall")]
    assert found["time_s"][0] == pytest.approx(50e-6) and found["waiting_s"][0] == pytest.approx(30e-6)


def test_members_of_a_synchronising_collective_wait_for_the_last(tmp_path):
    ranks = [traced(me, 3) for me in range(3)]
    for me, rank in enumerate(ranks):
        rank.event("MPI_Allreduce", 10 * me * US, (25 - 10 * me) * US, allreduce())
        rank.event("MPI_Bcast", 0, 5 * US, allreduce())  # nobody need wait here but for the root
    found = Recording.open(write_recording(tmp_path, ranks)).waits()
    assert found.select("rank", "call").rows() == [(me, "MPI_Allreduce") for me in range(3)]
    assert found["waiting_s"].to_list() == pytest.approx([20e-6, 10e-6, 0])


def test_waiting_for_a_core_is_taken_off_as_far_as_samples_say_where_it_was(tmp_path):
    # GIVEN rank 1, alone in an allreduce from 2 to 10 ms, until rank 0 comes at 8 ms; it waited 9 of these 10 ms for a
    # core, and none of the 20 ms of computation that followed
    ranks = [traced(me, 2) for me in range(2)]
    for rank, gap_ms, sampled_ms, waited_ms in zip(ranks, (8, 2), (30, 10), (0, 9), strict=True):
        rank.run_ns = 30_000 * US
        rank.event("MPI_Allreduce", gap_ms * 1000 * US, (10 - gap_ms) * 1000 * US, allreduce())
        rank.event(SCHED, 0, 0, u(waited_ms * 1000 * US) + u((sampled_ms - waited_ms) * 1000 * US))
        rank.runqueue_wait_ns = waited_ms * 1000 * US
    # WHEN
    late, early = Recording.open(write_recording(tmp_path, ranks)).waits().rows(named=True)
    # THEN at least 7 of its 8 ms in the call went with that: 6 ms were waiting for rank 0, 2 ms transfer
    assert (early["time_s"], early["waiting_s"]) == pytest.approx((8e-3, 6e-3))
    assert (early["core_least_s"], early["core_most_s"]) == pytest.approx((7e-3, 8e-3))
    assert (early["waiting_least_s"], early["waiting_most_s"]) == pytest.approx((0, 1e-3), abs=1e-9)
    assert (early["transfer_least_s"], early["transfer_most_s"]) == pytest.approx((0, 1e-3), abs=1e-9)
    # AND the rank that never waited for a core keeps what it had
    assert (late["core_least_s"], late["core_most_s"]) == (0, 0)
    assert (late["waiting_most_s"], late["transfer_least_s"]) == pytest.approx((0, 2e-3), abs=1e-9)


def test_without_samples_waiting_for_a_core_is_not_known(tmp_path):
    rank = traced(0, 1)
    rank.schedstat_samples = 0
    rank.event("MPI_Allreduce", 0, 5 * US, allreduce())
    (found,) = Recording.open(write_recording(tmp_path, [rank])).waits().rows(named=True)
    assert found["waiting_s"] == 0 and found["core_most_s"] is None and found["transfer_most_s"] is None


def ping_pong(delays_there, delays_back):
    """Rank 0 on n0 and rank 1 on n1 exchange messages with these one-way delays, in us."""
    first, second = traced(0, 2, "n0"), traced(1, 2, "n1")
    done = [0, 0]  # when each rank's last event ended, in us
    for there, back in zip(delays_there, delays_back, strict=True):
        sent = done[0] + 50
        arrived = sent + there
        replied = arrived + 10
        first.event("MPI_Send", (sent - done[0]) * US, 0, send(1))
        second.event("MPI_Recv", (arrived - done[1]) * US, 0, recv(0))
        second.event("MPI_Send", (replied - arrived) * US, 0, send(0))
        first.event("MPI_Recv", (replied + back - sent) * US, 0, recv(1))
        done = [replied + back, replied]
    return [first, second]


@pytest.mark.parametrize("ahead", [0, 7, 5000])
def test_the_offset_of_two_hosts_clocks_is_within_the_bound_that_is_stated(tmp_path, ahead):
    # GIVEN one-way delays of 3 us and more there, 2 us and more back, and the second host's clock ahead by a known time
    ranks = ping_pong([30, 3, 12], [9, 2, 40])
    ranks[1].shift_ns = ahead * US
    # WHEN
    home, away = Recording.open(write_recording(tmp_path, ranks)).clocks()
    # THEN what is to be added takes it back, as exactly as the fastest messages allow
    assert (home.offset_s, home.bound_s) == (0, 0)
    assert abs(away.offset_s + ahead * 1e-6) <= away.bound_s + 1e-12
    assert away.bound_s == pytest.approx(2.5e-6)


@pytest.mark.parametrize("ahead", [0, 7, 5000])
def test_collectives_that_nobody_leaves_before_all_have_come_relate_clocks(tmp_path, ahead):
    # GIVEN an allreduce that the second host comes to 3 us before the first one leaves it, and one the other way round
    ranks = [traced(0, 2, "n0"), traced(1, 2, "n1")]
    for rank, calls in zip(ranks, ([(10, 10), (0, 30)], [(17, 5), (16, 14)]), strict=True):
        for gap, inside in calls:
            rank.event("MPI_Allreduce", gap * US, inside * US, allreduce())
    ranks[1].shift_ns = ahead * US
    _, away = Recording.open(write_recording(tmp_path, ranks)).clocks()
    # THEN the offset is as exact as these
    assert abs(away.offset_s + ahead * 1e-6) <= away.bound_s + 1e-12
    assert away.bound_s < 15e-6


def test_hosts_without_messages_in_both_directions_are_not_related(tmp_path):
    first, second = traced(0, 2, "n0"), traced(1, 2, "n1")
    first.event("MPI_Send", 0, 1, send(1))
    second.event("MPI_Recv", 10, 1, recv(0))
    with pytest.raises(RankwiseError, match="clock of n1"):
        Recording.open(write_recording(tmp_path, [first, second])).clocks()


@pytest.mark.parametrize(
    ("coding", "flags", "words"),
    [
        ((TRACE_QUANTISED, 4), TRACED, "rounded"),
        ((TRACE_EXACT, 0), 0, "has a trace"),
        ((TRACE_EXACT, 0), TRACED | 256, "only a part"),
    ],
)
def test_traces_that_say_no_times_are_refused(tmp_path, coding, flags, words):
    rank = traced(0, 1, coding=coding)
    rank.flags = FINALIZED | flags
    with pytest.raises(RankwiseError, match=words) as error:
        Recording.open(write_recording(tmp_path, [rank])).waits()
    assert "--exact-times" in error.value.hint
