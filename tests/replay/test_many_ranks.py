# SPDX-License-Identifier: BSD-3-Clause
"""The replay and the slow references agree where thousands of events are under way, at one time or scattered."""

import random

import pytest
from machine_reference import Link, MachineReference, Place
from reference import Op, Parameters, Reference
from replaying import on_machine, picoseconds, plain

P = Parameters(L=2500, o=1500, g=1000, G=6, O=1, S=65535)


def ring(ranks, steps, computation):
    """Receives and sends to both neighbours, a wait, a computation."""
    schedule = [[] for _ in range(ranks)]
    for _ in range(steps):
        for r, own in enumerate(schedule):
            before = [len(own) - 1] if own else []
            peers = ((r + 1) % ranks, (r - 1) % ranks)
            first = len(own)
            own += [Op("recv", 100, q, requires=before) for q in peers]
            own += [Op("send", 100, q, requires=before) for q in peers]
            own.append(Op("calc", 0, requires=list(range(first, first + 4))))
            own.append(Op("calc", computation(), requires=[len(own) - 1]))
    return schedule


def linear(ranks, steps, computation):
    """All-to-all with everything posted at once."""
    schedule = []
    for r in range(ranks):
        own = [Op("calc", computation())]
        for _ in range(steps):
            last = [len(own) - 1]
            peers = [(r + k) % ranks for k in range(1, ranks)]
            own += [Op("recv", 64, q, requires=last) for q in peers]
            own += [Op("send", 64, q, requires=last) for q in peers]
            own.append(Op("calc", computation(), requires=list(range(last[0] + 1, len(own)))))
        schedule.append(own)
    return schedule


SCHEDULES = {"ring": (ring, 700, 3), "linear": (linear, 40, 1)}


@pytest.fixture(params=["lockstep", "scattered"])
def computation(request):
    scattered = random.Random(7)
    return (lambda: 5000) if request.param == "lockstep" else (lambda: scattered.randrange(10**6))


@pytest.fixture(params=SCHEDULES)
def ranks(request, computation):
    make, size, steps = SCHEDULES[request.param]
    return make(size, steps, computation)


@pytest.mark.one_of(4)
@pytest.mark.parametrize("S", [0, 65535])
def test_plain_loggops(ranks, S):
    p = Parameters(**{**vars(P), "S": S})
    assert plain(ranks, p) == [time * 1000 for time in Reference(ranks, p).run()]


@pytest.mark.parametrize("S", [0, 65535])
def test_the_machine_model(ranks, S):
    inside = Link(L=300, o=100, o_receive=200, G=1, O=1, S=S, overlap=False, in_call=True)
    network = Link(L=3000, o=100, o_receive=200, g=50, G=2, S=S, network=True, in_call=True)
    node = [r // 8 for r in range(len(ranks))]
    where = Place(node, Link(), inside, network, tx_message=30, tx_byte=1, rx_message=40, rx_byte=1)
    expected = [time * 1000 for time in MachineReference(ranks, where).run()]
    assert picoseconds(on_machine(ranks, where).finish_s) == expected
