# SPDX-License-Identifier: BSD-3-Clause
"""Point-to-point messages: exact counts, bytes and world ranks on every MPI."""

from collections import Counter

import pytest

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_ring_of_23_laps_has_exact_counts_and_bytes(mpi, compiled, record, ranks):
    # GIVEN a token of 1000 bytes
    ring = compiled(mpi, "ring.c")
    # WHEN it goes round 23 times
    recorded = record(mpi, ranks, ring)
    # THEN every rank has sent it 23 times to its successor and received it 23 times from its predecessor
    assert recorded.run.stdout == "23 laps\n"
    assert [t.info["world_rank"] for t in recorded.threads] == list(range(ranks))
    send, receive = ("MPI_Send", "MPI_Recv") if ranks > 1 else ("MPI_Sendrecv_replace",) * 2
    for rank in range(ranks):
        thread = recorded.rank(rank)
        successor, predecessor = (rank + 1) % ranks, (rank - 1) % ranks
        assert thread.sent == {(successor, send): 23}
        assert thread.sent_bytes == {(successor, send): 23_000}
        assert thread.received == {(predecessor, receive): 23}
        assert thread.received_bytes == {(predecessor, receive): 23_000}
        assert (thread.count(send), thread.count("MPI_Init"), thread.count("MPI_Finalize")) == (23, 1, 1)
        assert (thread.info["world_size"], thread.has("finalized"), thread.has("full")) == (
            ranks,
            True,
            False,
        )
        assert thread.info["finalize_ticks"] > thread.info["init_ticks"] >= thread.info["first_ticks"]


@pytest.fixture(scope="module")
def sent_and_received(record_once):
    return record_once("messages.c", 4)


def by_call(counter: Counter, call: str) -> dict:
    return {peer: value for (peer, name), value in counter.items() if name == call}


def test_receives_from_any_source_are_entered_with_their_true_source(sent_and_received):
    root = sent_and_received[0]
    assert by_call(root.received, "MPI_Recv") == {1: 1, 2: 1, 3: 1}
    assert by_call(root.received_bytes, "MPI_Recv") == {1: 100, 2: 200, 3: 300}
    assert [by_call(t.sent_bytes, "MPI_Ssend") for t in sent_and_received[1:]] == [
        {0: 100},
        {0: 200},
        {0: 300},
    ]


def test_persistent_sends_are_counted_whenever_they_are_started(sent_and_received):
    assert by_call(sent_and_received[0].sent, "MPI_Send_init") == {1: 10}
    assert by_call(sent_and_received[0].sent_bytes, "MPI_Send_init") == {1: 20_000}
    assert by_call(sent_and_received[1].received, "MPI_Recv_init") == {0: 10}
    assert by_call(sent_and_received[1].received_bytes, "MPI_Recv_init") == {0: 20_000}


def test_nothing_is_sent_to_proc_null(sent_and_received):
    for thread in sent_and_received:
        assert thread.count("MPI_Bsend") == 10
        assert by_call(thread.sent, "MPI_Bsend") == {}
        assert all(0 <= peer < 4 for peer, _ in thread.sent | thread.received)


def test_however_requests_are_completed_both_sides_agree(sent_and_received):
    # GIVEN seven ways to complete, 8 messages of 10 (r + 1) bytes from each rank r to each other rank in each
    for rank, thread in enumerate(sent_and_received):
        others = [peer for peer in range(4) if peer != rank]
        assert by_call(thread.sent, "MPI_Isend") == {peer: 56 for peer in others}
        assert by_call(thread.sent_bytes, "MPI_Isend") == {peer: 560 * (rank + 1) for peer in others}
        # THEN receivers saw what senders sent (the receive from MPI_PROC_NULL and the cancelled one are none)
        assert by_call(thread.received, "MPI_Irecv") == {peer: 56 for peer in others}
        assert by_call(thread.received_bytes, "MPI_Irecv") == {peer: 560 * (peer + 1) for peer in others}


