# SPDX-License-Identifier: BSD-3-Clause
"""Finish times of small schedules under plain LogGOPS, worked out by hand from formats/plain_loggops.md.

Each is checked at LogGOPSim's defaults, at the parameters ATLAHS uses for clusters, and where everything is a
rendezvous and the processor's cost of a byte is the larger one. For a message of s bytes the comments write

    cs = o + (s-1) O           the sender's processor (P3)
    ct = g + (s-1) G           either interface (P3, P4)
    cr = o + (s-1) max(O, G)   the receiver's processor (P4)
    a  = o + L                 from the start of a send to its message at the receiver (P3)
"""

import pytest
from reference import Op, Parameters, Reference
from replaying import plain

SETS = {
    "LogGOPSim": Parameters(L=2500, o=1500, g=1000, G=6, O=0, S=65535),
    "cluster": Parameters(L=3000, o=8000, g=0, G=1, O=0, S=256000),
    "rendezvous": Parameters(L=3700, o=200, g=5, G=1, O=2, S=0),
}
SIZE = 1000


class Costs:
    def __init__(self, p, size=SIZE):
        self.cs = p.o + (size - 1) * p.O
        self.ct = p.g + (size - 1) * p.G
        self.cr = p.o + (size - 1) * max(p.O, p.G)
        self.a = p.o + p.L
        # A rendezvous keeps its sender until both have met, which is when the message comes to a posted receive (P6).
        self.met = self.a if size > p.S else 0


@pytest.fixture(params=SETS)
def p(request):
    return SETS[request.param]


def check(ranks, p, expected):
    assert [time / 1000 for time in plain(ranks, p)] == expected
    assert Reference(ranks, p).run() == expected


def test_ping_pong(p):
    # Each way the other side is idle: it ends a + cr after the send began, and there the way back begins. The last send
    # of rank 1 holds its processor for cs, or until it has met its receive.
    c, rounds = Costs(p), 3
    way = c.a + c.cr
    a, b = [], []
    for k in range(rounds):
        before = [2 * k - 1] if k else []
        a += [Op("send", SIZE, 1, requires=before), Op("recv", SIZE, 1, requires=[2 * k])]
        b += [Op("recv", SIZE, 0, requires=before), Op("send", SIZE, 0, requires=[2 * k])]
    check([a, b], p, [2 * rounds * way, (2 * rounds - 1) * way + max(c.cs, c.met)])


@pytest.mark.parametrize("ranks", [2, 5])
def test_ring(p, ranks):
    # Everybody receives from the left and sends to the right at 0. A send takes the processor until cs, the message is
    # there at a; with o = 8000 and L = 3000 that is after cs, as it is everywhere here. So all end at a + cr.
    c = Costs(p)
    assert c.cs <= c.a
    schedule = [[Op("recv", SIZE, (r - 1) % ranks), Op("send", SIZE, (r + 1) % ranks)] for r in range(ranks)]
    check(schedule, p, [c.a + c.cr] * ranks)


def test_binomial_tree(p):
    # 8 ranks; who has the message sends it to its children one after the other. The next send begins when processor
    # and interface are free and the one before has ended: d = max(cs, ct, met) later. The k-th child (from 0) of a
    # rank that has the message at t has it at t + k d + a + cr.
    c = Costs(p)
    d = max(c.cs, c.ct, c.met)
    has = {0: 0}
    has[4] = c.a + c.cr
    has[2] = d + c.a + c.cr
    has[1] = 2 * d + c.a + c.cr
    has[6] = has[4] + c.a + c.cr
    has[5] = has[4] + d + c.a + c.cr
    has[3] = has[2] + c.a + c.cr
    has[7] = has[6] + c.a + c.cr
    children = {0: [4, 2, 1], 4: [6, 5], 2: [3], 6: [7]}
    ranks = []
    for r in range(8):
        own = [Op("recv", SIZE, r & (r - 1))] if r else []
        for child in children.get(r, []):
            own.append(Op("send", SIZE, child, requires=[len(own) - 1] if own else []))
        ranks.append(own)
    sends = {r: len(each) for r, each in children.items()}
    expected = [has[r] + ((sends[r] - 1) * d + max(c.cs, c.met) if r in sends else 0) for r in range(8)]
    check(ranks, p, expected)


def test_rendezvous_with_an_early_receiver(p):
    # Both are there at 0. They meet when the message comes, at a; the sender's processor is put forward to that.
    size = p.S + 1
    c = Costs(p, size)
    check([[Op("send", size, 1)], [Op("recv", size, 0)]], p, [max(c.cs, c.a), c.a + c.cr])


