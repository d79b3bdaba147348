# SPDX-License-Identifier: BSD-3-Clause
"""The replay and the slow reference agree where ranks share memory, caches, cores and the interrupt core.

Ends of slowed jobs are rounded to picoseconds in both, from fractions there and from doubles here, so that times may
differ by a picosecond an operation.
"""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from machine_reference import Link, MachineReference, Place
from reference import Op, Stuck
from replaying import on_machine, on_shared, picoseconds, schedule_of, shared_model
from sharing_reference import Interrupts, Memory, Shared, SharingReference

from rankwise.errors import RankwiseError


def schedule(rng: random.Random, ranks: int) -> list[list[Op]]:
    """Messages and computations of odd sizes, so that nothing but what must happens at one time."""
    ops: list[list[Op]] = [[] for _ in range(ranks)]
    for _ in range(rng.randint(4, 24)):
        if rng.random() < 0.6:
            source, target, tag = rng.randrange(ranks), rng.randrange(ranks), rng.randrange(2)
            ops[source].append(Op("send", rng.randint(0, 4000), target, tag))
            ops[target].append(Op("recv", 2**20, source, tag))
        else:
            ops[rng.randrange(ranks)].append(Op("calc", rng.randint(0, 20000)))
    for own in ops:
        for i, op in enumerate(own[1:], 1):
            op.requires = [j for j in rng.sample(range(i), min(i, 2)) if rng.random() < 0.5]
    return ops


def link(rng: random.Random, network: bool = False) -> Link:
    return Link(
        L=3 * rng.randint(0, 1000),
        o=rng.randint(0, 300),
        o_receive=rng.randint(0, 300),
        g=rng.randint(0, 50),
        G=rng.randint(0, 3),
        O=rng.randint(0, 3),
        S=rng.choice([0, 1000, 2**40]),
        in_call=rng.random() < 0.5,
        overlap=rng.random() < 0.3,
        network=network,
    )


def machine(rng: random.Random, ranks: int) -> Place:
    return Place(
        node=[rng.randrange(3) for _ in range(ranks)],
        itself=link(rng),
        inside=link(rng),
        network=link(rng, network=True),
        tx_message=rng.randint(0, 50),
        tx_byte=rng.randint(0, 2),
        rx_message=rng.randint(0, 50),
        rx_byte=rng.randint(0, 2),
    )


def memory(rng: random.Random, ranks: int) -> Memory:
    slowdown, per_core = None, rng.choice([None, 1, 2])
    if per_core is not None and rng.random() < 0.5:
        slowdown = [Fraction(1), Fraction(9, 8), Fraction(7, 4)]
    return Memory(
        domain=[rng.choice([0, 0, 1, None]) for _ in range(ranks)],
        capacity=rng.choice([1, 2, 3]),
        copies=set(rng.sample(["itself", "inside", "network"], rng.randint(0, 3))),
        passes=rng.choice([1, 1, 2]),
        per_core=per_core,
        slowdown=slowdown,
    )


def shared(rng: random.Random, place: Place, what: str) -> Shared:
    ranks = len(place.node)
    own = what not in ("cores", "all")
    processor = list(range(ranks)) if own else [rng.randrange(2) * 3 + place.node[r] for r in range(ranks)]
    out = Shared(processor, [rng.choice([1, 1, 2]) for _ in range(max(processor) + 1)])
    if not own:
        out.waiting = rng.choice(["yield", "spin"])
    if what in ("memory", "all"):
        out.memory_bound = [Fraction(rng.randint(0, 8), 8) for _ in range(ranks)]
        out.memories = [memory(rng, ranks) for _ in range(rng.randint(1, 2))]
    if what in ("interrupts", "all"):
        first = [
            next((processor[r] for r in range(ranks) if place.node[r] == node), None) for node in range(3)
        ]
        out.interrupts = Interrupts(
            processor=[rng.choice([each, None]) for each in first],
            per_message=rng.randint(0, 300),
            per_byte=rng.randint(0, 2),
            far={r for r in range(ranks) if rng.random() < 0.3},
            factor=Fraction(3, 2),
        )
    return out


