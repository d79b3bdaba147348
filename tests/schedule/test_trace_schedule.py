# SPDX-License-Identifier: BSD-3-Clause
"""Traces become schedules: every call in its place, computation without what was not the rank's own time."""

from __future__ import annotations

import pytest
from machine_reference import Link, Place
from raw_writer import (
    CALL_NUMBERS,
    FINALIZED,
    LOST,
    POLL,
    TRACED,
    Rank,
    RawFile,
    u,
    write_recording,
    z,
)
from replaying import model
from traced import ANY_SOURCE, PROC_NULL, Traced, ranks_of

from rankwise.errors import RankwiseError
from rankwise.schedule.source import load

MS = 1_000_000


@pytest.fixture
def goal_of(tmp_path):
    """Writes the recording and gives its schedule, and GOAL text as lines by rank."""

    def make(ranks, library=None):
        file = RawFile()
        for rank in ranks:
            file.add(rank, events_a_run=3)
        raw = tmp_path / "x.rw" / "raw"
        raw.mkdir(parents=True)
        (raw / "n0.rwn").write_bytes(file.bytes())
        source = load(tmp_path / "x.rw", library)
        blocks = source.schedule.write_goal().split("rank ")[1:]
        lines = [[line for line in block.splitlines()[1:] if line not in ("", "}")] for block in blocks]
        return source, lines[-len(ranks) :]

    return make


def operations(lines):
    return [line.partition(": ")[2] for line in lines if ": " in line]


def edges(lines):
    return {line for line in lines if "requires" in line}


def test_blocking_calls_and_the_computation_between_them_form_a_chain(goal_of):
    a, b = ranks_of(2)
    a.send(1, 300, tag=7, gap=5000)
    a.recv(1, 8, tag=9, gap=40)
    b.recv(0, 300, tag=7)
    b.send(0, 8, tag=9, gap=70)
    a.event("MPI_Finalize", 1000, 0)
    source, lines = goal_of([a, b])
    # THEN tags are numbered, gaps are calc, and the time until MPI_Finalize counts
    assert operations(lines[0]) == [
        "calc 5000",
        "send 300b to 1 tag 0",
        "calc 40",
        "recv 8b from 1 tag 1",
        "calc 1000",
    ]
    assert edges(lines[0]) == {f"l{i + 1} requires l{i}" for i in range(4)}
    assert operations(lines[1]) == ["recv 300b from 0 tag 0", "calc 70", "send 8b to 0 tag 1"]
    assert source.omitted == {}


def test_nonblocking_calls_go_on_beside_the_program_until_their_wait(goal_of):
    a, b = ranks_of(2)
    a.irecv(1, 64)
    a.isend(1, 32)
    a.waitall((2, 1, 0, 64), 1, gap=500)
    b.send(0, 64)
    b.recv(0, 32)
    _, lines = goal_of([a, b])
    # THEN the computation waits for the send's overhead only, the wait for both
    assert operations(lines[0]) == ["recv 64b from 1 tag 0", "send 32b to 1 tag 0", "calc 500", "calc 0"]
    assert edges(lines[0]) == {"l2 irequires l1", "l3 requires l0", "l3 requires l1", "l3 requires l2"}


def finish_ms(schedule, eager=64, how="loggops"):
    """When each rank ends: messages take no time but that of waiting for each other."""
    free = {"L_s": 0.0, "o_s": 0.0, "g_s": 0.0, "G_s_per_byte": 0.0, "O_s_per_byte": 0.0}
    if how == "loggops":
        result = schedule.replay_loggops(**free, S_bytes=eager)
    else:
        here = Place([0, 0], Link(S=eager), Link(S=eager), Link())
        result = schedule.replay(**model(here, [0, 1]))
    return [round(each * 1e3, 6) for each in result.finish_s]