def test_rendezvous_with_a_late_receiver(p):
    # The receiver computes until T. The message waits for its processor and is looked at at T, before the receive,
    # whose number is larger: the message was made by the send, which is served before the computation that sets the
    # receive free. Both meet at T, and the processor works for cr from there.
    size, T = p.S + 1, 10**7
    c = Costs(p, size)
    ranks = [[Op("send", size, 1)], [Op("calc", T), Op("recv", size, 0, requires=[0])]]
    check(ranks, p, [max(c.cs, T), T + c.cr])


def test_an_unexpected_message(p):
    # Rank 1 first waits for rank 2, which sends at T. Rank 0's message comes at a, unexpected, and costs cr there; the
    # one of rank 2 costs its cr at T + a. The second receive is posted when that is done, and takes no time; a
    # rendezvous of rank 0 goes on then.
    T = 10**7
    c = Costs(p)
    done = T + c.a + c.cr
    ranks = [
        [Op("send", SIZE, 1)],
        [Op("recv", SIZE, 2), Op("recv", SIZE, 0, requires=[0])],
        [Op("calc", T), Op("send", SIZE, 1, requires=[0])],
    ]
    check(ranks, p, [done if c.met else c.cs, done, T + max(c.cs, c.met)])


def test_a_message_to_oneself(p):
    # The send takes the processor until cs, its message comes at a, which is not before that.
    c = Costs(p)
    check([[Op("recv", SIZE, 0), Op("send", SIZE, 0)]], p, [c.a + c.cr])


def test_two_processors_with_an_interface_each(p):
    # Nothing is shared: both messages go at 0.
    c = Costs(p)
    ranks = [
        [Op("send", SIZE, 1, tag=0), Op("send", SIZE, 1, tag=1, cpu=1, nic=1)],
        [Op("recv", SIZE, 0, tag=0), Op("recv", SIZE, 0, tag=1, cpu=1, nic=1)],
    ]
    check(ranks, p, [max(c.cs, c.met), c.a + c.cr])


def test_two_processors_that_share_an_interface(p):
    # The second send begins at ct, when the interface is free. At the receiver, whose interface is taken from a to
    # a + ct, its message comes at ct + a.
    c = Costs(p)
    ranks = [
        [Op("send", SIZE, 1, tag=0), Op("send", SIZE, 1, tag=1, cpu=1)],
        [Op("recv", SIZE, 0, tag=0), Op("recv", SIZE, 0, tag=1, cpu=1)],
    ]
    check(ranks, p, [c.ct + max(c.cs, c.met), c.ct + c.a + c.cr])


def test_irequires_and_a_processor_of_its_own(p):
    # The computation on processor 1 begins when the send has begun, at its own processor's clock: 0.
    c = Costs(p)
    ranks = [[Op("send", SIZE, 1), Op("calc", 50000, cpu=1, irequires=[0])], [Op("recv", SIZE, 0)]]
    check(ranks, p, [max(50000, c.cs, c.met), c.a + c.cr])


def test_what_becomes_ready_while_a_clock_is_back_overtakes_those_that_wait():
    # The send ends at o = 1 and sets free the computation of 0, which is to begin then; the message of 0 bytes comes at
    # 1 before it and puts the clock back by G - o (P4, P7), to 0. There the computation of 1 begins, and ends at 1.
    p = Parameters(o=1, G=2, S=0)
    ranks = [
        [
            Op("send", 0, 0),
            Op("recv", 0, 0),
            Op("calc", 0, irequires=[0]),
            Op("calc", 1, requires=[0, 1]),
        ]
    ]
    check(ranks, p, [1])


def test_a_receive_that_is_posted_while_a_clock_is_back_is_posted_once():
    # GIVEN rank 0, whose computation at 1 makes the receive from 1 ready for that moment; then the message from 2 puts
    # the clock back to 0, where the receive from 4 is posted and sets the send free (this ended in a crash)
    p = Parameters(o=1, g=1, G=2)
    ranks = [
        [
            Op("recv", 0, 2),
            Op("recv", 0, 4, requires=[0]),
            Op("send", 0, 2, irequires=[1]),
            Op("calc", 0),
            Op("recv", 0, 1, requires=[3]),
            Op("send", 1, 3),
        ],
        [Op("send", 0, 0)],
        [Op("send", 0, 0), Op("recv", 0, 0)],
        [Op("recv", 1, 0)],
        [Op("send", 0, 0)],
    ]
    # WHEN the message from 4 comes at 1 THEN it ends that receive, and the send begins at 1, when its interface is free
    check(ranks, p, [2, 1, 1, 2, 1])
