# SPDX-License-Identifier: BSD-3-Clause
"""Sanity of the model as properties of random programs: monotone, blind to names, scaling, the sum of its parts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import machine
from reference import goal
from schedules import schedules

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

COSTS = ("L_s", "o_s", "g_s", "G_s_per_byte", "O_s_per_byte")
NS = 1e-9
SOME = settings(max_examples=60, deadline=None)
MANY = settings(max_examples=3000, deadline=None)


@st.composite
def links(draw):
    """A link class whose costs are whole nanoseconds."""
    values = {cost: draw(st.sampled_from([0, 1, 3, 10, 100, 1000])) * NS for cost in COSTS}
    values |= {"overlap": draw(st.booleans()), "progress": draw(st.sampled_from(["in-call", "independent"]))}
    if draw(st.booleans()):
        values["S"] = draw(st.sampled_from([0, 8, 500]))
    return values


@st.composite
def placed(draw, ranks, nodes=4, alone=True):
    """A node and a core for each rank; no two on one core if `alone`."""
    seats = [(node, core) for node in range(nodes) for core in range(2)]
    if alone:
        return draw(st.permutations(seats))[:ranks]
    return draw(st.lists(st.sampled_from(seats), min_size=ranks, max_size=ranks))


def predicted(ops, where, seats):
    schedule = _core.schedule.Schedule.read_goal(goal(ops), "x.goal")
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(node, [core]) for node, core in seats])
    try:
        return Predictor.of(Source(schedule), where, topology).predict(placement)
    except RankwiseError as error:
        assume(not error.message.startswith("deadlock"))  # a blocking program may be one
        raise


def monotone(data):
    # GIVEN a program of blocking calls, on a machine without queues
    ops = data.draw(schedules(chained=True))
    network, node = data.draw(links()), data.draw(links())
    seats = data.draw(placed(len(ops)))
    before = predicted(ops, machine(network, node), seats)
    # WHEN one cost rises
    cost = data.draw(st.sampled_from(COSTS))
    chosen = data.draw(st.sampled_from([network, node]))
    chosen[cost] += data.draw(st.sampled_from([1, 7, 500])) * NS
    after = predicted(ops, machine(network, node), seats)
    # THEN no rank ends earlier
    assert (after.finish_s >= before.finish_s).all()


@SOME
@given(st.data())
def test_no_rank_ends_earlier_when_a_cost_rises(data):
    monotone(data)


@pytest.mark.slow
@MANY
@given(st.data())
def test_no_rank_ends_earlier_when_a_cost_rises_in_many_programs(data):
    monotone(data)


def test_where_messages_queue_a_higher_cost_can_save_time():
    """The anomaly of list scheduling (Graham, 1969): an interface serves who comes first, not who matters most."""
    # GIVEN two ranks of a node that send at the same time to two others; the second one's receiver has much to do yet
    program = (
        "num_ranks 4\nrank 0 {\nc: calc {wait}\ns: send 10000b to 2\ns requires c\n}\nrank 1 {\nc: calc 5\n"
        "s: send 10000b to 3\ns requires c\n}\nrank 2 {\nrecv 10000b from 0\n}\n"
        "rank 3 {\nr: recv 10000b from 1\nc: calc 50000\nc requires r\n}\n"
    )
    where = machine(nic_bytes_per_s=1e9)
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(0, [0]), (0, [1]), (1, [0]), (2, [0])])

    def time(wait):
        schedule = _core.schedule.Schedule.read_goal(program.replace("{wait}", str(wait)), "x.goal")
        return Predictor.of(Source(schedule), where, topology).makespan_s(placement)

    # THEN the first rank's message holds up the other, unless its computation is slower
    assert time(0) == pytest.approx(10e-6 + 10e-6 + 50e-6)
    assert time(6) == pytest.approx(5e-9 + 10e-6 + 50e-6)


@SOME
@given(st.data())
def test_names_of_ranks_do_not_matter(data):
    ops = data.draw(schedules(chained=True))
    where = machine(data.draw(links()), data.draw(links()))
    seats = data.draw(placed(len(ops)))
    names = data.draw(st.permutations(range(len(ops))))  # rank r is called names[r] now
    renamed, seats_now = [None] * len(ops), [None] * len(ops)
    before = predicted(ops, where, seats)
    for rank, name in enumerate(names):
        for op in ops[rank]:
            if op.kind != "calc":
                op.peer = names[op.peer]
        renamed[name], seats_now[name] = ops[rank], seats[rank]
    after = predicted(renamed, where, seats_now)
    assert after.finish_s[list(names)].tolist() == before.finish_s.tolist()
    for part, times in before.parts_s.items():
        assert after.parts_s[part][list(names)].tolist() == times.tolist()


@SOME
@given(st.data())
def test_names_of_nodes_do_not_matter(data):
    # Interfaces and shared cores, too: ties between ranks are told apart by ranks, never by nodes
    ops = data.draw(schedules())
    where = machine(data.draw(links()), data.draw(links()), nic_bytes_per_s=1e9)
    seats = data.draw(placed(len(ops), alone=False))
    names = data.draw(st.permutations(range(4)))
    before = predicted(ops, where, seats)
    after = predicted(ops, where, [(names[node], core) for node, core in seats])
    assert after.finish_s.tolist() == before.finish_s.tolist()
    for way in ("tx", "rx"):
        one, other = before.interfaces[way], after.interfaces[way]
        assert sorted(one["queued_s"][one["messages"] > 0]) == sorted(
            other["queued_s"][other["messages"] > 0]
        )


@SOME
@given(st.data())
def test_the_parts_of_each_rank_are_its_whole(data):
    ops = data.draw(schedules())
    where = machine(data.draw(links()), data.draw(links()), nic_bytes_per_s=1e9)
    prediction = predicted(ops, where, data.draw(placed(len(ops), alone=False)))
    assert sum(prediction.parts_s.values()) == pytest.approx(prediction.finish_s, abs=1e-12)
    assert all((times >= 0).all() for times in prediction.parts_s.values())
    assert prediction.makespan_s == prediction.finish_s.max()


@SOME
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_one_rank_takes_the_sum_of_its_computations(times):
    text = "num_ranks 1\nrank 0 {\n" + "".join(f"c{at}: calc {time}\n" for at, time in enumerate(times))
    text += "".join(f"c{at} requires c{at - 1}\n" for at in range(1, len(times))) + "}\n"
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    where = machine(nic_bytes_per_s=1e9)
    topology = topology_of(where, ".")
    prediction = Predictor.of(Source(schedule), where, topology).predict(
        Placement.explicit(topology, [(0, [0])])
    )
    assert prediction.makespan_s == pytest.approx(sum(times) * NS, rel=1e-12)
    assert prediction.parts_s["computation"][0] == prediction.finish_s[0]


@SOME
@given(st.data(), st.sampled_from([2, 3, 10]))
def test_time_has_no_scale_of_its_own(data, factor):
    # GIVEN costs that a core shared by up to four ranks divides without a remainder: ties stay ties at any scale
    unit = 12**3
    ops = data.draw(schedules())
    network, node, seats = data.draw(links()), data.draw(links()), data.draw(placed(len(ops), alone=False))

    def finish_s(scale):
        scaled = [
            [replace(op, value=op.value * scale) if op.kind == "calc" else op for op in own] for own in ops
        ]
        slower = [each | {cost: each[cost] * scale for cost in COSTS} for each in (network, node)]
        return predicted(scaled, machine(*slower, nic_bytes_per_s=1e9 / scale), seats).finish_s

    # Half picoseconds are rounded in each of both.
    assert np.allclose(finish_s(unit * factor), finish_s(unit) * factor, rtol=1e-9, atol=1e-10)
