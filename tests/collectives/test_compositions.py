# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms that go by which ranks share a node: what they deliver, how little crosses nodes, when they are taken."""

import random

import pytest
from dataflow import UNIT, run, run_on_buffers, steps_of_all
from rankwise._core import collectives

NODES = {
    "even": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
    "cyclic": [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1],
    "uneven": [0, 0, 0, 1, 2, 2, 2, 2, 2, 3],
    "alone": [0, 1, 2, 3, 4],
    "together": [5, 5, 5, 5, 5, 5],
    "random": [random.Random(3).randrange(6) for _ in range(33)],
}


def composed(collective):
    return [
        name
        for operation, name in collectives.algorithms()
        if operation == collective and "composition" in name
    ]


@pytest.fixture(params=NODES)
def nodes(request):
    return NODES[request.param]


def crossing(steps, nodes):
    """Messages between nodes."""
    return sum(
        nodes[rank] != nodes[step[1]] for rank, own in enumerate(steps) for step in own if step[0] == 0
    )


@pytest.mark.parametrize("units", [1, 3, 100])
def test_broadcast_reaches_everyone_from_any_root(nodes, units):
    size = len(nodes)
    for algorithm in composed("bcast"):
        for root in range(size):
            length = units * size  # pieces of a scattered buffer are whole units
            steps = steps_of_all("bcast", algorithm, size, root=root, bytes=length * UNIT, nodes=nodes)
            buffers = [list(range(length)) if rank == root else [None] * length for rank in range(size)]
            if length * UNIT <= 12288:  # above, pieces of the parts are not whole units
                run_on_buffers(steps, buffers)
                assert buffers == [list(range(length))] * size
                # AND each other node gets it once
                assert crossing(steps, nodes) == len(set(nodes)) - 1
            else:
                run(steps, lambda rank, step: None, lambda rank, step, data: None)


@pytest.mark.parametrize("units", [1, 40])
def test_reduce_adds_everyone_once_at_any_root(nodes, units):
    size = len(nodes)
    for algorithm in composed("reduce"):
        for root in range(size):
            buffers = [[16**rank] * units for rank in range(size)]
            steps = steps_of_all("reduce", algorithm, size, root=root, bytes=units * UNIT, nodes=nodes)
            run_on_buffers(steps, buffers)
            assert buffers[root] == [sum(16**rank for rank in range(size))] * units


@pytest.mark.parametrize("units", [1, 40, 1000])
def test_allreduce_adds_everyone_once_for_everyone(nodes, units):
    size = len(nodes)
    for algorithm in composed("allreduce"):
        buffers = [[16**rank] * units for rank in range(size)]
        run_on_buffers(steps_of_all("allreduce", algorithm, size, bytes=units * UNIT, nodes=nodes), buffers)
        assert buffers == [[sum(16**rank for rank in range(size))] * units] * size


def test_nobody_leaves_a_barrier_before_all_have_come(nodes):
    size = len(nodes)
    for algorithm in composed("barrier"):
        came = [{rank} for rank in range(size)]

        def take(rank, step, data, came=came):
            came[rank] |= data

        steps = steps_of_all("barrier", algorithm, size, nodes=nodes)
        run(steps, lambda rank, step, came=came: set(came[rank]), take)
        assert all(each == set(range(size)) for each in came)


@pytest.mark.parametrize(
    ("operation", "length", "expected"),
    [
        ("bcast", 8, "composition_alpha"),
        ("bcast", 12287, "composition_alpha"),
        ("bcast", 12288, "composition_beta"),
        ("bcast", 524287, "composition_beta"),
        ("bcast", 524288, "scatter_recursive_doubling_allgather"),
        ("reduce", 2048, "composition_beta"),
        ("reduce", 2049, "composition_alpha"),
        ("allreduce", 32768, "composition_alpha"),
        ("allreduce", 32769, "rabenseifner"),
        ("barrier", 0, "composition_alpha"),
        ("allgather", 8, "recursive_doubling"),
    ],
)
def test_mpich_composes_where_there_are_several_nodes_with_several_ranks(operation, length, expected):
    choose = {"size": 16, "bytes": length, "element_bytes": 8}
    by_nodes = [rank // 4 for rank in range(16)]
    flat = collectives.select("mpich", operation, **choose)
    assert collectives.select("mpich", operation, **choose, nodes=by_nodes) == expected
    # AND not where there is one node, or one rank a node, or the call is nonblocking, nor in Open MPI's `tuned`
    for nodes in ([0] * 16, list(range(16))):
        assert collectives.select("mpich", operation, **choose, nodes=nodes) == flat
    beside = collectives.select("mpich", operation, **choose, nodes=by_nodes, nonblocking=True)
    assert "composition" not in beside
    assert "composition" not in collectives.select("openmpi", operation, **choose, nodes=by_nodes)


def test_operations_that_do_not_commute_keep_the_order_of_ranks():
    for operation in ("reduce", "allreduce"):
        name = collectives.select(
            "mpich",
            operation,
            size=8,
            bytes=8,
            element_bytes=8,
            commutative=False,
            nodes=[0, 0, 0, 0, 1, 1, 1, 1],
        )
        assert "composition" not in name
