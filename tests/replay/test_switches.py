# SPDX-License-Identifier: BSD-3-Clause
"""Switch ports in closed form (formats/loggops.md M11). Times in nanoseconds."""

import numpy as np
import pytest
from machine_reference import Link, Place
from machines import text
from reference import Op
from replaying import model, on_machine, schedule_of, switches

from rankwise import _core
from rankwise.explain.losses import losses
from rankwise.machine.file import loads
from rankwise.machine.machine import topology_of
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.machine.overrides import apply
from rankwise.placement.simple import allocate
from rankwise.replay.ports import hops
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source

L, O_SEND, O_RECEIVE, SIZE = 3000, 100, 200, 1000
NETWORK = Link(L=L, o=O_SEND, o_receive=O_RECEIVE, network=True)
TWO_LEAVES = FatTree(down=[2, 2], up=[1])


def place(nodes, network=NETWORK, **interfaces):
    return Place(node=list(nodes), itself=Link(), inside=Link(), network=network, **interfaces)


def times(result):
    return [round(time * 1e12) / 1000 for time in result.finish_s]


def messages(*pairs, ranks=4, size=SIZE):
    """Each pair's first rank sends to its second."""
    found = [[] for _ in range(ranks)]
    for source, target in pairs:
        found[source].append(Op("send", size, target))
        found[target].append(Op("recv", size, source))
    return found


def replay(pairs, network, ranks=4, where=NETWORK, **interfaces):
    return on_machine(
        messages(*pairs, ranks=ranks), place(range(ranks), where, **interfaces), network=network
    )


def alone(hops, hop=0, ports=0):
    """When a message of `hops` ports has been received whose bytes take `ports` at each of them."""
    return O_SEND + L + hops * hop + (ports if hops else 0) + O_RECEIVE


def test_each_switch_after_the_first_adds_its_latency():
    # GIVEN two leaves under one top: ranks 0, 1 and 2, 3
    network = switches(TWO_LEAVES, hop=50)
    assert times(replay([(0, 1)], network))[1] == alone(0)
    assert times(replay([(0, 2)], network))[2] == alone(2, hop=50)


def test_a_message_passes_several_ports_at_once():
    # GIVEN 3 ns a byte at each of two ports: the second begins when the first byte is there
    network = switches(TWO_LEAVES, hop=50, port_byte=3)
    assert times(replay([(0, 2)], network))[2] == alone(2, 50, 3 * SIZE)


def test_the_slowest_on_the_way_decides():
    shape = FatTree(down=[1, 1, 2], up=[1, 1])
    slow, fast = _core.machine.Interface(0.0, 5e-9), _core.machine.Interface(7e-9, 1e-9)
    # WHEN the ports of one level are slow, the first byte waits at each hop, the last behind the slow ones
    for ports in ([fast, slow], [slow, fast]):
        found = times(replay([(0, 1)], switches(shape, hop=50, ports=ports), ranks=2))[1]
        assert found == alone(4, 50, 5 * SIZE)


def test_two_flows_over_one_uplink_come_one_after_the_other():
    together = replay([(0, 2), (1, 3)], switches(TWO_LEAVES, port_byte=3))
    assert times(together)[2:] == [alone(2, 0, 3 * SIZE), alone(2, 0, 6 * SIZE)]
    assert round(together.ports["queued_s"].sum() * 1e9) == 3 * SIZE


def test_flows_over_different_uplinks_and_opposite_directions_do_not_meet():
    two = switches(FatTree(down=[2, 2], up=[2]), port_byte=3)
    assert times(replay([(0, 2), (1, 3)], two))[2:] == [alone(2, 0, 3 * SIZE)] * 2
    one = switches(TWO_LEAVES, port_byte=3)
    both_ways = times(replay([(0, 2), (3, 1)], one))
    assert [both_ways[2], both_ways[1]] == [alone(2, 0, 3 * SIZE)] * 2


def test_an_incast_queues_at_the_last_port():
    # GIVEN five leaves of one node, four of which send to the fifth over two tops each
    shape = FatTree(down=[1, 5], up=[2])
    network = switches(shape, port_byte=2)
    result = replay([(n, 4) for n in range(4)], network, ranks=5)
    assert times(result)[4] == alone(2, 0, 4 * 2 * SIZE)
    # THEN all came down through one port, as deterministic routing has it
    busiest = int(np.argmax(result.ports["busy_s"]))
    assert network.describe(busiest) == "switch 0 of level 2, down 4"
    assert result.ports["messages"][busiest] == 4
    assert round(result.ports["busy_s"][busiest] * 1e9) == 4 * 2 * SIZE


