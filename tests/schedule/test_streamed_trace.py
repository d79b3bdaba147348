# SPDX-License-Identifier: BSD-3-Clause
"""A trace that is replayed in windows has the outcome of its whole schedule, to the last bit."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from machine_reference import Link, Place
from replaying import machine_of, model, placed, shared_loads, shared_model, switches
from sharing_reference import Interrupts, Memory, Shared
from traced import random_program, ranks_of

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.network import Torus
from rankwise.schedule.omitted import gather

WINDOWS = [1, 30, 300, 10**6]


def place_of(rng: random.Random, ranks: int) -> tuple[Place, dict]:
    """A random machine, and how its cores are shared."""
    small = [0, 1, 3, 100, 2000]

    def link(network=False):
        numbers = {key: rng.choice(small) for key in ("L", "o", "o_receive", "g", "G", "O", "connect")}
        switches = {"in_call": rng.random() < 0.5, "overlap": rng.random() < 0.5}
        return Link(**numbers, **switches, S=rng.choice([0, 99, 10**6]), network=network)

    interfaces = {key: rng.choice([0, 1, 50]) for key in ("tx_message", "tx_byte", "rx_message", "rx_byte")}
    nodes = [rng.randrange(3) for _ in range(ranks)]
    node = [sorted(set(nodes)).index(each) for each in nodes]
    place = Place(node, link(), link(), link(True), **interfaces)
    processor = [rng.randrange(ranks) for _ in range(ranks)]
    return place, {"processor": processor, "core_sharing": rng.choice(["none", "yield", "spin"])}


def everything(prediction) -> list:
    """All that a replay says."""
    loads = [load[key] for load in (prediction.tx, prediction.rx, prediction.ports) for key in sorted(load)]
    parts = [prediction.parts_s[name] for name in sorted(prediction.parts_s)]
    channels = [prediction.channel_messages, prediction.channel_bytes]
    said = [each.tolist() for each in [prediction.finish_s, *parts, *loads, *channels]]
    return [*said, shared_loads(prediction), prediction.ended_sends]


def outcome(schedule, arguments):
    try:
        return everything(schedule.replay(**arguments))
    except RankwiseError as error:
        return str(error)


def shared_by(rng: random.Random, place: Place, processor: list[int], waiting: str) -> dict:
    """What ranks share on a random machine beyond interfaces and cores: some of it, or all."""
    ranks, nodes = len(place.node), max(place.node) + 1
    memories = [
        Memory(
            [rng.choice([None, node, 0]) for node in place.node],
            rng.choice([1, 2]),
            set(rng.sample(["itself", "inside", "network"], 2)),
            1,
            rng.choice([None, 1]),
        )
        for _ in range(rng.randrange(3))
    ]
    interrupts = None
    if rng.random() < 0.5:
        where = [rng.choice([None, rng.randrange(ranks)]) for _ in range(nodes)]
        interrupts = Interrupts(where, rng.choice([0, 300]), rng.choice([0, 1]), {0}, Fraction(3, 2))
    if rng.random() < 0.6:
        place.network = replace(
            place.network,
            in_call=True,
            overlap=True,
            socket_buffer=rng.choice([1, 500, 10**5]),
            send_buffer=rng.choice([None, 0, 200]),
            unexpected_buffer=rng.choice([None, 0, 900]),
        )
    bound = [Fraction(rng.randrange(3), 2) for _ in range(ranks)]
    shared = Shared(
        processor, [rng.randint(1, 2) for _ in range(ranks)], waiting, bound, memories, interrupts
    )
    network = switches(Torus(dimensions=[2, 2]), hop=9, port_byte=1) if rng.random() < 0.5 else None
    return shared_model(place, shared, network=network)


@pytest.mark.one_of(4)
@pytest.mark.parametrize("seed", range(80))
def test_windows_of_any_size_give_the_outcome_of_the_whole_with_all_that_ranks_share(records_of, seed):
    # GIVEN a random program on a machine with memories, interrupt cores, switches and buffers
    rng = random.Random(seed)
    ranks = rng.randint(2, 6)
    run = _core.schedule.TracedRun.read(
        records_of(random_program(seed, ranks, actions=rng.choice([20, 100]))), "mpich"
    )
    place, sharing = place_of(rng, ranks)
    arguments = shared_by(rng, place, sharing["processor"], sharing["core_sharing"])
    expected = outcome(run.schedule()[0], arguments)
    assert isinstance(expected, list)
    for window in WINDOWS:
        assert outcome(run.in_windows(window), arguments) == expected


@pytest.mark.one_of(4)
@pytest.mark.parametrize("seed", range(60))
def test_windows_of_any_size_give_the_outcome_of_the_whole(records_of, seed):
    # GIVEN a random program with all kinds of messages, on a random machine
    rng = random.Random(seed)
    ranks = rng.randint(2, 6)
    records = records_of(random_program(seed, ranks, actions=rng.choice([20, 150])))
    run = _core.schedule.TracedRun.read(records, "mpich")
    whole, omitted = run.schedule()
    place, sharing = place_of(rng, ranks)
    arguments = model(place, **sharing)
    expected = outcome(whole, arguments)
    assert isinstance(expected, list)
    for window in WINDOWS:
        # WHEN it is replayed in windows THEN all that is said is the same
        streamed = run.in_windows(window)
        assert outcome(streamed, arguments) == expected
        assert streamed.operations == whole.operations
        assert (streamed.messages, streamed.bytes) == (whole.messages, whole.bytes)
        assert gather(streamed.omitted) == gather(omitted)


def test_a_rank_far_ahead_of_its_receiver(records_of):
    # GIVEN a rank that sends 500 messages at once, which the other takes one a millisecond, the last first
    ahead, behind = ranks_of(2)
    for k in range(500):
        ahead.isend(1, 8, tag=k % 2)
    ahead.waitall(*range(1, 501))
    for k in reversed(range(500)):
        behind.recv(0, 8, tag=k % 2, gap=10**6)
    run = _core.schedule.TracedRun.read(records_of([ahead, behind]), "mpich")
    network = Link(L=1000, o=100, G=1, network=True)
    arguments = model(Place([0, 1], Link(), Link(), network, tx_byte=3, rx_byte=3), [0, 1])
    # WHEN only a few operations are read at a time THEN each message waits for its receive
    assert outcome(run.in_windows(8), arguments) == outcome(run.schedule()[0], arguments)


def test_sends_that_are_ended_are_the_same(records_of):
    # GIVEN ranks in a ring that all send first, after a long time together, and go on with the ring
    ranks = ranks_of(4)
    for _ in range(50):
        for rank in ranks:
            rank.coll("MPI_Barrier", 0, gap=1000)
    for _ in range(20):
        for rank in ranks:
            rank.send((rank.world_rank + 1) % 4, 100, tag=3, gap=10 * rank.world_rank)
            rank.recv((rank.world_rank - 1) % 4, 100, tag=3)
    run = _core.schedule.TracedRun.read(records_of(ranks), "mpich")
    link = Link(S=0, L=100, o=10, G=1, network=True)
    arguments = model(Place([0, 1, 2, 3], Link(), Link(), link), [0, 1, 2, 3])
    whole = run.schedule()[0]
    assert whole.replay(**arguments).ended_sends >= 80
    for window in WINDOWS:
        streamed = run.in_windows(window)
        assert outcome(streamed, arguments) == outcome(whole, arguments)


def test_many_placements_are_replayed_in_windows_each(records_of):
    run = _core.schedule.TracedRun.read(records_of(random_program(5, 4, 100)), "mpich")
    machine = machine_of(Place([0, 1, 2, 3], Link(), Link(L=50), Link(L=999, network=True)))
    placements = [placed(node, [0, 1, 2, 3]) for node in ([0] * 4, [0, 0, 1, 1])]
    expected = run.schedule()[0].makespans_s(machine, placements).tolist()
    assert run.in_windows(20).makespans_s(machine, placements).tolist() == expected
    assert run.in_windows(20).estimates_s(machine, placements).tolist() == expected