@pytest.mark.parametrize("how", ["loggops", "machine"])
@pytest.mark.parametrize(
    ("call", "size", "waits"),
    [
        *(("MPI_Send", 8, False), ("MPI_Send", 100, True)),
        *(("MPI_Ssend", 8, True), ("MPI_Ssend", 0, True), ("MPI_Ssend_c", 100, True)),
        *(("MPI_Bsend", 8, False), ("MPI_Bsend", 100, False)),
    ],
)
def test_synchronous_sends_wait_for_their_receive_and_buffered_ones_never(goal_of, how, call, size, waits):
    a, b = ranks_of(2)
    # GIVEN an eager limit of 64 bytes, and a receive 5 ms late
    a.send(1, size, call=call)
    a.send(1, 1, gap=MS, tag=1)
    b.recv(0, size, gap=5 * MS)
    b.recv(0, 1, tag=1)
    source, _ = goal_of([a, b])
    # THEN the millisecond after the send begins when the receive has, or at once
    assert finish_ms(source.schedule, how=how)[1] == (6 if waits else 5)
    assert source.schedule.bytes == size + 1


@pytest.mark.parametrize(
    ("call", "waits"), [("MPI_Isend", False), ("MPI_Issend", True), ("MPI_Ibsend", False)]
)
def test_the_wait_of_a_nonblocking_send_is_that_of_its_mode(goal_of, call, waits):
    a, b = ranks_of(2)
    a.send(1, 8, call=call)
    a.waitall(1, gap=MS)
    a.send(1, 1, gap=MS, tag=1)
    b.recv(0, 8, gap=5 * MS)
    b.recv(0, 1, tag=1)
    source, _ = goal_of([a, b])
    assert finish_ms(source.schedule)[1] == (6 if waits else 5)


def test_taking_the_buffer_back_waits_for_what_is_in_it(goal_of):
    a, b = ranks_of(2)
    a.send(1, 100, call="MPI_Bsend")
    a.event("MPI_Buffer_detach", MS, 10)
    a.send(1, 1, gap=MS, tag=1)
    b.recv(0, 100, gap=5 * MS)
    b.recv(0, 1, tag=1)
    source, _ = goal_of([a, b])
    assert finish_ms(source.schedule)[1] == 6


def test_wildcards_take_what_they_took(goal_of):
    a, b, c = ranks_of(3)
    a.irecv(ANY_SOURCE, 64, tag=-1)
    a.recv(1, 5, tag=4, posted=(ANY_SOURCE, -1))
    a.waitall((1, 2, 6, 8))
    b.send(0, 5, tag=4)
    c.send(0, 8, tag=6)
    _, lines = goal_of([a, b, c])
    received = [line.split(" tag")[0] for line in operations(lines[0])]
    assert received == ["recv 64b from 2", "recv 5b from 1", "calc 0"]


def test_persistent_requests_begin_at_each_start(goal_of):
    a, b = ranks_of(2)
    a.event("MPI_Send_init", 0, 10, u(0) + z(1) + z(0) + u(40))
    for _ in range(2):
        a.event("MPI_Start", 100, 10, u(1) + u(1))
        a.waitall(1)
        b.recv(0, 40)
    _, lines = goal_of([a, b])
    assert operations(lines[0]) == ["calc 100", "send 40b to 1 tag 0", "calc 0"] * 2


def test_freeing_a_persistent_request_that_has_ended_leaves_nothing_out(goal_of):
    a, b = ranks_of(2)
    a.event("MPI_Send_init", 0, 10, u(0) + z(1) + z(0) + u(40))
    a.event("MPI_Start", 0, 10, u(1) + u(1))
    a.waitall(1)
    a.event("MPI_Request_free", 0, 10, u(1))
    a.isend(1, 8)
    a.event("MPI_Request_free", 0, 10, u(1))
    b.recv(0, 40)
    b.recv(0, 8)
    source, _ = goal_of([a, b])
    # THEN only the request that had not ended is said
    assert source.omitted == {"requests freed before their end, nobody waits for them": 1}


@pytest.mark.parametrize("posted", [(1, 7), (ANY_SOURCE, -1)])
def test_a_receive_that_was_cancelled_waits_for_nothing(goal_of, posted):
    a, b = ranks_of(2)
    a.irecv(posted[0], 64, tag=posted[1])
    a.irecv(1, 64, tag=7)
    a.event("MPI_Cancel", 0, 10, u(2))
    a.waitall((2, PROC_NULL, 0, 0), (1, 1, 7, 5))
    b.send(0, 5, tag=7)
    source, lines = goal_of([a, b])
    assert [line.split(" tag")[0] for line in operations(lines[0])] == ["calc 0", "recv 64b from 1", "calc 0"]
    assert source.omitted == {}