@pytest.mark.parametrize(("uplinks", "oversubscribed"), [(4, 1), (1, 4)])
def test_an_all_to_all_takes_as_long_as_the_uplinks_need(uplinks, oversubscribed):
    # GIVEN two leaves of 4 nodes; every node sends to every other in the order of shifts
    nodes = 8
    pairs = [(n, (n + shift) % nodes) for shift in range(1, nodes) for n in range(nodes)]
    free = Link(network=True)
    network = switches(FatTree(down=[4, 2], up=[uplinks]), port_byte=1)
    result = replay(pairs, network, ranks=nodes, where=free)
    # THEN 4 x 4 messages cross in each direction, one after the other over each uplink
    bound = 16 // uplinks * SIZE
    assert result.makespan_s * 1e9 == pytest.approx(bound)
    assert result.ports["busy_s"].max() * 1e9 == pytest.approx(bound)
    assert bound == 4 * oversubscribed * SIZE


def test_neighbours_in_a_torus_are_nearer_than_the_other_end():
    network = switches(Torus(dimensions=[4, 4]), hop=50, port_byte=3)
    ranks = 11
    assert times(replay([(0, 1)], network, ranks))[1] == alone(1, 50, 3 * SIZE)
    assert times(replay([(0, 3)], network, ranks))[3] == alone(1, 50, 3 * SIZE)
    assert times(replay([(0, 10)], network, ranks))[10] == alone(4, 50, 3 * SIZE)


def test_groups_of_a_dragonfly_share_the_cable_between_them():
    # GIVEN groups of two routers with one global cable each
    local, slow = _core.machine.Interface(), _core.machine.Interface(s_per_byte=5e-9)
    network = switches(Dragonfly(groups=3, routers=2, global_links=1), hop=50, ports=[local, slow])
    # WHEN both nodes of group 0 send to group 1, whose cable is that of router 0
    result = replay([(0, 2), (1, 3)], network, ranks=6)
    names = [network.describe(k) for k in np.flatnonzero(result.ports["busy_s"])]
    assert names == ["group 0, router 0, global 0"]
    # THEN the message from router 0 is there first; the other one has hops on both sides and waits for it
    assert times(result)[2:4] == [
        alone(1, 50, 5 * SIZE),
        O_SEND + L + 5 * SIZE + 2 * 50 + 5 * SIZE + O_RECEIVE,
    ]


def test_request_and_answer_of_a_rendezvous_pass_the_switches_too():
    network = Link(L=L, o=O_SEND, o_receive=O_RECEIVE, S=0, network=True)
    assert times(replay([(0, 2)], switches(TWO_LEAVES, hop=50), where=network))[2] == alone(2, 3 * 50)
    without = on_machine(
        messages((0, 2)), place(range(4), network), network=switches(TWO_LEAVES, hop=50), handshake=False
    )
    assert times(without)[2] == alone(2, 50)


def test_interfaces_come_before_and_after_the_ports():
    # GIVEN 3 ns a byte at the interfaces, 2 at the ports, and two messages to two leaves over one port
    shape = FatTree(down=[1, 3], up=[1])
    result = replay([(0, 1), (0, 2)], switches(shape, port_byte=2), ranks=3, tx_byte=3, rx_byte=3)
    assert times(result)[1:3] == [
        O_SEND + L + 3 * SIZE + O_RECEIVE,
        O_SEND + 3 * SIZE + L + 3 * SIZE + O_RECEIVE,
    ]
    assert result.ports["queued_s"].sum() == 0
    assert result.tx["messages"][0] == 2


PORT = """
[[resources]]
name = "uplink"
kind = "switch_port"
discipline = "fifo"
per = "switch"
capacity_bytes_per_s = {{ value = {rate}, obtained = "assumed", source = "test" }}
[network]
shape = "fat-tree"
down = [2, 2]
up = [1]
hop_s = {{ value = 1e-7, obtained = "assumed", source = "test" }}
"""


def predictor(rate=1e9, **arguments):
    where = loads(text({"L_s": 3e-6}) + PORT.format(rate=rate))
    return Predictor.of(
        Source(schedule_of(messages((0, 2), (1, 3)))), where, topology_of(where, "."), **arguments
    )


def spread(of):
    return allocate(4, 4, 1, of.topology.nodes[0], "blocked")[0]