BYTES_ON_CORE = Link(L=10, G=1, O=1, network=True)
ONE_CORE_FOR_TWO = Shared([0, 0, 1], [1, 1], waiting="yield")
KNOWN = {
    # The core is free until a byte comes after 10, then computes until 30; the last byte is there after 34: of 24
    # to be done, the core had 4 to spare.
    "spare time before the first byte comes is not used": (
        [
            [Op("recv", 100, 2)],
            [Op("recv", 100, 2), Op("calc", 20, requires=[0])],
            [Op("send", 1, 1), Op("send", 25, 0)],
        ],
        Place([0, 0, 1], Link(), Link(), BYTES_ON_CORE),
        ONE_CORE_FOR_TWO,
        [54, 30, 24],
    ),
    # Free until 3; interrupts until 53, a receive until 56, the last byte after 79: 23 to spare of 24.
    "nor on the interrupt core": (
        [[Op("recv", 100, 2), Op("send", 0, 1)], [Op("recv", 100, 0)], [Op("send", 25, 0)]],
        Place([0, 0, 1], Link(), Link(L=3, o_receive=3), replace(BYTES_ON_CORE, L=3, G=0), rx_message=76),
        replace(ONE_CORE_FOR_TWO, interrupts=Interrupts([0, None], per_byte=2)),
        [80, 56, 24],
    ),
    # Rank 1 computes from 20 to 50 while 10 bytes come, which take it until 60. Rank 0 has 59 to do that come from 10
    # to 69, in which the core had 19 to spare.
    "a rank that found no spare time takes none": (
        [
            [Op("recv", 100, 2)],
            [Op("recv", 100, 3), Op("calc", 30, requires=[0]), Op("recv", 100, 3)],
            [Op("send", 60, 0)],
            [
                Op("calc", 10),
                Op("send", 1, 1, requires=[0]),
                Op("calc", 9, requires=[1]),
                Op("send", 11, 1, requires=[2]),
            ],
        ],
        Place([0, 0, 1, 2], Link(), Link(), BYTES_ON_CORE),
        replace(ONE_CORE_FOR_TWO, processor=[0, 0, 1, 2], cores=[1, 1, 1]),
        [109, 60, 59, 29],
    ),
    # The sender shares its core with a computation: 20 of copying take 40, and the last byte is there 3 later.
    "a copy on a shared core holds up the last byte": (
        [[Op("send", 11, 2)], [Op("calc", 100)], [Op("recv", 100, 0)]],
        Place([0, 0, 0], Link(), Link(L=3, G=2, overlap=False), Link(network=True)),
        ONE_CORE_FOR_TWO,
        [40, 120, 43],
    ),
    # The interrupt is over after 2, the bytes come from 3 to 5.
    "interrupts before the first byte comes hold up nothing": (
        [[Op("send", 1, 2)], [Op("recv", 100, 2)], [Op("recv", 100, 0), Op("send", 2, 1)]],
        Place([1, 0, 0], Link(), Link(L=3, G=2, overlap=False), Link(network=True)),
        Shared([0, 1, 2], [1, 1, 1], interrupts=Interrupts([1, None], per_byte=2)),
        [0, 5, 2],
    ),
}


@pytest.mark.parametrize(("ranks", "place", "parts", "finish"), KNOWN.values(), ids=KNOWN)
def test_what_cores_do_with_bytes_takes_what_was_worked_out_by_hand(ranks, place, parts, finish):
    expected = [time * 1000 for time in finish]
    assert SharingReference(ranks, place, parts).run() == expected
    assert picoseconds(on_shared(ranks, place, parts).finish_s) == expected


@pytest.mark.one_of(3)
@pytest.mark.parametrize("what", ["cores", "memory", "interrupts", "all"])
@pytest.mark.parametrize("seed", range(120))
def test_finish_times_are_those_of_the_reference(what, seed):
    # GIVEN a random schedule on a random machine of which something is shared
    rng = random.Random(f"{what} {seed}")
    ranks = schedule(rng, rng.randint(2, 5))
    place = machine(rng, len(ranks))
    parts = shared(rng, place, what)
    # WHEN both replay it
    try:
        expected = SharingReference(ranks, place, parts).run()
    except Stuck:
        with pytest.raises(RankwiseError):
            on_shared(ranks, place, parts)
        return
    times = picoseconds(on_shared(ranks, place, parts).finish_s)
    # THEN every rank finishes at the same time
    assert times == pytest.approx(expected, abs=2 * sum(map(len, ranks)), rel=0)


@pytest.mark.parametrize("seed", range(60))
def test_resources_without_limits_change_nothing(seed):
    # GIVEN a machine whose memory is endless and whose interrupts cost nothing
    rng = random.Random(f"free {seed}")
    ranks = schedule(rng, rng.randint(2, 5))
    place = machine(rng, len(ranks))
    own = list(range(len(ranks)))
    free = Shared(own, [1] * len(own), memory_bound=[Fraction(1, 2)] * len(own))
    free.memories = [Memory(domain=[0] * len(own), capacity=10**9, per_core=1)]
    free.interrupts = Interrupts(processor=[0, None, None])
    # WHEN the schedule is replayed with and without them
    try:
        expected = [time * 1000 for time in MachineReference(ranks, place).run()]
    except Stuck:
        return
    # THEN all times are the same to the last picosecond
    assert picoseconds(on_machine(ranks, place).finish_s) == expected
    assert picoseconds(on_shared(ranks, place, free).finish_s) == expected


@pytest.mark.parametrize("what", ["cores", "memory", "interrupts", "all"])
@pytest.mark.parametrize("seed", range(20))
def test_the_critical_path_has_no_gaps(what, seed):
    # GIVEN a random schedule on a random machine of which something is shared
    rng = random.Random(f"path {what} {seed}")
    ranks = schedule(rng, rng.randint(2, 5))
    place = machine(rng, len(ranks))
    arguments = shared_model(place, shared(rng, place, what))
    try:
        replay = schedule_of(ranks).explain(**arguments)
    except RankwiseError:
        return
    # THEN the stretches of the path follow one another from the beginning to the end
    path = replay.critical_path
    times = [0.0, *path["to_s"].tolist()]
    assert path["from_s"].tolist() == times[:-1]
    assert times[-1] == pytest.approx(replay.prediction.makespan_s)
    # THEN what ranks wait for adds up to their waiting
    waiting = sum(replay.waiting.values())
    assert waiting == pytest.approx(np.maximum(replay.prediction.parts_s["waiting"], 0), abs=1e-11)
