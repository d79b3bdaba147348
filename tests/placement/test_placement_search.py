# SPDX-License-Identifier: BSD-3-Clause
"""From a messages table and a machine file to the best placement."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine import file as machine_file
from rankwise.machine.link_classes import link_index
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.costs import CommCosts, CoreSlots, message_time
from rankwise.placement.search import PlacementSearch

MACHINE = """
schema = "rankwise.machine/1"
name = "two by two by two"
[node]
count = 2
topology = "package:2 core:2"
[[resources]]
name = "nic_tx"
kind = "nic_tx"
discipline = "fifo"
per = "node"
capacity_bytes_per_s = {{ value = 1e8, obtained = "assumed", source = "test" }}
per_message_s = {{ value = 1e-6, obtained = "assumed", source = "test" }}
[[resources]]
name = "nic_rx"
kind = "nic_rx"
discipline = "fifo"
per = "node"
capacity_bytes_per_s = {{ value = 2e8, obtained = "assumed", source = "test" }}
{links}
"""
LINK = """
[[link_classes]]
channel = "{channel}"
protocol = "shared-memory"
progress = "in-call"
overlap = false
eager_limit_bytes = {{ value = 1000, obtained = "assumed", source = "test" }}
[[link_classes.segments]]
up_to_bytes = 100
L_s = {{ value = {L}, obtained = "assumed", source = "test" }}
o_s = {{ value = 1e-6, obtained = "assumed", source = "test" }}
o_receive_s = {{ value = 2e-6, obtained = "assumed", source = "test" }}
g_s = {{ value = 0.0, obtained = "assumed", source = "test" }}
G_s_per_byte = {{ value = 0.0, obtained = "assumed", source = "test" }}
O_s_per_byte = {{ value = 0.0, obtained = "assumed", source = "test" }}
[[link_classes.segments]]
L_s = {{ value = {L}, obtained = "assumed", source = "test" }}
o_s = {{ value = 1e-6, obtained = "assumed", source = "test" }}
g_s = {{ value = 0.0, obtained = "assumed", source = "test" }}
G_s_per_byte = {{ value = 1e-8, obtained = "assumed", source = "test" }}
O_s_per_byte = {{ value = 1e-9, obtained = "assumed", source = "test" }}
"""


@dataclass(frozen=True)
class Time:
    makespan_s: float


def machine(**latency: float) -> machine_file.Machine:
    links = "".join(LINK.format(channel=name, L=value) for name, value in latency.items())
    return machine_file.loads(MACHINE.format(links=links))


FULL = machine(package=1e-6, node=2e-6, network=50e-6)
TOPOLOGY = Topology.of(from_synthetic("package:2 core:2"), 2)


def table(rows: list[tuple[int, int, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["source", "destination", "messages", "bytes"], orient="row")


def test_message_time_is_loggops_by_segment():
    link = FULL.link_class("network")
    times = message_time(link, np.array([0, 1, 100, 101, 1000, 1001]))
    assert times == pytest.approx(
        [53e-6, 53e-6, 53e-6, 52e-6 + 100 * 1.2e-8, 52e-6 + 999 * 1.2e-8, 52e-6 + 1000 * 1.2e-8]
    )


def test_slots_know_what_they_share():
    slots = CoreSlots.of(Topology.of(from_synthetic("package:2 l3:2 core:2"), 2))
    # node, package, L3, core
    assert slots.groups[:5].tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2], [0, 0, 1, 3], [0, 1, 2, 4]]
    assert slots.channels == ("network", "node", "package", "L3")


def test_a_missing_link_class_is_that_of_the_next_wider_channel():
    def found(channel, **times):
        described = machine(**times)
        return described.link_classes[link_index(described, channel)].channel

    assert found("L2", node=2e-6, network=5e-6) == "node"
    assert found("L2", L3=1e-6, node=2e-6) == "L3"
    with pytest.raises(RankwiseError, match="no link class for channel `network`"):
        found("network", node=2e-6)


def test_pairs_sum_both_directions_and_keep_the_interfaces_apart():
    # GIVEN 10 messages of 1 byte from 0 to 1, 1 of 100 bytes back, and messages to self
    messages = table([(0, 1, 10, 10), (1, 0, 1, 100), (2, 2, 5, 5)])
    costs = CommCosts.of(messages, 3, FULL, ("network", "node", "package"))
    # THEN each of 0 and 1 has the other as its only neighbour, at the same cost
    assert costs.offsets.tolist() == [0, 1, 2, 2]
    assert costs.neighbour.tolist() == [1, 0]
    assert costs.cost[0] == pytest.approx([11 * 53e-6, 11 * 5e-6, 11 * 4e-6, 0])
    assert costs.cost[1] == pytest.approx(costs.cost[0])
    # AND what leaves 0 is 10 messages, what arrives is 100 bytes
    assert costs.nic_out.tolist() == pytest.approx([10 * 1e-6 + 10 / 1e8, 1e-6 + 100 / 1e8])
    assert costs.nic_in.tolist() == pytest.approx([100 / 2e8, 10 / 2e8])


def test_partners_four_apart_are_put_together(monkeypatch):
    # Partners on one package save 0.08 % of cyclic's time, which alone is not worth a change.
    monkeypatch.setattr("rankwise.placement.search.WORTH_A_CHANGE", 0.0)
    # GIVEN ranks r and r + 4 that exchange large messages: blocked sends all over the network
    messages = table([(r, (r + 4) % 8, 10, 1_000_000) for r in range(8)])
    search = PlacementSearch(messages, 8, FULL, TOPOLOGY)
    # WHEN judged by the objective itself
    found = search.run(
        judge=lambda p: Time(search.candidate("x", search.slots_of(p)).objective_s), budget_s=5
    )
    best = found[-1]
    # THEN the best placement has no pair on different nodes, as cyclic, and pairs on one package, unlike blocked
    node, core = best.placement.node, best.placement.cores
    assert [node[r] for r in range(4)] == [node[r + 4] for r in range(4)]
    assert [core[r] // 2 for r in range(4)] == [core[r + 4] // 2 for r in range(4)]
    assert best.busiest_interface_s == 0
    assert [each.name for each in found] == ["blocked", "cyclic", "plane=2", "plane=3", "optimised"]


def test_the_result_is_never_worse_than_the_simple_ones_by_the_judge():
    # GIVEN a judge that does not like what the objective likes
    messages = table([(r, (r + 4) % 8, 10, 1_000_000) for r in range(8)])
    search = PlacementSearch(messages, 8, FULL, TOPOLOGY)

    def contrary(placement):
        return Time(1.0 if placement.allocation == "blocked" else 2.0)

    # WHEN searched THEN what comes back is blocked
    best = search.run(judge=contrary, budget_s=1)[-1]
    assert best.placement.node.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert best.makespan_s == 1.0


def test_channels_that_the_machine_does_not_have_need_no_link_class():
    # GIVEN what `rankwise measure` writes for one node of one package
    one = Topology.of(from_synthetic("package:1 core:4"), 1)
    search = PlacementSearch(table([(0, 3, 1, 1)]), 4, machine(package=1e-6), one)
    found = search.run(
        judge=lambda p: Time(search.candidate("x", search.slots_of(p)).objective_s), budget_s=1
    )
    assert sorted(found[-1].placement.cores.tolist()) == [0, 1, 2, 3]
    assert found[-1].objective_s > 0
    # THEN those it has do
    with pytest.raises(RankwiseError, match="no link class for channel `network`"):
        PlacementSearch(table([(0, 3, 1, 1)]), 4, machine(package=1e-6), Topology.of(one.nodes[0], 2))


def test_of_equals_the_first_simple_placement_comes_back():
    search = PlacementSearch(table([(0, 1, 1, 1)]), 8, FULL, TOPOLOGY)
    *_, best = found = search.run(judge=lambda placement: Time(1.0), budget_s=1)
    assert best.placement.cores.tolist() == found[0].placement.cores.tolist()
    assert best.placement.node.tolist() == found[0].placement.node.tolist()


def test_partly_filled_nodes_are_filled_alike_or_one_after_the_other():
    search = PlacementSearch(table([(0, 1, 1, 1)]), 5, FULL, TOPOLOGY)
    assert {each.name: each.placement.node.tolist() for each in search.simple()} == {
        "blocked": [0, 0, 0, 0, 1],
        "cyclic": [0, 1, 0, 1, 0],
        "plane=2": [0, 0, 1, 1, 0],
        "plane=3": [0, 0, 0, 1, 1],
    }


def test_ranks_that_fit_on_fewer_nodes_are_tried_there():
    search = PlacementSearch(table([(0, 1, 1, 1)]), 2, FULL, TOPOLOGY)
    assert {each.name: each.placement.node.tolist() for each in search.simple()} == {
        "blocked": [0, 0],
        "blocked 2x1": [0, 1],
    }


def test_of_equal_times_the_fewest_nodes_are_taken_and_only_these_are_named():
    # GIVEN ranks that say nothing to each other, on a machine of two nodes
    search = PlacementSearch(table([(0, 1, 1, 1)]), 4, FULL, TOPOLOGY)
    # WHEN all placements take about as long
    *_, best = search.run(judge=lambda placement: Time(1 + 1e-4 * (placement.node.max() == 0)), budget_s=1)
    # THEN what fills the first node is taken, and no other is named
    assert set(best.placement.node.tolist()) == {0}
    assert best.placement.node_names == ("node0",)


def test_ctrl_c_while_placements_are_judged_keeps_the_best_so_far():
    # GIVEN partners four apart, and Ctrl-C after two placements are judged
    rows = table([(rank, (rank + 4) % 8, 100, 100_000) for rank in range(8)])
    search = PlacementSearch(rows, 8, FULL, TOPOLOGY)
    calls = []

    def judge(placement):
        calls.append(placement)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return Time(search.candidate("x", search.slots_of(placement)).objective_s)

    # WHEN it is searched
    found = search.run(judge=judge, budget_s=1)
    # THEN the best that was found is there beside what it is compared with
    assert [each.name for each in found] == ["blocked", "optimised"]
    assert found[-1].makespan_s < found[0].makespan_s
    assert found[-1].placement.node.tolist()[:4] == found[-1].placement.node.tolist()[4:]
    assert search.interrupted
    # AND before anything is judged, nothing is kept
    calls[:] = [None, None]
    with pytest.raises(KeyboardInterrupt):
        search.run(judge=judge, budget_s=1)


def test_what_is_there_stays_unless_another_is_known_to_be_better():
    # GIVEN a ring of eight ranks that ran cyclic
    search = PlacementSearch(table([(r, (r + 1) % 8, 10, 1000) for r in range(8)]), 8, FULL, TOPOLOGY)
    current = next(each.placement for each in search.simple() if each.name == "cyclic")
    asked = []

    def judge(placement):
        return Time(2.0 if placement.node.tolist() == current.node.tolist() else 1.9)

    def better(placement, present):
        asked.append((placement.node.tolist(), present.node.tolist()))
        return known

    # WHEN a gain is not known to be one, THEN the program stays, and what was found is told
    known = False
    found = search.run(judge, current, budget_s=0.2, better=better)
    assert [each.name for each in found[-3:]] == ["current", "found", "optimised"]
    assert found[-1].placement.node.tolist() == current.node.tolist()
    assert found[-2].makespan_s == 1.9
    assert asked[-1][1] == current.node.tolist()
    # AND else the best is taken
    known = True
    found = search.run(judge, current, budget_s=0.2, better=better)
    assert found[-1].makespan_s == 1.9 and "found" not in [each.name for each in found]
