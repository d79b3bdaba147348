# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm a library takes, and how many messages and bytes that makes."""

from math import ceil, log2

import numpy as np
import pytest
from rankwise._core import collectives
from raw_writer import CALL_NUMBERS


@pytest.mark.parametrize(
    ("operation", "size", "length", "mpich", "openmpi"),
    [
        ("bcast", 16, 8, "binomial", "knomial"),
        ("bcast", 16, 12289, "scatter_recursive_doubling_allgather", "strided_binomial"),
        ("bcast", 12, 1 << 20, "scatter_ring_allgather", "linear"),
        ("bcast", 4, 1 << 20, "binomial", "chain"),
        ("allreduce", 16, 8, "recursive_doubling", "recursive_doubling"),
        ("allreduce", 16, 128, "rabenseifner", "recursive_doubling"),
        ("allreduce", 16, 120, "recursive_doubling", "recursive_doubling"),
        ("allreduce", 16, 4096, "rabenseifner", "rabenseifner_halves"),
        ("allreduce", 2, 1 << 20, "rabenseifner", "rabenseifner_halves"),
        ("reduce", 16, 2048, "binomial", "binary"),
        ("reduce", 16, 4096, "rabenseifner", "binomial"),
        ("allgather", 16, 8, "recursive_doubling", "recursive_doubling"),
        ("allgather", 12, 8, "bruck", "bruck"),
        ("allgather", 12, 8192, "ring", "bruck"),
        ("allgather", 16, 1 << 16, "ring", "recursive_doubling"),
        ("alltoall", 16, 256, "bruck", "bruck"),
        ("alltoall", 16, 257, "linear", "bruck"),
        ("alltoall", 16, 1 << 16, "pairwise", "linear"),
        ("barrier", 16, 0, "dissemination", "recursive_doubling"),
        ("barrier", 5, 0, "dissemination", "linear"),
        ("gather", 16, 8, "binomial", "binomial"),
        ("scatter", 16, 1 << 20, "binomial", "linear"),
        ("scan", 16, 8, "recursive_doubling", "linear"),
        ("reduce_scatter_block", 16, 8, "recursive_halving", "nonoverlapping"),
    ],
)
def test_libraries_choose_by_size_and_number_of_ranks(operation, size, length, mpich, openmpi):
    chosen = [
        collectives.select(library, operation, size=size, bytes=length, element_bytes=8)
        for library in ("mpich", "openmpi")
    ]
    assert chosen == [mpich, openmpi]


@pytest.mark.parametrize(
    ("library", "size", "length", "nonblocking", "expected"),
    [
        ("mpich", 8, 100_000, False, "ordered_binomial"),
        ("openmpi", 9, 512, False, "in_order_binary"),
        ("openmpi", 9, 4096, False, "linear"),
        ("openmpi", 9, 4096, True, "ordered_binomial"),
    ],
)
def test_operators_that_do_not_commute_are_reduced_in_order(library, size, length, nonblocking, expected):
    choose = {"size": size, "bytes": length, "element_bytes": 4, "nonblocking": nonblocking}
    assert collectives.select(library, "reduce", **choose, commutative=False) == expected


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_every_choice_is_an_algorithm_of_that_operation(library):
    known = set(collectives.algorithms())
    for operation in {operation for operation, _ in known}:
        for size in (1, 2, 3, 5, 8, 12, 16, 31, 64, 100, 128, 500, 1000, 3000, 5000):
            for length in [0, 1, 7, *(2**k + d for k in range(3, 24) for d in (-1, 0, 1)), 2**64 - 1]:
                for nonblocking in (False, True):
                    for commutative in (False, True):
                        name = collectives.select(
                            library,
                            operation,
                            size=size,
                            bytes=length,
                            nonblocking=nonblocking,
                            commutative=commutative,
                        )
                        assert (operation, name) in known


