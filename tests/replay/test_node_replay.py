# SPDX-License-Identifier: BSD-3-Clause
"""Queues by node, one queue for all, and threads that share the nodes give the same bits, and the references' times."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_reference import Link, MachineReference, Place
from reference import Op, Stuck
from replaying import model, picoseconds, schedule_of, shared_loads, shared_model
from schedules import examples, schedules
from sharing_reference import Interrupts, Memory, Shared, SharingReference
from test_against_reference import links, small

from rankwise.errors import RankwiseError

NODES = 40
SLOW_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3)]


def everything(prediction) -> dict:
    """All that a prediction says, as lists."""
    times = ("finish_s", "channel_messages", "channel_bytes")
    said = {name: list(getattr(prediction, name)) for name in times} | {"shared": shared_loads(prediction)}
    said |= {name: list(part) for name, part in prediction.parts_s.items()}
    for name in ("tx", "rx"):
        said |= {f"{name} {key}": list(value) for key, value in getattr(prediction, name).items()}
    return said


def assert_all_agree(ranks: list[list[Op]], arguments: dict, queues: int) -> list[int] | None:
    """Replays in one queue, in `queues`, and with threads; the finish times if there are any."""
    schedule = schedule_of(ranks)
    try:
        in_one_order = schedule.replay(**arguments, in_one_order=True)
    except RankwiseError as deadlock:
        for threads in (1, 2, 3):
            with pytest.raises(RankwiseError) as caught:
                schedule.replay(**arguments, threads=threads)
            assert str(caught.value) == str(deadlock)
        return None
    assert in_one_order.queues == 1
    for threads in (1, 2, 3):
        by_node = schedule.replay(**arguments, threads=threads)
        assert by_node.queues == queues
        assert everything(by_node) == everything(in_one_order)
    assert everything(schedule.explain(**arguments).prediction) == everything(in_one_order)
    return picoseconds(in_one_order.finish_s)


def expected(reference) -> list[int] | None:
    try:
        return reference.run()
    except Stuck:
        return None


@examples(200)
@given(schedules(), st.data())
def test_random_schedules_where_all_messages_take_time(ranks, data):
    # GIVEN ranks on nodes between which every message takes some time
    draw = data.draw
    latency = st.sampled_from([3, 30, 3000])
    itself, inside, network = (
        replace(draw(links(network=far)), L=draw(latency), G=draw(st.sampled_from([1, 2, 5])))
        for far in (False, False, True)
    )
    numbers = [draw(st.integers(0, 2)) for _ in ranks]
    node = [sorted(set(numbers)).index(each) for each in numbers]
    interfaces = [draw(small) for _ in range(4)]
    place = Place(node, itself, inside, network, *interfaces)
    has_messages = any(op.kind == "send" for own in ranks for op in own)
    queues = max(node) + 1 if has_messages else 1
    # THEN each node has its queue, and all ways give the reference's times
    times = assert_all_agree(ranks, model(place, list(range(len(ranks)))), queues)
    reference = expected(MachineReference(ranks, place))
    assert times == (None if reference is None else [1000 * each for each in reference])


def shuffled_exchange(ranks: int, steps: int, sizes: list[int], seed: int) -> list[list[Op]]:
    """Each rank exchanges messages with five others, of sizes that differ, and computes for a time of its own."""
    rng = random.Random(seed)
    shifts = rng.sample(range(1, ranks), 5)
    schedule: list[list[Op]] = [[] for _ in range(ranks)]
    for _ in range(steps):
        size = [rng.choice(sizes) for _ in shifts]
        for r, own in enumerate(schedule):
            before = [len(own) - 1] if own else []
            first = len(own)
            own += [
                Op("recv", s, (r - d) % ranks, requires=before) for d, s in zip(shifts, size, strict=True)
            ]
            own += [
                Op("send", s, (r + d) % ranks, requires=before) for d, s in zip(shifts, size, strict=True)
            ]
            own.append(Op("calc", rng.randrange(20_000), requires=list(range(first, len(own)))))
    return schedule


def many_nodes(seed: int, overlap: bool, ranks: int = 160, nodes: int = NODES) -> Place:
    """Ranks in no order on nodes whose interfaces are narrow."""
    node = [k % nodes for k in range(ranks)]
    random.Random(seed).shuffle(node)
    inside = Link(L=300, o=200, o_receive=250, G=1, O=0, S=8192, in_call=seed % 2 == 0, overlap=overlap)
    network = replace(inside, L=1500, g=50, network=True)
    return Place(node, inside, inside, network, tx_message=100, tx_byte=1, rx_message=70, rx_byte=1)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), *SLOW_SEEDS])
@pytest.mark.parametrize(
    "sizes", [[4000], [1, 100, 9000], [9000, 20_000]], ids=["one", "several", "rendezvous"]
)
@pytest.mark.parametrize("overlap", [True, False])
def test_many_ranks_on_many_nodes_out_of_step(seed, sizes, overlap):
    ranks, place = shuffled_exchange(160, 12, sizes, seed), many_nodes(seed, overlap)
    times = assert_all_agree(ranks, model(place, list(range(160))), NODES)
    assert times == [1000 * each for each in MachineReference(ranks, place).run()]


def shared_within_nodes(seed: int, place: Place, waiting: str, interrupts: bool) -> Shared:
    """Two ranks a core, a memory a node, and an interrupt core on the first of each node's cores."""
    rng, seen = random.Random(seed), dict.fromkeys(place.node, 0)
    processor = []
    for node in place.node:
        processor.append(2 * node + seen[node] // 2)
        seen[node] += 1
    nodes = max(place.node) + 1
    return Shared(
        processor,
        [1] * 2 * nodes,
        waiting,
        [Fraction(rng.randint(0, 4), 4) for _ in place.node],
        [Memory(list(place.node), 2, {"inside", "network"}, 1, 1)],
        Interrupts([2 * node for node in range(nodes)], 100, 1, {0, 3}, Fraction(3, 2))
        if interrupts
        else None,
    )


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("nodes", "seed"), [(3, 0), *(pytest.param(6, seed, marks=pytest.mark.slow) for seed in range(4))]
)
@pytest.mark.parametrize("waiting", ["none", "yield", "spin"])
@pytest.mark.parametrize("interrupts", [False, True])
def test_nodes_that_share_cores_and_memories_within(nodes, seed, waiting, interrupts):
    # GIVEN nodes with much to share, but nothing with others
    ranks = shuffled_exchange(4 * nodes, 4, [1, 3000, 9000], seed)
    place = many_nodes(seed, False, 4 * nodes, nodes)
    shared = shared_within_nodes(seed, place, waiting, interrupts)
    # THEN each has its queue, and finish times are those of fractions but for rounding
    times = assert_all_agree(ranks, shared_model(place, shared), nodes)
    reference = SharingReference(ranks, place, shared).run()
    assert max(abs(a - b) for a, b in zip(times, reference, strict=True)) <= 100


def test_nodes_that_share_a_memory_have_one_queue():
    # GIVEN emulated nodes, two on one host and four on another, whose memories they share
    ranks, place = shuffled_exchange(24, 4, [1, 3000], 0), many_nodes(0, False, 24, 6)
    memory = Memory([min(1, node // 2) for node in place.node], 2, {"inside", "network"}, 1, 1)
    shared = Shared(list(range(24)), [1] * 24, "none", [Fraction(1, 2)] * 24, [memory])
    assert_all_agree(ranks, shared_model(place, shared), 2)


def test_what_spans_nodes_has_one_queue():
    ranks, place = shuffled_exchange(24, 4, [1, 3000], 0), many_nodes(0, True, 24, 6)
    buffered = replace(place, network=replace(place.network, in_call=True, socket_buffer=1024))
    assert_all_agree(ranks, model(buffered, list(range(24))), 1)
    without_latency = replace(place, network=replace(place.network, L=0))
    assert_all_agree(ranks, model(without_latency, list(range(24))), 1)
