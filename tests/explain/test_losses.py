# SPDX-License-Identifier: BSD-3-Clause
"""What is lost to each Resource and channel, on exchanges whose times can be written down."""

import pytest
from machines import machine

from rankwise import _core
from rankwise.explain.losses import count, losses
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.placement.simple import allocate
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source

NETWORK = {"L_s": 10e-6, "o_s": 1e-6, "G_s_per_byte": 1e-9}
ONE_MESSAGE = "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n"


def found(text, where, *, each=1, nodes=2, allocation="blocked", switches=None):
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    topology = topology_of(where, ".")
    placement = allocate(schedule.ranks, nodes, each, topology.nodes[0], allocation)[0]
    predictor = Predictor.of(Source(schedule), where, topology, switches=switches)
    prediction = predictor.predict(placement)
    every = losses(predictor, prediction)
    assert len(every) == count(predictor, prediction)
    return prediction.makespan_s, {(loss.name, loss.part): loss.lost_s for loss in every}


def test_one_message_through_interfaces():
    # GIVEN o, then 1000 bytes at 0.5 GB/s into and out of the network L later, then o: 1 + 10 + 2 + 1 us
    makespan, lost = found(ONE_MESSAGE, machine(NETWORK, nic_bytes_per_s=0.5e9))
    assert makespan == pytest.approx(14e-6)
    # THEN one interface less does not help, the other one still holds the message up
    assert lost["nic_tx", "all"] == 0
    assert lost["nic_rx", "all"] == 0
    # AND without both the link's own 999 times G is left of the 2 us
    assert lost["nic_tx+nic_rx", "all"] == pytest.approx(2e-6 - 0.999e-6)
    assert lost["network", "latency"] == pytest.approx(10e-6)
    assert lost["network", "bytes"] == 0
    assert lost["network", "overhead"] == pytest.approx(2e-6)
    assert lost["network", "all"] == pytest.approx(12e-6)
    assert lost["communication", "all"] == makespan


def test_first_messages_are_lost_as_contacts_and_as_overhead():
    # GIVEN both ranks' first message takes 5 us longer
    makespan, lost = found(ONE_MESSAGE, machine(NETWORK | {"connect_s": 5e-6}))
    plain, without = found(ONE_MESSAGE, machine(NETWORK | {"connect_s": 0.0}))
    # THEN that is what meeting costs, and overhead has it too
    assert makespan == pytest.approx(plain + 10e-6)
    assert lost["contacts", "all"] == pytest.approx(10e-6)
    assert lost["network", "overhead"] == pytest.approx(without["network", "overhead"] + 10e-6)
    # AND where it is nothing, or switched off, it is not asked for
    assert ("contacts", "all") not in without
    switched = found(ONE_MESSAGE, machine(NETWORK | {"connect_s": 5e-6}), switches=Switches(contacts=False))
    assert switched[0] == pytest.approx(plain) and ("contacts", "all") not in switched[1]


def test_a_part_that_is_switched_off_or_not_used_is_not_asked_for():
    where = machine(NETWORK, nic_bytes_per_s=0.5e9)
    _, lost = found(ONE_MESSAGE, where, switches=Switches(interfaces=False))
    assert ("nic_tx+nic_rx", "all") not in lost
    _, lost = found(ONE_MESSAGE, where, each=2, nodes=1)
    assert {name for name, _ in lost} == {"node", "communication"}
    _, lost = found("num_ranks 1\nrank 0 {\ncalc 5\n}\n", where, nodes=1)
    assert lost == {}


def test_ranks_on_one_core_lose_what_the_other_computes():
    # GIVEN two ranks that compute 1 ms each, both on core 0
    text = "num_ranks 2\nrank 0 {\ncalc 1000000\n}\nrank 1 {\ncalc 1000000\n}\n"
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    where = machine(nodes=1)
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(0, [0]), (0, [0])])
    predictor = Predictor.of(Source(schedule), where, topology)
    (loss,) = losses(predictor, predictor.predict(placement))
    assert (loss.kind, loss.name, loss.part) == ("resource", "core", "all")
    assert loss.lost_s == pytest.approx(1e-3)


def test_largest_comes_first():
    schedule = _core.schedule.Schedule.read_goal(ONE_MESSAGE, "x.goal")
    where = machine(NETWORK, nic_bytes_per_s=0.5e9)
    topology = topology_of(where, ".")
    predictor = Predictor.of(Source(schedule), where, topology)
    every = losses(predictor, predictor.predict(allocate(2, 2, 1, topology.nodes[0], "blocked")[0]))
    times = [loss.lost_s for loss in every]
    assert times == sorted(times, reverse=True)
    assert every[0].kind == "communication"