def sent(operation, algorithm, size, length, **more):
    """Messages and bytes sent by all ranks."""
    steps = [
        step
        for rank in range(size)
        for step in collectives.steps(operation, algorithm, rank=rank, size=size, bytes=length, **more)
    ]
    return sum(step[0] == 0 for step in steps), sum(step[3] for step in steps if step[0] == 0)


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 16, 21])
def test_totals_are_those_of_the_closed_forms(size):
    p, b, rounds = size, 840, ceil(log2(size))
    for tree in ("binomial", "strided_binomial", "knomial", "binary", "chain", "linear"):
        assert sent("bcast", tree, p, b) == (p - 1, (p - 1) * b)
    assert sent("allgather", "ring", p, b) == (p * (p - 1), p * (p - 1) * b)
    assert sent("allgather", "bruck", p, b) == (p * rounds, p * (p - 1) * b)
    assert sent("alltoall", "pairwise", p, b) == (p * (p - 1), p * (p - 1) * b)
    assert sent("barrier", "dissemination", p, 0) == (p * rounds, 0)
    assert sent("allreduce", "ring", p, b * p) == (2 * p * (p - 1), 2 * p * (p - 1) * b)
    assert sent("reduce_scatter_block", "pairwise", p, b) == (p * (p - 1), p * (p - 1) * b)
    if size & (size - 1) == 0:
        assert sent("allreduce", "recursive_doubling", p, b) == (p * rounds, p * rounds * b)
        assert sent("allreduce", "rabenseifner", p, b * p) == (2 * p * rounds, 2 * p * (p - 1) * b)
        assert sent("gather", "binomial", p, b) == (p - 1, p * rounds // 2 * b)


def count(library, call, members, length, times=1, root=-1, flags=0, nodes=()):
    """All ranks of one communicator make the same calls; `nodes` are those of all world ranks."""
    p = len(members)

    def same(value, kind):
        return np.full(p, value, kind)

    return collectives.count_messages(
        library,
        rank=np.arange(p, dtype=np.uint32),
        group=same(0, np.uint32),
        call=same(CALL_NUMBERS[call], np.uint16),
        flags=same(flags, np.uint16),
        root=same(root, np.int32),
        datatype_bytes=same(8, np.uint32),
        bytes=same(length, np.uint64),
        total_bytes=same(0, np.uint64),
        count=same(times, np.uint64),
        group_offsets=np.array([0, p], np.uint64),
        group_members=np.array(members, np.uint32),
        node=np.array(nodes, np.uint32),
    )


@pytest.mark.parametrize(
    ("library", "algorithm"),
    [
        ("mpich", "composition_alpha"),
        ("mpich2", "recursive_doubling"),
        ("cray", "smp_tree"),
        ("openmpi", "han"),
        ("openmpi-4", "recursive_doubling"),
    ],
)
def test_messages_are_counted_by_the_nodes_of_a_communicators_members(library, algorithm):
    # GIVEN an allreduce of one double by 1, 3, 5 and 7, two of which share a node
    rows = count(library, "MPI_Allreduce", [1, 3, 5, 7], 8, nodes=[9, 0, 9, 1, 9, 0, 9, 1])
    # THEN nodes are looked at by those who do, and only one rank of each talks to the other
    assert {collectives.algorithms()[i] for i in rows["chosen"]} == {("allreduce", algorithm)}
    crossing = {
        (source, destination)
        for source, destination in zip(rows["source"].tolist(), rows["destination"].tolist(), strict=True)
        if (source in (1, 5)) != (destination in (1, 5))
    }
    by_nodes = {(1, 3), (3, 1)}
    assert crossing == (by_nodes if library in ("mpich", "cray", "openmpi") else by_nodes | {(5, 7), (7, 5)})


def test_mpich2_reduces_more_than_one_element_by_recursive_doubling():
    assert chosen("mpich2", 2048, 16) == "recursive_doubling"
    assert chosen("mpich", 2048, 16) == chosen("mpich2", 2056, 16) == "rabenseifner"


def chosen(library, size_bytes, ranks):
    return collectives.select(library, "allreduce", size=ranks, bytes=size_bytes, element_bytes=8)


def test_messages_are_counted_between_world_ranks():
    # GIVEN 10 allreduces of one double by the odd ranks of a larger job
    rows = count("mpich", "MPI_Allreduce", [1, 3, 5, 7], 8, times=10)
    # THEN recursive doubling pairs them, 10 messages of 8 bytes each
    pairs = sorted(zip(rows["source"].tolist(), rows["destination"].tolist(), strict=True))
    assert pairs == [(1, 3), (1, 5), (3, 1), (3, 7), (5, 1), (5, 7), (7, 3), (7, 5)]
    assert set(rows["messages"]) == {10} and set(rows["bytes"]) == {80} and set(rows["bin"]) == {4}
    assert {collectives.algorithms()[i] for i in rows["chosen"]} == {("allreduce", "recursive_doubling")}


def test_calls_whose_messages_only_the_caller_knows_are_left_alone():
    for call, flags in (
        ("MPI_Alltoallv", 0),
        ("MPI_Neighbor_alltoall", 0),
        ("MPI_Allreduce", 8),
        ("MPI_Send", 0),
    ):
        rows = count("mpich", call, [0, 1, 2, 3], 8, flags=flags)
        assert len(rows["source"]) == 0 and list(rows["chosen"]) == [-1] * 4