def test_messages_over_an_intercommunicator_meet(goal_of):
    ranks = ranks_of(4)
    for rank in ranks:
        groups = ([0, 2], [1, 3])
        own, others = groups if rank.world_rank % 2 == 0 else groups[::-1]
        # GIVEN two intercommunicators; the even ranks have had another communicator with their group before
        before = 0 if rank.world_rank % 2 else 1
        for index in (2, 3):
            rank.comm(index, own, instance=index - 2 + before, remote=others)
    for even, odd in ((0, 1), (2, 3)):
        ranks[even].isend(odd, 10, comm=2)
        ranks[even].isend(odd, 20, comm=3)
        ranks[even].waitall(1, 2)
        # WHEN they are received in the other order
        ranks[odd].recv(even, 20, comm=3)
        ranks[odd].recv(even, 10, comm=2)
    _, lines = goal_of(ranks)
    sent, received = (operations(lines[rank])[:2] for rank in (0, 1))
    assert [line.replace("send", "recv").replace("to 1", "from 0") for line in sent] == received[::-1]
    assert len(set(received)) == 2


def test_sendrecv_posts_both_and_waits_for_both(goal_of):
    ranks = ranks_of(2)
    for r, rank in enumerate(ranks):
        send = u(0) + z(1 - r) + z(5) + u(16)
        rank.event("MPI_Sendrecv", 0, 10, send + u(0) + z(1 - r) + z(5) + z(1 - r) + z(5) + u(16))
    _, lines = goal_of(ranks)
    assert operations(lines[0]) == ["send 16b to 1 tag 0", "recv 16b from 1 tag 0", "calc 0"]
    assert edges(lines[0]) == {"l2 requires l0", "l2 requires l1"}


def test_messages_to_nobody_are_none(goal_of):
    (a,) = ranks_of(1)
    a.send(PROC_NULL, 100)
    a.recv(PROC_NULL, 0)
    _, lines = goal_of([a])
    assert operations(lines[0]) == []


def test_time_in_the_run_queue_is_no_computation(goal_of):
    (a,) = ranks_of(1)
    a.coll("MPI_Barrier", 0, gap=20 * MS)
    # GIVEN the rank had a core for a quarter of the time until here, and all of the time after
    a.sched(wait_ns=15 * MS, cpu_ns=5 * MS)
    a.coll("MPI_Barrier", 0, gap=10 * MS)
    a.sched(wait_ns=0, cpu_ns=10 * MS)
    _, lines = goal_of([a])
    shown = [int(line.removeprefix("calc ")) for line in operations(lines[0])]
    assert shown == pytest.approx([5 * MS, 10 * MS], rel=1e-3)


