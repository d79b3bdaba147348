# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms that go by which ranks share a node: what they deliver, how little crosses nodes, when they are taken."""

import random

import pytest
from dataflow import REDUCE, UNIT, run, run_on_buffers, steps_of_all
from rankwise._core import collectives

NODES = {
    "even": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
    "cyclic": [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1],
    "uneven": [0, 0, 0, 1, 2, 2, 2, 2, 2, 3],
    "alone": [0, 1, 2, 3, 4],
    "together": [5, 5, 5, 5, 5, 5],
    "dealt": [0, 1, 2] * 4,
    "random": [random.Random(3).randrange(6) for _ in range(33)],
}


def composed(collective, nodes):
    """What goes by nodes: compositions, Cray MPICH's trees, and `han` where nodes have equally many ranks."""
    even = len({nodes.count(node) for node in nodes}) == 1
    return [
        name
        for operation, name in collectives.algorithms()
        if operation == collective and ("composition" in name or "smp" in name or (even and name == "han"))
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
    for algorithm in composed("bcast", nodes):
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
    for algorithm in composed("reduce", nodes):
        for root in range(size):
            buffers = [[16**rank] * units for rank in range(size)]
            steps = steps_of_all("reduce", algorithm, size, root=root, bytes=units * UNIT, nodes=nodes)
            run_on_buffers(steps, buffers)
            assert buffers[root] == [sum(16**rank for rank in range(size))] * units


@pytest.mark.parametrize("units", [1, 40, 1000])
def test_allreduce_adds_everyone_once_for_everyone(nodes, units):
    size = len(nodes)
    for algorithm in composed("allreduce", nodes):
        buffers = [[16**rank] * units for rank in range(size)]
        run_on_buffers(steps_of_all("allreduce", algorithm, size, bytes=units * UNIT, nodes=nodes), buffers)
        assert buffers == [[sum(16**rank for rank in range(size))] * units] * size


@pytest.mark.parametrize("nodes", [nodes for nodes in NODES.values() if nodes == sorted(nodes)])
def test_gather_and_broadcast_give_everyone_all_blocks(nodes):
    size = len(nodes)
    whole = [rank for rank in range(size) for _ in range(3)]
    buffers = [[value if value == rank else None for value in whole] for rank in range(size)]
    steps = steps_of_all("allgather", "smp_gather_bcast", size, bytes=3 * UNIT, nodes=nodes)
    run_on_buffers(steps, buffers)
    assert buffers == [whole] * size
    # AND each node gives once, and gets once
    assert crossing(steps, nodes) == 2 * (len(set(nodes)) - 1)


def test_gather_and_broadcast_end_where_nodes_have_no_consecutive_ranks(nodes):
    # GIVEN blocks of a node that are not together, of which only lengths are compared
    size = len(nodes)
    steps = steps_of_all("allgather", "smp_gather_bcast", size, bytes=24, nodes=nodes)
    run(steps, lambda rank, step: None, lambda rank, step, data: None)
    assert all(sum(step[3] for step in own if step[0] != 0) >= 24 * (size - 1) for own in steps)


@pytest.mark.parametrize("nodes", [nodes for nodes in NODES.values() if nodes == sorted(nodes)])
def test_scan_adds_the_ranks_up_to_each_once(nodes):
    size = len(nodes)
    for algorithm in composed("scan", nodes):
        # GIVEN each rank's sums: of a scan within its node, of one among the nodes, and what is before its node
        sums = [{"group": 16**rank, "upto": 16**rank, "before": 0} for rank in range(size)]
        for own in sums:
            own["groups"] = own["nodes"] = own["group"]

        def take(rank, step, sent, sums=sums):
            kind, peer, _, length, _ = step
            own, here = sums[rank], nodes[rank] == nodes[peer]
            if kind == REDUCE:
                group, upto = ("group", "upto") if here else ("groups", "nodes")
                own[group] += sent[group]
                own[upto] += sent[group] if peer < rank else 0
            elif not here:
                own["before"] = sent["nodes"]
            elif rank < peer and rank == nodes.index(nodes[rank]):
                own["groups"] = own["nodes"] = sent["upto"]
            elif length == UNIT:  # and not only whether anything is before this node
                own["before"] = sent["before"]

        # WHEN everyone has sent what it had
        steps = steps_of_all("scan", algorithm, size, bytes=UNIT, nodes=nodes)
        run(steps, lambda rank, step, sums=sums: dict(sums[rank]), take)
        # THEN
        assert [own["upto"] + own["before"] for own in sums] == [
            sum(16**before for before in range(rank + 1)) for rank in range(size)
        ]


def test_nobody_leaves_a_barrier_before_all_have_come(nodes):
    size = len(nodes)
    for algorithm in composed("barrier", nodes):
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
        ("scan", 8, "composition_alpha"),
        ("scan", 1 << 20, "composition_alpha"),
        ("exscan", 8, "recursive_doubling"),
    ],
)
def test_mpich_composes_where_there_are_several_nodes_with_several_ranks(operation, length, expected):
    choose = {"size": 16, "bytes": length, "element_bytes": 8}
    by_nodes = [rank // 4 for rank in range(16)]
    flat = collectives.select("mpich", operation, **choose)
    assert collectives.select("mpich", operation, **choose, nodes=by_nodes) == expected
    # AND not where there is one node, or one rank a node, or the call is nonblocking
    for nodes in ([0] * 16, list(range(16))):
        assert collectives.select("mpich", operation, **choose, nodes=nodes) == flat
    beside = collectives.select("mpich", operation, **choose, nodes=by_nodes, nonblocking=True)
    assert "composition" not in beside


@pytest.mark.parametrize(
    ("operation", "length", "expected"),
    [
        ("bcast", 1 << 20, "smp_tree"),
        ("allreduce", 262144, "smp_tree"),
        ("allreduce", 262152, "rabenseifner"),
        ("allgather", 2048, "smp_gather_bcast"),
        ("allgather", 2049, "ring"),
        ("alltoall", 512, "bruck"),
        ("alltoall", 513, "throttled"),
        ("alltoallv", 8, "throttled"),
        ("scan", 8, "composition_alpha"),
        ("gather", 8, "binomial"),
    ],
)
def test_cray_mpich_has_rules_of_its_own_for_some_collectives(operation, length, expected):
    choose = {"size": 16, "bytes": length, "element_bytes": 8, "nodes": [rank // 4 for rank in range(16)]}
    assert collectives.select("cray", operation, **choose) == expected
    # AND nonblocking ones are MPICH's
    beside = {**choose, "nonblocking": True}
    assert collectives.select("cray", operation, **beside) == collectives.select("mpich", operation, **beside)


def test_mpich_scans_by_nodes_only_where_each_has_consecutive_ranks():
    for nodes, expected in (
        ([4, 4, 1, 1, 1, 3], "composition_alpha"),
        ([0, 1, 0, 1], "recursive_doubling"),
        ([0, 0, 1, 0], "recursive_doubling"),
    ):
        for commutative in (True, False):
            choose = {"size": len(nodes), "bytes": 8, "nodes": nodes, "commutative": commutative}
            assert collectives.select("mpich", "scan", **choose) == expected


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


BY_NODES = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather")


@pytest.mark.parametrize("operation", BY_NODES)
def test_open_mpi_5_goes_by_nodes_where_these_are_even(operation):
    def chosen(nodes, **more):
        choose = {"size": len(nodes), "bytes": 0 if operation == "barrier" else 100_000, "element_bytes": 8}
        return collectives.select(more.pop("library", "openmpi"), operation, **choose, nodes=nodes, **more)

    even, uneven, alone = [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 1, 2, 3]
    assert chosen(even) == "han"
    assert (chosen(uneven) == "han") == (operation in ("barrier", "allreduce"))
    # AND not where no node has several ranks, or there is one node, or in 4.1, or in nonblocking calls
    others = [
        chosen(alone),
        chosen([7] * 6),
        chosen(even, library="openmpi-4"),
        chosen(even, nonblocking=True),
    ]
    assert "han" not in others
    if "reduce" in operation:
        assert chosen(even, commutative=False) != "han"


@pytest.mark.parametrize(
    ("operation", "size"), [("bcast", 300_000), ("reduce", 200_008), ("allreduce", 131_080)]
)
def test_pieces_travel_between_nodes_while_others_are_within_them(operation, size):
    # GIVEN a buffer of three to five pieces, the last of them shorter
    steps = collectives.steps(
        operation, "han", rank=0, size=4, root=0, bytes=size, element_bytes=8, nodes=[0, 0, 1, 1]
    )
    rounds = {}
    for _, peer, number, _, _ in steps:
        rounds.setdefault(number, set()).add(peer)
    # THEN in some rounds rank 0 has to do with its neighbour and with the other node
    assert {1, 2} in rounds.values()
