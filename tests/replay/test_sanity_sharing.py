# SPDX-License-Identifier: BSD-3-Clause
"""Sanity of what ranks share in parts, and of switches, as properties of random programs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import text as plain_text
from reference import Op
from replaying import schedule_of
from schedules import schedules
from sharing_machines import link, machine, resource

from rankwise.errors import RankwiseError
from rankwise.explain.critical_path import critical_path
from rankwise.explain.explanation import explain
from rankwise.machine.file import loads
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

SOME = settings(max_examples=40, deadline=None)
COSTS = {"L_s": 5e-9, "o_s": 2e-9, "G_s_per_byte": 1e-9}


def nodes_that_share(capacity=1e9, per_message=10e-9):
    """Nodes of four cores with one memory and one interrupt core each."""
    parts = [
        resource("memory", "memory", "node", capacity_bytes_per_s=capacity, per_core_bytes_per_s=1e9),
        resource(
            "irq", "interrupt_core", "node", core=0, per_message_s=per_message, capacity_bytes_per_s=1e9
        ),
        link("network", "host-processed", overlap=True, **COSTS),
        *(link(channel, **COSTS) for channel in ("package", "node")),
    ]
    return machine(*parts, nodes=3)


def predictor(ops, where, bound):
    return Predictor.of(Source(schedule_of(ops)), where, memory_bound=np.full(len(ops), bound))


def placed(judge, seats):
    return Placement.explicit(judge.topology, [(node, [core]) for node, core in seats])


def seats(data, ranks):
    one = st.sampled_from([(node, core) for node in range(3) for core in range(3)])
    return data.draw(st.lists(one, min_size=ranks, max_size=ranks))


def replayed(judge, where):
    try:
        return judge.predict(where), explain(judge, where)
    except RankwiseError as error:
        assume(not error.message.startswith("deadlock"))
        raise


@SOME
@given(st.data())
def test_parts_causes_and_path_add_up(data):
    ops = data.draw(schedules())
    judge = predictor(ops, nodes_that_share(), data.draw(st.sampled_from([0, 0.5, 1])))
    prediction, replay = replayed(judge, placed(judge, seats(data, len(ops))))
    # THEN no part is below 0, and all are the whole
    assert all((times >= -1e-12).all() for times in prediction.parts_s.values())
    assert sum(prediction.parts_s.values()) == pytest.approx(prediction.finish_s, abs=1e-11)
    assert sum(replay.waiting.values()) == pytest.approx(prediction.waiting_s, abs=1e-11)
    assert sum(critical_path(replay).cause_s.values()) == pytest.approx(prediction.makespan_s, abs=1e-11)


@SOME
@given(st.data())
def test_names_of_ranks_and_nodes_do_not_change_the_makespan(data):
    ops = data.draw(schedules(chained=True))
    where, bound = nodes_that_share(), data.draw(st.sampled_from([0, 0.5, 1]))
    now = seats(data, len(ops))
    names = data.draw(st.permutations(range(len(ops))))
    nodes = data.draw(st.permutations(range(3)))
    judge = predictor(ops, where, bound)
    before, _ = replayed(judge.in_canonical_order(placed(judge, now)), placed(judge, now))
    renamed, elsewhere = [None] * len(ops), [None] * len(ops)
    for rank, name in enumerate(names):
        for op in ops[rank]:
            if op.kind != "calc":
                op.peer = names[op.peer]
        renamed[name], elsewhere[name] = ops[rank], (nodes[now[rank][0]], now[rank][1])
    judge = predictor(renamed, where, bound)
    there = placed(judge, elsewhere)
    after, _ = replayed(judge.in_canonical_order(there), there)
    assert after.makespan_s == pytest.approx(before.makespan_s, abs=1e-11)


@SOME
@given(st.data(), st.lists(st.integers(0, 10**6), min_size=1, max_size=4))
def test_computation_never_takes_less_when_there_is_less_memory_bandwidth(data, times):
    # Without messages nothing can come in another order, which is the anomaly named in test_sanity.py.
    ops = [[Op("calc", time)] for time in times]
    now = seats(data, len(times))
    bandwidths = sorted(
        (data.draw(st.sampled_from([0.3e9, 0.5e9, 1e9, 2e9, 9e9])) for _ in range(2)), reverse=True
    )
    finish = []
    for bandwidth in bandwidths:
        judge = predictor(ops, nodes_that_share(bandwidth), data.draw(st.just(0.7)))
        finish.append(judge.predict(placed(judge, now)).finish_s)
    assert (finish[1] >= finish[0] - 1e-11).all()


@SOME
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12), st.sampled_from([0, 0.5, 1]))
def test_one_rank_takes_the_sum_of_its_computations(times, bound):
    # GIVEN a memory that is enough for one core
    ops = [[Op("calc", time, requires=[at - 1] if at else []) for at, time in enumerate(times)]]
    judge = predictor(ops, nodes_that_share(), bound)
    prediction = judge.predict(placed(judge, [(0, 1)]))
    assert prediction.makespan_s == pytest.approx(sum(times) * 1e-9, rel=1e-9, abs=1e-11)
    assert prediction.parts_s["computation"] == pytest.approx(prediction.finish_s, abs=1e-11)


def switched(port_bytes_per_s, hop_s):
    """Four nodes, two under each of two switches, with a cable between these."""
    number = '{{ value = {}, obtained = "assumed", source = "test" }}'
    network = f'[network]\nshape = "fat-tree"\ndown = [2, 2]\nup = [1]\nhop_s = {number.format(hop_s)}\n'
    ports = (
        '[[resources]]\nname = "ports"\nkind = "switch_port"\ndiscipline = "fifo"\nper = "switch"\n'
        f'channels = ["network"]\ncapacity_bytes_per_s = {number.format(port_bytes_per_s)}\n'
    )
    return loads(plain_text(COSTS, COSTS, 1e9) + network + ports)


@SOME
@given(st.data())
def test_no_rank_ends_earlier_with_slower_switches_where_two_ranks_have_them_for_themselves(data):
    ops = data.draw(schedules(chained=True).filter(lambda ops: len(ops) == 2))
    slower = (data.draw(st.sampled_from([1e9, 0.5e9])), data.draw(st.sampled_from([1e-9, 9e-9])))
    finish = []
    for rate, hop in ((1e9, 1e-9), slower):
        judge = Predictor.of(Source(schedule_of(ops)), switched(rate, hop))
        finish.append(replayed(judge, placed(judge, [(0, 0), (2, 0)]))[0].finish_s)
    assert (finish[1] >= finish[0] - 1e-12).all()
