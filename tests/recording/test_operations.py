# SPDX-License-Identifier: BSD-3-Clause
"""Persistent, nonblocking and polled operations of traces written by hand, put on one time axis."""

import numpy as np
import pytest
from raw_writer import FINALIZED, POLL, TRACED, Rank, u, write_recording, z

from rankwise.recording import Recording
from rankwise.recording.traces.needs import Outside
from rankwise.recording.traces.waits import Timeline

MS = 1_000_000


def ranks_of(count=2, **more):
    return [
        Rank(me, count, affinity=(me,), flags=FINALIZED | TRACED, run_ns=100 * MS, **more)
        for me in range(count)
    ]


def envelope(peer, size=8):
    return u(0) + z(peer) + z(0) + u(size)


def completes(*requests):
    """Each: how far back, and of a receive its source."""
    done = [u(back) + (u(0) if peer is None else u(1) + z(peer) + z(0) + u(8)) for back, peer in requests]
    return u(len(requests)) + b"".join(done)


def timeline_of(path, ranks) -> Timeline:
    return Recording.open(write_recording(path, ranks)).timeline()


def test_each_start_of_a_persistent_request_is_a_message_of_its_own(tmp_path):
    # GIVEN a persistent send and a persistent receive of anything, started three times each
    a, b = ranks_of()
    a.event("MPI_Send_init", MS, 0, envelope(1, 24))
    b.event("MPI_Recv_init", MS, 0, u(0) + z(-2) + z(-1) + u(64))
    for _ in range(3):
        a.event("MPI_Start", 2 * MS, 0, u(1) + u(1))
        a.event("MPI_Wait", 0, MS, completes((1, None)))
        b.event("MPI_Startall", MS, 0, u(1) + u(1))
        b.event("MPI_Waitany", 0, 2 * MS, completes((1, 0)))
    found = timeline_of(tmp_path / "a.rw", [a, b]).messages
    # THEN their starts, ends and bytes are known
    assert found.source.tolist() == [0, 0, 0] and found.destination.tolist() == [1, 1, 1]
    assert found.send.tolist() == [1, 3, 5] and found.sent.tolist() == [2, 4, 6]
    assert found.posted.tolist() == [1, 3, 5] and found.receive.tolist() == [2, 4, 6]
    assert found.bytes.tolist() == [24, 24, 24]


def test_nonblocking_collectives_belong_with_those_of_the_same_turn(tmp_path):
    # GIVEN ranks that come to a nonblocking allreduce 1 ms and 11 ms after the start, and to a barrier after that
    arguments = u(0) + z(-1) + u(0) + u(8) + u(8) + u(0) + u(0)
    ranks = ranks_of()
    for me, rank in enumerate(ranks):
        rank.event("MPI_Iallreduce", (1 + 10 * me) * MS, 0, arguments)
        rank.event("MPI_Wait", 0, (11 - 10 * me) * MS, completes((1, None)))
        rank.event("MPI_Barrier", MS, MS, arguments)
    timeline = timeline_of(tmp_path / "a.rw", ranks)
    calls = timeline.collectives
    assert calls.number.tolist() == [0, 1, 0, 1] and calls.row.tolist() == [1, 2, 1, 2]
    assert calls.given.tolist() == [0, 2, 0, 2]
    # THEN the first one waits in MPI_Wait until the second has come
    waits = timeline.waits().filter(call="MPI_Wait")
    assert waits["waiting_s"].to_list() == pytest.approx([0.010, 0.0])


def test_a_collective_that_does_not_end_everywhere_is_left_out(tmp_path):
    arguments = u(0) + z(-1) + u(0) + u(8) + u(8) + u(0) + u(0)
    ranks = ranks_of()
    for me, rank in enumerate(ranks):
        rank.event("MPI_Ibarrier", MS, 0, arguments)
        if me == 0:
            rank.event("MPI_Wait", 0, MS, completes((1, None)))
        rank.event("MPI_Barrier", MS, MS, arguments)
    calls = timeline_of(tmp_path / "a.rw", ranks).collectives
    assert len(calls.kind) == 1 and calls.rank.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("polls", "cpu_ms", "waits_ms"),
    [
        # asked again at once: all since the first poll is waiting
        ([(1, 5 * MS, 200), (1000, 100_000, 9_900_000)], 20, 10),
        # slept between polls, as its processor time says
        ([(1, 5 * MS, 200), (10, 10 * MS, 2000)], 10, 10),
        # computed between polls: what came last found it at once
        ([(1, 5 * MS, 200), (10, 10 * MS, 2000)], 20, 0),
        # a recording whose polls are one sum: it may have computed before all of them
        ([(1001, 5 * MS + 100_000, 9_900_000)], 20, 9.9),
    ],
)
def test_polls_wait_unless_the_rank_computes_between_them(tmp_path, polls, cpu_ms, waits_ms):
    a, b = ranks_of()
    for rank in (a, b):
        rank.run_ns, rank.still_ns = 20 * MS, (20 - cpu_ms) * MS
    a.event("MPI_Send", 19 * MS, MS, envelope(1))
    b.event("MPI_Irecv", 0, 0, u(0) + z(0) + z(0) + u(8))
    for count, gap, duration in polls:
        b.event(POLL, gap, duration, u(count))
    b.event("MPI_Test", 0, 1000, completes((1, 0)))
    each = timeline_of(tmp_path / "a.rw", [a, b]).ranks[1]
    assert each.end_s[-1] - each.begin_s[-1] == pytest.approx(waits_ms * 1e-3, abs=2e-5)
    assert np.all(np.diff(each.end_s) >= 0)


