# SPDX-License-Identifier: BSD-3-Clause
"""A replay goes node after node where messages between nodes take time; one that records goes in the order of time."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_reference import Link, Place
from reference import Op
from replaying import model, schedule_of
from schedules import schedules
from test_against_reference import links, small

from rankwise.errors import RankwiseError


def everything(prediction) -> dict:
    """All that a prediction says, as lists."""
    times = ("finish_s", "computation_s", "overhead_s", "waiting_s", "channel_messages", "channel_bytes")
    said = {name: list(getattr(prediction, name)) for name in times}
    for name in ("tx", "rx"):
        said |= {f"{name} {key}": list(value) for key, value in getattr(prediction, name).items()}
    return said


def outcome(replay) -> dict | str:
    try:
        return everything(replay())
    except RankwiseError as error:
        return str(error)


def assert_both_agree(ranks: list[list[Op]], place: Place) -> None:
    schedule, arguments = schedule_of(ranks), model(place, list(range(len(ranks))))
    in_order = outcome(lambda: schedule.explain(**arguments).prediction)
    assert outcome(lambda: schedule.replay(**arguments)) == in_order


@settings(max_examples=200, deadline=None)
@given(schedules(), st.data())
def test_random_schedules_where_all_messages_take_time(ranks, data):
    draw = data.draw
    latency = st.sampled_from([3, 30, 3000])
    itself, inside, network = (
        replace(draw(links(network=far)), L=draw(latency), G=draw(st.sampled_from([1, 2, 5])))
        for far in (False, False, True)
    )
    node = [draw(st.integers(0, 2)) for _ in ranks]
    interfaces = [draw(small) for _ in range(4)]
    assert_both_agree(ranks, Place(node, itself, inside, network, *interfaces))


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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "sizes", [[4000], [1, 100, 9000], [9000, 20_000]], ids=["one", "several", "rendezvous"]
)
@pytest.mark.parametrize("overlap", [True, False])
def test_many_ranks_on_many_nodes_out_of_step(seed, sizes, overlap):
    # GIVEN ranks in no order on nodes whose interfaces are narrow
    node = [k % 40 for k in range(160)]
    random.Random(seed).shuffle(node)
    inside = Link(L=300, o=200, o_receive=250, G=1, O=0, S=8192, in_call=seed % 2 == 0, overlap=overlap)
    network = replace(inside, L=1500, g=50, network=True)
    place = Place(node, inside, inside, network, tx_message=100, tx_byte=1, rx_message=70, rx_byte=1)
    # THEN both ways of replaying say the same
    assert_both_agree(shuffled_exchange(160, 12, sizes, seed), place)