def test_computation_whose_processor_time_was_measured_took_that(goal_of):
    a = Traced(0, 1, flags=FINALIZED | TRACED)
    shape = u(CALL_NUMBERS["MPI_Barrier"]) + u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0)

    def barrier(gap, ns, measured=None):
        known = [] if measured is None else [b"\xf7" + u(measured >> 10)]
        a.trace.extend([*known, b"\xf2" + shape + u(gap) + u(ns)])

    # GIVEN two intervals of which the processor time of each computation is known,
    for _ in range(2):
        barrier(4 * MS, 12 * MS, measured=3 << 20)
        # too short to have been interrupted, but it was
        barrier(MS // 2, 3 * MS // 2, measured=1 << 16)
        wait_units, cpu_units = 14 * MS >> 17, ((3 << 20) + (1 << 16) + 1 * MS) >> 17
        a.trace.append(b"\xf4" + u(wait_units) + u(cpu_units))
    # and one of which nothing was measured, with a core for a tenth of its wait, as in the others
    barrier(4 * MS, 10 * MS)
    a.trace.append(b"\xf4" + u(12 * MS >> 17) + u(2 * MS >> 17))
    _, lines = goal_of([a])
    shown = [int(line.removeprefix("calc ")) for line in operations(lines[0])]
    # THEN what was measured is exact, and the rest what the waits of the others leave
    assert shown[:4] == [3 << 20, 1 << 16] * 2
    assert shown[4] == pytest.approx(2 * MS - 10 * MS * MS / (13.5 * MS), rel=0.15)


def test_a_gap_loses_no_more_than_the_time_in_the_run_queue(goal_of):
    (a,) = ranks_of(1)
    # GIVEN core time that is counted too late, as it is in steps of a scheduler tick
    a.coll("MPI_Barrier", 0, gap=20 * MS)
    a.sched(wait_ns=MS, cpu_ns=14 * MS)
    _, lines = goal_of([a])
    assert operations(lines[0]) == [f"calc {19 * MS}"]


def test_ranks_that_give_way_inside_mpi_do_not_spoil_short_computations(goal_of):
    (a,) = ranks_of(1)
    for _ in range(10):
        # GIVEN 0.1 ms of computation, then 20 ms inside MPI, of which the rank had a core for a tenth
        a.event("MPI_Barrier", MS // 10, 20 * MS, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
        a.sched(wait_ns=18 * MS, cpu_ns=2 * MS + MS // 10)
    # and one long computation during which it had a core for half the time
    a.event("MPI_Barrier", 10 * MS, 20 * MS, u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0))
    a.sched(wait_ns=23 * MS, cpu_ns=7 * MS)
    _, lines = goal_of([a])
    shown = [int(line.removeprefix("calc ")) for line in operations(lines[0])]
    assert shown == pytest.approx([MS // 10] * 10 + [5 * MS], rel=1e-3)


def test_spinning_in_tests_is_waiting_and_work_between_tests_is_computation(goal_of):
    (a,) = ranks_of(1)
    a.event(POLL, 50_000, 100_000, u(1000))
    a.event(POLL, 80_000, 1000, u(10))
    _, lines = goal_of([a])
    assert operations(lines[0]) == ["calc 80000"]


def test_collectives_become_their_messages(goal_of):
    ranks = ranks_of(4)
    for rank in ranks:
        rank.coll("MPI_Allreduce", 8, gap=100)
    source, lines = goal_of(ranks, "mpich")
    # THEN an allreduce of one element is recursive doubling: two rounds of an exchange
    assert source.schedule.messages == 8
    assert operations(lines[1])[0] == "calc 100"
    sent = [line for line in operations(lines[1]) if line.startswith("send")]
    assert [line.split(" tag")[0] for line in sent] == ["send 8b to 0", "send 8b to 3"]


def test_collectives_of_a_part_of_the_ranks_are_between_its_members(goal_of):
    ranks = ranks_of(4)
    for rank in ranks:
        rank.comm(2, [0, 2] if rank.world_rank % 2 == 0 else [1, 3], listed=rank.world_rank < 2)
        rank.coll("MPI_Bcast", 10, comm=2, root=1)
    _, lines = goal_of(ranks)
    kinds = [operations(each)[0].split(" tag")[0] for each in lines]
    # THEN root 1 of each is the higher rank, and members are known where another wrote them down
    assert kinds == ["recv 10b from 2", "recv 10b from 3", "send 10b to 0", "send 10b to 1"]


def test_every_rank_knows_what_it_receives_in_an_alltoallv(goal_of):
    ranks = ranks_of(3)
    sizes = [[0, 8, 16], [24, 0, 0], [0, 40, 0]]
    for rank, own in zip(ranks, sizes, strict=True):
        rank.coll("MPI_Alltoallv", sum(own), sizes=own)
    source, lines = goal_of(ranks)
    assert source.schedule.bytes == sum(map(sum, sizes))
    received = [line.split(" tag")[0] for line in operations(lines[1]) if line.startswith("recv")]
    assert sorted(each for each in received if not each.startswith("recv 0b")) == [
        "recv 40b from 2",
        "recv 8b from 0",
    ]


def neighbours(rank, call, comm, sends, gap=0):
    """A neighbourhood collective: (destination, bytes) of each message."""
    payload = u(comm) + z(-1) + u(0) + u(1) + u(0) + u(0) + u(len(sends))
    rank.event(call, gap, 100, payload + b"".join(z(peer) + u(size) for peer, size in sends))


def test_neighbourhood_collectives_exchange_the_messages_that_each_sends(goal_of):
    ranks = ranks_of(3)
    # GIVEN a line 0-1-2, and a communicator that holds the ranks in another order
    for rank in ranks:
        rank.comm(2, [2, 1, 0])
    neighbours(ranks[0], "MPI_Neighbor_alltoall", 2, [(PROC_NULL, 8), (1, 8)])
    neighbours(ranks[1], "MPI_Neighbor_alltoall", 2, [(0, 8), (2, 8)])
    neighbours(ranks[2], "MPI_Neighbor_alltoall", 2, [(1, 8), (PROC_NULL, 8)])
    # AND a second call with sizes of its own
    neighbours(ranks[0], "MPI_Neighbor_alltoallv", 2, [(1, 100)], gap=70)
    neighbours(ranks[1], "MPI_Neighbor_alltoallv", 2, [(0, 0), (2, 300)])
    neighbours(ranks[2], "MPI_Neighbor_alltoallv", 2, [])
    source, lines = goal_of(ranks)
    assert operations(lines[0]) == [
        *("recv 8b from 1 tag 0", "send 8b to 1 tag 0", "calc 0"),
        *("calc 70", "recv 0b from 1 tag 0", "send 100b to 1 tag 0", "calc 0"),
    ]
    # THEN the computation after the first waits for all its messages
    assert {"l2 requires l0", "l2 requires l1", "l3 requires l2"} <= edges(lines[0])
    assert operations(lines[2])[-2:] == ["recv 300b from 1 tag 0", "calc 0"]
    assert source.schedule.bytes == 4 * 8 + 400
    assert source.omitted == {}


def test_both_neighbours_of_a_ring_of_two_are_the_other_rank(goal_of):
    a, b = ranks_of(2)
    neighbours(a, "MPI_Ineighbor_alltoallv", 0, [(1, 10), (1, 20)])
    neighbours(b, "MPI_Neighbor_alltoallv", 0, [(0, 30), (0, 40)])
    a.waitall(1, gap=500)
    _, lines = goal_of([a, b])
    # THEN messages meet in the order in which they were sent, and a nonblocking call goes on at once
    assert [each.split(" tag")[0] for each in operations(lines[0])[:4]] == [
        *("recv 30b from 1", "recv 40b from 1", "send 10b to 1", "send 20b to 1"),
    ]
    assert not any(line.startswith("l4 requires") for line in edges(lines[0]))
    assert operations(lines[0])[4] == "calc 500"


def test_a_nonblocking_collective_goes_on_beside_the_computation(goal_of):
    ranks = ranks_of(2)
    for rank in ranks:
        rank.coll("MPI_Ibarrier", 0)
        rank.waitall(1, gap=900)
    _, lines = goal_of(ranks)
    calc = operations(lines[0]).index("calc 900")
    assert not any(line.startswith(f"l{calc} requires") for line in edges(lines[0]))


def test_what_is_left_out_is_said(goal_of):
    a, b = ranks_of(2)
    a.event("MPI_Win_fence", 0, 10)
    a.event("MPI_Comm_split", 0, 10, u(0) + u(0))
    a.event(LOST, 0, 0, u(17))
    source, _ = goal_of([a, b])
    assert source.omitted == {
        "events that were not recorded": 17,
        "`MPI_Win_fence` of rank 0, taken as no time": 1,
        "`MPI_Comm_split` of rank 0, whose synchronisation is not replayed": 1,
    }


@pytest.mark.parametrize(("library", "nonblocking"), [("mpich", False), ("openmpi-4", True)])
def test_a_split_is_the_allgather_and_the_allreduces_that_it_takes(tmp_path, library, nonblocking):
    # GIVEN a split of a half of the ranks, and of other ranks the collectives that it is made of
    def makespan_s(name, call):
        ranks = ranks_of(8)
        for rank in ranks:
            rank.comm(2, list(range(4)) if rank.world_rank < 4 else list(range(4, 8)))
            call(rank)
            rank.coll("MPI_Barrier", 0, comm=2)
        path = tmp_path / f"{name}.rw"
        source = load(write_recording(path, ranks), library)
        assert source.omitted == {}
        return source.schedule.replay_loggops(1e-6, 1e-7, 1e-7, 1e-9, 0.0, 1000000).finish_s.max()

    def collectives(rank):
        rank.coll("MPI_Allgather", 8, comm=2, element=4)
        for _ in range(3 if nonblocking else 1):
            rank.coll(
                "MPI_Iallreduce" if nonblocking else "MPI_Allreduce",
                4 if nonblocking else 260,
                comm=2,
                element=4,
            )
            if nonblocking:
                rank.waitall(1)

    made = makespan_s("split", lambda rank: rank.make("MPI_Comm_split", comm=2))
    alone = makespan_s("nothing", lambda rank: None)
    # THEN it takes as long as they do
    assert made == makespan_s("collectives", collectives) > alone > 0


@pytest.mark.parametrize(
    "call", ["MPI_Comm_create_group", "MPI_Comm_idup", "MPI_Intercomm_create", "MPI_Comm_spawn"]
)
def test_how_some_communicators_are_made_is_not_replayed(goal_of, call):
    ranks = ranks_of(2)
    for rank in ranks:
        rank.make(call, comm=-1 if call == "MPI_Comm_spawn" else 0)
    source, _ = goal_of(ranks)
    assert source.omitted == {f"`{call}` of ranks 0-1, whose synchronisation is not replayed": 2}


def test_a_communicator_of_an_unknown_one_is_not_replayed(goal_of):
    ranks = ranks_of(2)
    for rank in ranks:
        rank.make("MPI_Comm_dup", comm=-1)
        rank.make("MPI_Comm_dup", comm=0)
        rank.make("MPI_Comm_dup", comm=77)
        rank.make("MPI_Comm_split", comm=1)
    source, _ = goal_of(ranks)
    assert source.omitted == {"`MPI_Comm_dup` of ranks 0-1, whose synchronisation is not replayed": 4}
    assert (source.schedule.messages, source.schedule.bytes) == (4, 520)


def test_a_message_without_its_receive_names_ranks_tag_and_event(goal_of):
    a, b = ranks_of(2)
    a.send(1, 10)
    b.coll("MPI_Barrier", 0)
    a.coll("MPI_Barrier", 0)
    with pytest.raises(RankwiseError) as caught:
        goal_of([a, b])
    assert "from rank `0` to rank `1`" in caught.value.message
    assert "rank 0, event 0 (MPI_Send): `send 10b to 1" in caught.value.message


@pytest.mark.parametrize("call", ["send", "isend", "recv", "irecv"])
def test_errors_name_the_tag_that_the_program_used(goal_of, call):
    # GIVEN messages of other tags, and one whose other end lacks
    a, b = ranks_of(2)
    for tag in (3, 4):
        a.send(1, 10, tag=tag)
        b.recv(0, 10, tag=tag)
    getattr(a, call)(1, 10, tag=77)
    with pytest.raises(RankwiseError) as caught:
        goal_of([a, b])
    # THEN its tag is not the schedule's number
    assert "with tag `77`" in caught.value.message
    assert f"rank 0, event 2 (MPI_{call.capitalize()}): `{call[-4:]} 10b" in caught.value.message
    assert " tag 77`" in caught.value.message


def test_errors_name_no_tag_of_collectives(goal_of):
    a, b = ranks_of(2)
    a.send(1, 10, tag=5)
    b.recv(0, 10, tag=5)
    a.coll("MPI_Barrier", 0)
    with pytest.raises(RankwiseError) as caught:
        goal_of([a, b])
    assert "(MPI_Barrier)" in caught.value.message and " tag " not in caught.value.message


def test_a_recording_without_trace_says_how_to_make_one(goal_of):
    with pytest.raises(RankwiseError, match="rank `0` has no trace") as caught:
        goal_of([Rank(0, 1)])
    assert "--trace" in caught.value.hint


def test_a_recording_that_lacks_a_rank_names_it(goal_of):
    with pytest.raises(RankwiseError, match="lacks rank `1`"):
        goal_of([Traced(0, 2, flags=FINALIZED | TRACED)])