def test_computation_between_a_poll_and_its_wait_is_no_waiting(tmp_path):
    # GIVEN one test that finds nothing, 10 ms of computation, and a wait that finds the message there
    a, b = ranks_of()
    for rank in (a, b):
        rank.run_ns = 20 * MS
    a.event("MPI_Send", 19 * MS, MS, envelope(1))
    b.event("MPI_Irecv", 0, 0, u(0) + z(0) + z(0) + u(8))
    b.event(POLL, 5 * MS, 200, u(1))
    b.event("MPI_Wait", 10 * MS, 1000, completes((1, 0)))
    each = timeline_of(tmp_path / "a.rw", [a, b]).ranks[1]
    assert each.end_s[-1] - each.begin_s[-1] == pytest.approx(1e-6) and each.asked_s == 0


def test_computation_between_a_probe_and_its_receive_is_no_waiting(tmp_path):
    a, b = ranks_of()
    a.event("MPI_Send", 10 * MS, 0, envelope(1))
    b.event("MPI_Probe", 2 * MS, 8 * MS, u(0) + z(-2) + z(-1) + z(0) + z(0) + u(8))
    b.event("MPI_Recv", 10 * MS, 1000, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    each = timeline_of(tmp_path / "a.rw", [a, b]).ranks[1]
    assert each.end_s[-1] - each.begin_s[-1] == pytest.approx(1e-6)


def test_a_sample_between_polls_does_not_end_the_waiting(tmp_path):
    a, b = ranks_of()
    for rank in (a, b):
        rank.run_ns = 40 * MS
    a.event("MPI_Send", 39 * MS, MS, envelope(1))
    b.event("MPI_Irecv", 0, 0, u(0) + z(0) + z(0) + u(8))
    # GIVEN 5 ms of computation, then polls for 30 ms with samples every 10
    for turn in range(3):
        b.event(POLL, 5 * MS if turn == 0 else 100, 200, u(1))
        b.event(POLL, 100_000, 9_899_000, u(1000))
        b.trace.append(b"\xf4" + u(0) + u(10 * MS >> 17))
    b.event("MPI_Test", 0, 1000, completes((1, 0)))
    each = timeline_of(tmp_path / "a.rw", [a, b]).ranks[1]
    assert each.end_s[-1] - each.begin_s[-1] == pytest.approx(0.030, abs=1e-4)
    assert each.asked_s == pytest.approx(0.0003, abs=1e-5)
    # AND outside MPI it was for the 5 ms before alone
    assert Outside(each).between(np.zeros(1), each.end_s[-1:])[0] == pytest.approx(0.005, abs=1e-6)


def test_a_receive_begins_with_the_probe_that_found_its_message(tmp_path):
    a, b = ranks_of()
    a.event("MPI_Send", 10 * MS, 0, envelope(1))
    b.event("MPI_Probe", 2 * MS, 8 * MS, u(0) + z(-2) + z(-1) + z(0) + z(0) + u(8))
    b.event("MPI_Recv", 1000, 1000, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    waits = timeline_of(tmp_path / "a.rw", [a, b]).waits().filter(call="MPI_Recv")
    assert waits["waiting_s"].to_list() == [pytest.approx(0.008)]


def neighbours(me, to):
    return u(0) + z(-1) + u(0) + u(8) + u(8) + u(0) + u(len(to)) + b"".join(z(peer) + u(8) for peer in to)


def test_a_neighbourhood_collective_waits_for_those_that_send_to_it(tmp_path):
    # GIVEN a ring in one direction, whose rank 0 comes 10 ms later than the others
    ranks = ranks_of(3)
    for me, rank in enumerate(ranks):
        late = 10 * MS if me == 0 else 0
        rank.event("MPI_Neighbor_allgather", MS + late, 11 * MS - late, neighbours(me, [(me + 1) % 3]))
    timeline = timeline_of(tmp_path / "a.rw", ranks)
    pairs = zip(timeline.messages.source.tolist(), timeline.messages.destination.tolist(), strict=True)
    assert sorted(pairs) == [(0, 1), (1, 2), (2, 0)]
    # THEN only who gets something from it waits for it
    waits = timeline.waits().sort("rank")
    assert waits["waiting_s"].to_list() == pytest.approx([0.0, 0.010, 0.0])


@pytest.mark.parametrize(("first_end_ms", "matched"), [(12, 2), (2, 0)])
def test_fences_that_nobody_left_before_all_had_come_belong_together(tmp_path, first_end_ms, matched):
    ranks = ranks_of()
    for me, rank in enumerate(ranks):
        begin = (1 + 10 * me) * MS
        rank.event("MPI_Win_fence", begin, 12 * MS - begin if me else first_end_ms * MS - begin)
    assert len(timeline_of(tmp_path / "a.rw", ranks).collectives.rank) == matched


def test_time_off_the_core_that_is_no_waiting_is_sleep(tmp_path):
    # GIVEN two ranks in MPI for half of 20 ms, of which they waited 6 ms for a core, with processor time measured
    ranks = ranks_of()
    for rank, on_core_ms in zip(ranks, (0, 8), strict=True):
        rank.run_ns, rank.runqueue_wait_ns, rank.still_ns = 20 * MS, 6 * MS, (8 - on_core_ms) * MS
        rank.trace.append(b"\xf7" + u(on_core_ms * MS >> 10))
        rank.event("MPI_Barrier", 10 * MS, 10 * MS, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
        rank.count("MPI_Barrier", ns=10 * MS)
    asleep, computing = timeline_of(tmp_path / "a.rw", ranks).ranks
    # THEN the one that had no core in its gap slept, and waited in MPI; the other lost 2 ms of its 10 to others
    assert asleep.core_outside_s == pytest.approx(0.002, abs=1e-4)
    assert computing.core_outside_s == pytest.approx(0.002, abs=1e-4)
