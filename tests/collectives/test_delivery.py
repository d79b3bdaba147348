# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm delivers: run with data, each rank ends with what MPI says it must have."""

import pytest
from dataflow import REDUCE, UNIT, run, run_on_buffers, steps_of_all
from rankwise._core import collectives

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 23, 31, 32, 33]
POWERS = [size for size in SIZES if size & (size - 1) == 0]
EVEN = [size for size in SIZES if size % 2 == 0]
ODD_SIZES = [size for size in SIZES if size not in POWERS]
ONLY = {"neighbor_exchange": EVEN}
# What this model of buffers cannot say: pieces that are not together, and received data handed on before it is added.
BYTES_ONLY = {
    ("reduce_scatter_block", "butterfly"): POWERS,
    ("reduce_scatter_block", "recursive_doubling"): ODD_SIZES,
}


def names(collective):
    return [name for operation, name in collectives.algorithms() if operation == collective]


def cases(collective, restricted=False):
    return [
        pytest.param(name, size, id=f"{name}-{size}")
        for name in names(collective)
        for size in (ONLY.get(name, SIZES) if restricted else SIZES)
    ]


def roots(size):
    return sorted({0, size // 2, size - 1})


def everyone(size):
    return sum(16**rank for rank in range(size))


@pytest.mark.parametrize(("algorithm", "size"), cases("bcast", restricted=True))
def test_broadcast_gives_everyone_the_whole_buffer(algorithm, size):
    for root in roots(size):
        for units in (1, size - 1 or 1, 3 * size + 2):
            # Pieces of a scattered buffer are whole units here, if the buffer is rounded up to one a rank.
            length = -(-units // size) * size if algorithm.startswith("scatter") else units
            buffers = [list(range(length)) if rank == root else [None] * length for rank in range(size)]
            steps = steps_of_all("bcast", algorithm, size, root=root, bytes=length * UNIT)
            run_on_buffers(steps, buffers)
            assert buffers == [list(range(length))] * size


@pytest.mark.parametrize("algorithm", ["scatter_recursive_doubling_allgather", "scatter_ring_allgather"])
@pytest.mark.parametrize("size", [2, 3, 4, 8, 13, 16, 17, 31, 32])
def test_scattered_broadcast_sends_matching_bytes_for_any_size_of_buffer(algorithm, size):
    for length in (1, 5, 97, 12289, 100003):
        steps = steps_of_all("bcast", algorithm, size, root=size - 1, bytes=length)
        run(steps, lambda rank, step: None, lambda rank, step, data: None)


@pytest.mark.parametrize(("algorithm", "size"), cases("reduce"))
def test_reduce_adds_everyone_once_at_the_root(algorithm, size):
    for root in roots(size):
        for units in (1, size, 2 * size + 3):
            buffers = [[16**rank] * units for rank in range(size)]
            run_on_buffers(steps_of_all("reduce", algorithm, size, root=root, bytes=units * UNIT), buffers)
            assert buffers[root] == [everyone(size)] * units


@pytest.mark.parametrize("algorithm", ["ordered_binomial", "in_order_binary"])
@pytest.mark.parametrize("size", SIZES)
def test_operators_that_do_not_commute_are_given_neighbouring_operands_in_order(algorithm, size):
    for root in roots(size):
        # GIVEN the ranks [first, end) whose operands each rank has combined
        held = [(rank, rank + 1) for rank in range(size)]

        def take(rank, step, data, held=held):
            if step[0] == REDUCE:
                (first, end), (other_first, other_end) = sorted([held[rank], data])
                assert end == other_first
                data = (first, other_end)
            held[rank] = data

        steps = steps_of_all("reduce", algorithm, size, root=root, bytes=UNIT)
        run(steps, lambda rank, step, held=held: held[rank], take)
        # THEN only neighbours were ever combined, and the root has everybody's
        assert held[root] == (0, size)


@pytest.mark.parametrize(("algorithm", "size"), cases("allreduce"))
def test_allreduce_adds_everyone_once_for_everyone(algorithm, size):
    for units in (1, size, 2 * size + 3):
        buffers = [[16**rank] * units for rank in range(size)]
        run_on_buffers(steps_of_all("allreduce", algorithm, size, bytes=units * UNIT), buffers)
        assert buffers == [[everyone(size)] * units] * size


@pytest.mark.parametrize("operation", ["reduce_scatter", "reduce_scatter_block"])
@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter_leaves_each_rank_its_block_reduced(operation, size):
    for algorithm in names(operation):
        steps = steps_of_all(operation, algorithm, size, bytes=2 * UNIT)
        if size in BYTES_ONLY.get((operation, algorithm), []):
            run(steps, lambda rank, step: None, lambda rank, step, data: None)
            continue
        buffers = [[16**rank] * (2 * size) for rank in range(size)]
        run_on_buffers(steps, buffers)
        for rank, buffer in enumerate(buffers):
            assert buffer[2 * rank : 2 * rank + 2] == [everyone(size)] * 2, algorithm


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13])
def test_reduce_scatter_follows_unequal_blocks(size):
    blocks = [rank % 3 for rank in range(size)]
    sizes = [block * UNIT for block in blocks]
    for algorithm in names("reduce_scatter"):
        buffers = [[16**rank] * sum(blocks) for rank in range(size)]
        steps = steps_of_all(
            "reduce_scatter", algorithm, size, sizes=sizes, per_rank=lambda r: {"bytes": sizes[r]}
        )
        run_on_buffers(steps, buffers)
        for rank in range(size):
            start = sum(blocks[:rank])
            assert buffers[rank][start : start + blocks[rank]] == [everyone(size)] * blocks[rank]


@pytest.mark.parametrize("operation", ["allgather", "allgatherv"])
@pytest.mark.parametrize("size", SIZES)
def test_allgather_gives_everyone_all_blocks(operation, size):
    for algorithm in names(operation):
        # Blocks of `han` lie in the order of nodes, which this model of buffers cannot say.
        if size in ONLY.get(algorithm, SIZES) and algorithm != "han":
            whole = [rank for rank in range(size) for _ in range(3)]
            buffers = [[value if value == rank else None for value in whole] for rank in range(size)]
            run_on_buffers(steps_of_all(operation, algorithm, size, bytes=3 * UNIT), buffers)
            assert buffers == [whole] * size, algorithm


@pytest.mark.parametrize("size", [2, 4, 6, 8, 16])
def test_allgatherv_follows_unequal_blocks(size):
    blocks = [(rank * 7) % 4 for rank in range(size)]
    for algorithm in names("allgatherv"):
        if size in ONLY.get(algorithm, SIZES):
            whole = [rank for rank in range(size) for _ in range(blocks[rank])]
            buffers = [[value if value == rank else None for value in whole] for rank in range(size)]
            steps = steps_of_all("allgatherv", algorithm, size, sizes=[block * UNIT for block in blocks])
            run_on_buffers(steps, buffers)
            assert buffers == [whole] * size, algorithm


@pytest.mark.parametrize("algorithm", ["binomial", "linear"])
@pytest.mark.parametrize("size", SIZES)
def test_scatter_and_gather_move_each_block_where_it_belongs(size, algorithm):
    for root in roots(size):
        # GIVEN blocks in the order root, root + 1, ...
        whole = [(root + i) % size for i in range(size) for _ in range(2)]
        # WHEN scattered, THEN everyone has its own
        buffers = [list(whole) if rank == root else [None] * len(whole) for rank in range(size)]
        run_on_buffers(steps_of_all("scatter", algorithm, size, root=root, bytes=2 * UNIT), buffers)
        for rank, buffer in enumerate(buffers):
            assert [value for value in buffer if value == rank] == [rank, rank]
        # WHEN gathered, THEN the root has all
        buffers = [[value if value == rank else None for value in whole] for rank in range(size)]
        run_on_buffers(steps_of_all("gather", algorithm, size, root=root, bytes=2 * UNIT), buffers)
        assert buffers[root] == whole


@pytest.mark.parametrize("operation", ["scan", "exscan"])
@pytest.mark.parametrize("size", SIZES)
def test_scan_adds_the_ranks_up_to_each_once(operation, size):
    for algorithm in names(operation):
        if "composition" in algorithm:
            continue  # needs nodes: test_compositions.py
        partial = [16**rank for rank in range(size)]
        result = list(partial)

        def take(rank, step, value, partial=partial, result=result):
            assert step[0] == REDUCE
            partial[rank] += value
            result[rank] += value if step[1] < rank else 0

        run(steps_of_all(operation, algorithm, size, bytes=UNIT), lambda rank, step, p=partial: p[rank], take)
        assert result == [everyone(rank + 1) for rank in range(size)], algorithm


@pytest.mark.parametrize("size", SIZES)
def test_nobody_leaves_a_barrier_before_everybody_has_entered(size):
    for algorithm in names("barrier"):
        known = [{rank} for rank in range(size)]
        run(
            steps_of_all("barrier", algorithm, size),
            lambda rank, step, known=known: frozenset(known[rank]),
            lambda rank, step, data, known=known: known[rank].update(data),
        )
        assert known == [set(range(size))] * size, algorithm


@pytest.mark.parametrize("size", SIZES)
def test_alltoall_exchanges_one_block_between_each_pair(size):
    for algorithm in ("pairwise", "linear", "throttled"):
        got = [[] for _ in range(size)]
        run(
            steps_of_all("alltoall", algorithm, size, bytes=40),
            lambda rank, step: (rank, step[3]),
            lambda rank, step, data, got=got: got[rank].append(data),
        )
        assert [sorted(row) for row in got] == [[(p, 40) for p in range(size) if p != r] for r in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_bruck_alltoall_moves_the_blocks_whose_distance_has_the_bit_of_the_round(size):
    steps = steps_of_all("alltoall", "bruck", size, bytes=40)
    run(steps, lambda rank, step: None, lambda rank, step, data: None)
    weights = [1 << bit for bit in range((size - 1).bit_length())]
    expected = [(w, 40 * sum(1 for distance in range(size) if distance & w)) for w in weights]
    for rank, mine in enumerate(steps):
        assert [((peer - rank) % size, sent) for kind, peer, _, sent, _ in mine if kind == 0] == expected


@pytest.mark.parametrize("algorithm", ["pairwise", "linear", "throttled"])
@pytest.mark.parametrize("size", [2, 3, 8, 13])
def test_alltoallv_sends_what_it_was_told_and_skips_empty_blocks(algorithm, size):
    matrix = [[(3 * source + destination) % 4 * 10 for destination in range(size)] for source in range(size)]
    steps = steps_of_all(
        "alltoallv",
        algorithm,
        size,
        per_rank=lambda r: {
            "sizes": matrix[r],
            "receive_sizes": [row[r] for row in matrix],
            "bytes": sum(matrix[r]),
        },
    )
    run(steps, lambda rank, step: None, lambda rank, step, data: None)
    for rank, mine in enumerate(steps):
        sent = {peer: length for kind, peer, _, length, _ in mine if kind == 0}
        assert sent == {peer: length for peer, length in enumerate(matrix[rank]) if length and peer != rank}


@pytest.mark.parametrize("size", SIZES)
def test_linear_operations_talk_to_the_root_only(size):
    for operation, algorithm in (("gather", "linear"), ("gather", "linear_sync"), ("scatter", "linear")):
        for root in roots(size):
            steps = steps_of_all(operation, algorithm, size, root=root, bytes=40)
            run(steps, lambda rank, step: None, lambda rank, step, data: None)
            data = [(r, s[1]) for r, mine in enumerate(steps) for s in mine if s[0] == 0 and s[3] == 40]
            others = [rank for rank in range(size) if rank != root]
            assert sorted(data) == sorted((r, root) if operation == "gather" else (root, r) for r in others)


def test_an_operation_without_data_or_company_sends_nothing():
    for operation, algorithm in collectives.algorithms():
        assert collectives.steps(operation, algorithm, rank=0, size=1, bytes=100) == []
        if operation != "barrier":
            assert collectives.steps(operation, algorithm, rank=0, size=8, bytes=0) == []
