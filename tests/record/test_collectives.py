# SPDX-License-Identifier: BSD-3-Clause
"""Collectives: what was called with which sizes, and the messages that only the caller knows."""

import pytest

pytestmark = pytest.mark.mpi
NONCOMMUTATIVE, IN_PLACE, _, INTERCOMM, DERIVED, RECEIVE_SIDE = (1 << bit for bit in range(6))


@pytest.fixture(scope="module")
def called(record_once):
    return record_once("collectives.c", 4)


def entries(thread, call: str, comm: int | None = 0) -> list[tuple]:
    """(flags, root, datatype_bytes, bytes, bytes2, count) of a call in a communicator (all if None)."""
    fields = ("flags", "root", "datatype_bytes", "bytes", "bytes2", "count")
    return sorted(
        tuple(entry[field] for field in fields)
        for entry in thread.collectives
        if entry["call"] == call and comm in (None, entry["comm"])
    )


def sends(thread, call: str) -> dict[int, tuple[int, int]]:
    return {
        peer: (n, thread.sent_bytes[peer, call]) for (peer, name), n in thread.sent.items() if name == call
    }


def test_rooted_collectives_read_only_what_is_significant(called):
    for rank, thread in enumerate(called):
        root = rank == 1
        leaf = 0 if root else RECEIVE_SIDE
        place = IN_PLACE if root else 0
        assert entries(thread, "MPI_Bcast") == [(leaf, 1, 4, 400, 0, 1)]
        assert entries(thread, "MPI_Reduce") == [(place, 1, 4, 200, 0, 1)]
        assert entries(thread, "MPI_Gather") == [(place, 1, 4, 32, 0, 1)]
        assert entries(thread, "MPI_Scatter") == [(place or leaf, 1, 4, 24, 0, 1)]
        sum_of_all = 40 if root else 0
        assert entries(thread, "MPI_Gatherv") == [(0, 1, 4, 4 * (rank + 1), sum_of_all, 1)]
        assert entries(thread, "MPI_Scatterv") == [(leaf, 1, 4, 4 * (rank + 1), sum_of_all, 1)]
        assert sends(thread, "MPI_Gatherv") == ({} if root else {1: (1, 4 * (rank + 1))})
        assert sends(thread, "MPI_Scatterv") == ({0: (1, 4), 2: (1, 12), 3: (1, 16)} if root else {})


def test_collectives_of_all_ranks_have_the_sizes_of_the_call(called):
    for rank, thread in enumerate(called):
        assert entries(thread, "MPI_Allreduce") == [
            (NONCOMMUTATIVE, -1, 4, 36, 0, 1),
            (IN_PLACE, -1, 4, 28, 0, 1),
        ]
        assert entries(thread, "MPI_Allgather") == [(IN_PLACE, -1, 4, 20, 0, 1)]
        assert entries(thread, "MPI_Allgatherv") == [(0, -1, 4, 4 * (rank + 1), 40, 1)]
        assert entries(thread, "MPI_Alltoall") == [(0, -1, 4, 12, 0, 1)]
        assert entries(thread, "MPI_Reduce_scatter") == [(0, -1, 4, 4 * (rank + 1), 40, 1)]
        assert entries(thread, "MPI_Reduce_scatter_block") == [(0, -1, 4, 8, 0, 1)]
        assert entries(thread, "MPI_Scan") == [(0, -1, 4, 44, 0, 1)]
        assert entries(thread, "MPI_Exscan") == [(0, -1, 4, 48, 0, 1)]
        # MPI_COMM_SELF
        assert entries(thread, "MPI_Barrier", 1) == [(0, -1, 0, 0, 0, 1)]
        assert entries(thread, "MPI_Allreduce", 1) == [(0, -1, 8, 8, 0, 1)]
        assert sends(thread, "MPI_Allreduce") == {}


def test_what_only_its_caller_knows_is_entered_as_messages(called):
    for rank, thread in enumerate(called):
        # rank + peer bytes to each but 3, and 5 bytes to each in place; nothing to itself, no empty messages
        apart = {peer: rank + peer for peer in range(3) if peer != rank and rank + peer}
        expected = {peer: (1 + (peer in apart), 5 + apart.get(peer, 0)) for peer in range(4) if peer != rank}
        # and rank + 1 bytes to each of the other group
        for peer in (2, 3) if rank < 2 else (0, 1):
            expected[peer] = (expected[peer][0] + 1, expected[peer][1] + rank + 1)
        assert sends(thread, "MPI_Alltoallv") == expected
        assert sends(thread, "MPI_Ialltoallw") == {peer: (1, n) for peer, n in apart.items()}
        assert entries(thread, "MPI_Alltoallv") == [
            (0, -1, 1, sum(rank + p for p in range(3)), 0, 1),
            (IN_PLACE, -1, 1, 20, 0, 1),
        ]