def test_a_prediction_names_its_busiest_ports_and_what_they_cost():
    # GIVEN two messages of 1000 bytes over one uplink of 1 GB/s: 3 us, 0.2 us of hops, 1 us each
    of = predictor()
    prediction = of.predict(spread(of))
    assert prediction.makespan_s == pytest.approx(5.2e-6)
    assert prediction.not_modelled == ()
    busiest = prediction.ports.busiest(2)
    assert [port.name for port in busiest] == ["switch 0 of level 1, up 0", "switch 0 of level 2, down 1"]
    assert (busiest[0].messages, busiest[0].bytes) == (2, 2000)
    assert busiest[0].busy_s == pytest.approx(2e-6)
    assert busiest[0].queued_s == pytest.approx(1e-6)
    # THEN the loss to the ports is all of their time, and hops are latency of the network
    lost = {(loss.name, loss.part): loss.lost_s for loss in losses(of, prediction)}
    assert lost["uplink", "all"] == pytest.approx(2e-6)
    assert lost["network", "latency"] == pytest.approx(3.2e-6)
    assert lost["communication", "all"] == pytest.approx(5.2e-6)


def test_without_switches_a_machine_is_as_if_it_had_none():
    of = predictor(switches=Switches(switches=False))
    bare = loads(text({"L_s": 3e-6}))
    plain = Predictor.of(Source(of.schedule), bare, of.topology)
    there = spread(of)
    assert of.predict(there).finish_s.tolist() == plain.predict(there).finish_s.tolist()
    assert of.predict(there).ports is None


def test_settings_change_hops_and_ports():
    of = predictor()
    there = spread(of)
    for setting, expected_s in [
        ("network.hop=1us", 7e-6),
        ("uplink.capacity=2GB/s", 4.2e-6),
        ("uplink.G=0ns/B", 3.2e-6),
    ]:
        other = of.variant(apply(of.machine, [setting]), of.switches)
        assert other.makespan_s(there) == pytest.approx(expected_s)


def test_hops_between_nodes_are_told_without_a_replay():
    of = predictor()
    assert hops(of.machine, np.array([0, 0]), np.array([1, 3])).tolist() == [0, 2]
    assert hops(loads(text()), np.array([0]), np.array([1])).tolist() == [0]


def test_sixty_four_thousand_nodes_are_replayed():
    # GIVEN a ring over all nodes of a three-level tree
    nodes, shape = 65536, FatTree(down=[32, 32, 64], up=[32, 32])
    number = np.arange(nodes, dtype=np.uint32)
    schedule = _core.schedule.Schedule.from_arrays(
        np.full(nodes, 2, dtype=np.uint32),
        np.tile(np.array([1, 2], dtype=np.uint8), nodes),
        np.full(2 * nodes, SIZE, dtype=np.uint64),
        np.stack([(number + 1) % nodes, (number - 1) % nodes], axis=1).astype(np.uint32).ravel(),
        *(np.zeros(0 if k else 2 * nodes, dtype=np.uint32) for k in range(3)),
        np.zeros(0, dtype=np.uint8),
    )
    # WHEN it is replayed
    result = schedule.replay(
        **model(place(range(nodes)), list(range(nodes)), network=switches(shape, hop=50, port_byte=3))
    )
    # THEN who sends to the farthest takes longest, and nothing meets
    assert result.makespan_s * 1e9 == pytest.approx(alone(4, 50, 3 * SIZE))


def test_what_a_message_waits_for_at_ports_is_told():
    # GIVEN two messages over one uplink, and what the second of them went into
    model_of = model(place(range(4)), list(range(4)), network=switches(TWO_LEAVES, hop=50, port_byte=3))
    replay = schedule_of(messages((0, 2), (1, 3))).explain(**model_of)
    path = replay.critical_path
    shares = {}
    for cause, begin, end in zip(path["cause"], path["from_s"], path["to_s"], strict=True):
        name = _core.explain.CAUSES[cause]
        shares[name] = shares.get(name, 0) + round((end - begin) * 1e9)
    # THEN it is overhead, latency with its hops, the other's turn at the port, and its own
    assert shares == {
        "overhead": O_SEND + O_RECEIVE,
        "latency": L + 2 * 50,
        "port_queue": 3 * SIZE,
        "bytes": 3 * SIZE,
    }
    assert round(replay.waiting["port_queue"][3] * 1e9) == 3 * SIZE