def test_matched_probes_and_receives_are_entered(sent_and_received):
    for rank, thread in enumerate(sent_and_received):
        successor, predecessor = (rank + 1) % 4, (rank - 1) % 4
        assert by_call(thread.sent, "MPI_Issend") == {successor: 2}
        assert by_call(thread.received_bytes, "MPI_Mrecv") == {predecessor: 300}
        assert by_call(thread.received_bytes, "MPI_Imrecv") == {predecessor: 300}


def test_sizes_are_those_of_the_data_without_gaps(sent_and_received):
    for rank, thread in enumerate(sent_and_received):
        successor, predecessor = (rank + 1) % 4, (rank - 1) % 4
        # 10 and 20 ints of strided types that may share a handle
        assert by_call(thread.sent_bytes, "MPI_Sendrecv") == {successor: 120}
        assert by_call(thread.received_bytes, "MPI_Sendrecv") == {predecessor: 120}
        # an empty message counts as a message; 70 bytes to myself
        assert by_call(thread.sent, "MPI_Sendrecv_replace") == {successor: 1, rank: 1}
        assert by_call(thread.sent_bytes, "MPI_Sendrecv_replace") == {successor: 0, rank: 70}
        assert thread.totals["MPI_Sendrecv"][3] == 120


@pytest.fixture(scope="module")
def in_communicators(record_once):
    return record_once("communicators.c", 4)


def test_peers_are_world_ranks_in_every_communicator(in_communicators):
    split, grouped = {2: 0, 0: 2, 3: 1, 1: 3}, {3: 0, 0: 2, 2: 3}
    for rank, thread in enumerate(in_communicators):
        successor = (rank + 1) % 4
        assert by_call(thread.sent, "MPI_Isend") == {successor: 1}  # MPI_Comm_dup
        assert by_call(thread.sent, "MPI_Issend") == {split[rank]: 1}  # MPI_Comm_split, reversed
        assert by_call(thread.sent, "MPI_Ssend") == ({grouped[rank]: 1} if rank != 1 else {})
        assert by_call(thread.sent, "MPI_Sendrecv") == {(rank + 2) % 4: 1}  # intercommunicator
        assert by_call(thread.received, "MPI_Sendrecv") == {(rank + 2) % 4: 1}
        assert by_call(thread.sent, "MPI_Sendrecv_replace") == {successor: 1}  # MPI_Comm_idup
        assert not thread.has("unclassified")
        assert not thread.has("lazy")
    # a reordered Cartesian communicator: some ring through all four ranks
    ring = {rank: next(iter(by_call(t.sent, "MPI_Send"))) for rank, t in enumerate(in_communicators)}
    assert sorted(ring.values()) == [0, 1, 2, 3]
    assert all(ring[rank] != rank for rank in ring)


def test_members_give_a_communicator_the_same_name(in_communicators):
    # GIVEN the definitions that the four ranks wrote
    names = [Counter((c["hash"], c["instance"]) for c in t.comms.values()) for t in in_communicators]
    for rank, thread in enumerate(in_communicators):
        comms = thread.comms.values()
        # THEN each name is given once, is given by exactly its members, and they agree who is in it
        assert max(names[rank].values()) == 1
        for comm in comms:
            members = comm["members"] or next(
                other["members"]
                for t in in_communicators
                for other in t.comms.values()
                if other["hash"] == comm["hash"] and other["members"]
            )
            assert len(members) == comm["size"]
            assert members[comm["rank"]] == rank
            assert all((comm["hash"], comm["instance"]) in names[member] for member in members)
    # world, self, dup, split, cart, (group), half, inter, 60 splits, idup
    assert [len(t.comms) for t in in_communicators] == [69, 68, 69, 69]
    inter = [c for c in in_communicators[0].comms.values() if c["remote_size"]]
    assert [(c["members"], c["remote"]) for c in inter] == [([0, 1], [2, 3])]