def test_neighbourhood_collectives_go_to_the_neighbours(called):
    for rank, thread in enumerate(called):
        left, right = (rank - 1) % 4, (rank + 1) % 4
        assert sends(thread, "MPI_Neighbor_allgather") == {left: (20, 160), right: (20, 160)}
        assert sends(thread, "MPI_Neighbor_alltoallv") == {left: (1, 10), right: (1, 20)}


def test_the_two_sides_of_an_intercommunicator_are_told_apart(called):
    flags, bytes_of_root = INTERCOMM | RECEIVE_SIDE, 40
    between = [next(c["comm"] for c in t.collectives if c["flags"] & INTERCOMM) for t in called]
    assert entries(called[0], "MPI_Bcast", between[0]) == [(flags, -1, 0, 0, 0, 1)]
    assert entries(called[1], "MPI_Bcast", between[1]) == [(INTERCOMM, -3, 4, bytes_of_root, 0, 1)]
    for rank in (2, 3):
        assert entries(called[rank], "MPI_Bcast", between[rank]) == [(flags, 1, 4, bytes_of_root, 0, 1)]


def test_every_call_is_counted_and_timed(called):
    for thread in called:
        for call, (count, ticks, max_ticks, _, min_ticks) in thread.totals.items():
            assert (count == 0) == (ticks == 0), call
            assert max_ticks <= ticks <= count * max_ticks, call
            assert count == 0 or count * min_ticks <= ticks, call
        inside = sum(v[1] for call, v in thread.totals.items() if call not in ("MPI_Init", "MPI_Finalize"))
        assert 0 < inside <= thread.info["finalize_ticks"] - thread.info["init_ticks"]


@pytest.mark.parametrize("trace", [None, "1"])
def test_handles_that_come_again_stand_for_what_they_are_then(record_once, trace):
    # GIVEN collectives of the same arguments, on communicators, datatypes and operations that are freed and made anew
    for rank, thread in enumerate(record_once("reused.c", 2, trace)):
        for number in range(6):
            leaf = RECEIVE_SIDE if rank == 1 and number % 2 == 0 else 0
            comm = number + 2  # behind MPI_COMM_WORLD and MPI_COMM_SELF
            # THEN each is counted with its communicator, size and flags
            assert entries(thread, "MPI_Barrier", comm) == [(0, -1, 0, 0, 0, 4)]
            assert entries(thread, "MPI_Allreduce", comm) == [
                (0, -1, 4, 12, 0, 4),
                (IN_PLACE, -1, 4, 12, 0, 3),
            ]
            element = 4 * (number + 1)
            assert entries(thread, "MPI_Bcast", comm) == [(leaf | DERIVED, 0, element, 2 * element, 0, 4)]
        assert entries(thread, "MPI_Reduce") == [
            (flags, root, 4, 4, 0, 2 * (3 - root)) for flags in (0, NONCOMMUTATIVE) for root in (0, 1)
        ]
        broadcast = sum(2 * 4 * (n + 1) * 4 for n in range(6) if rank == 0 or n % 2)
        assert thread.totals["MPI_Bcast"][3] == broadcast
        assert thread.totals["MPI_Allreduce"][3] == 6 * 7 * 12
        if thread.totals.get("MPI_Bcast_c", [0])[0]:  # counts that differ above 32 bits
            assert entries(thread, "MPI_Bcast_c", 1) == [
                (0, 0, 1, 16, 0, 3),
                (0, 0, 1, 16 + (1 << 32), 0, 3),
            ]
        # AND receives with what came for them
        peer = 1 - rank
        assert thread.received == {(peer, "MPI_Irecv"): 16, (peer, "MPI_Recv_init"): 8}
        assert thread.received_bytes == {(peer, "MPI_Irecv"): 8 * (8 + 16), (peer, "MPI_Recv_init"): 8 * 12}
