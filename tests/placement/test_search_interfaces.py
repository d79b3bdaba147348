# SPDX-License-Identifier: BSD-3-Clause
"""Several interfaces a node in the search: by definition, by brute force, and from a machine file."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loads import norm
from test_search import NIC, expected, random_weights, search_for

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.file import loads
from rankwise.machine.machine import topology_of
from rankwise.placement.costs import CoreSlots
from rankwise.placement.loads import interface_groups
from rankwise.placement.place import make_search, run_search
from rankwise.placement.search import PlacementSearch
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

# Nodes of two packages of two cores: one interface at the first package, two at the second.
SHARES = [1.0, 0.5]


def with_interfaces(weights, nodes):
    search = search_for(weights, nodes, 2, 2)
    search.use_interfaces([slot // 2 for slot in range(4 * nodes)], SHARES * nodes)
    return search


def defined(weights, slot, nodes) -> tuple[float, float]:
    """The objective and the busiest interface from their definition."""
    out, into = np.zeros(2 * nodes), np.zeros(2 * nodes)
    for a, b in itertools.permutations(range(len(slot)), 2):
        if slot[a] // 4 != slot[b] // 4:
            out[slot[a] // 2] += NIC * weights[a, b]
            into[slot[b] // 2] += NIC * weights[a, b]
    each = [load * share for loads in (out, into) for load, share in zip(loads, SHARES * nodes, strict=True)]
    every = [
        load for load, share in zip(each, SHARES * nodes * 2, strict=True) for _ in range(round(1 / share))
    ]
    whole = expected(weights, slot, 2, 2)[0]
    node_loads = [*out.reshape(-1, 2).sum(axis=1), *into.reshape(-1, 2).sum(axis=1)]
    return whole - norm(node_loads) + norm(every), max([*each, 0.0])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000))
def test_loads_of_interfaces_are_in_the_score_and_in_its_changes(ranks, seed):
    weights, search = random_weights(ranks, seed), None
    search = with_interfaces(weights, 3)
    start = np.random.default_rng(seed).permutation(12)[:ranks].tolist()
    assert search.score(start) == pytest.approx(defined(weights, start, 3), rel=1e-5, abs=1e-9)
    refined = search.refine(start, seed=seed)
    assert search.score(refined)[0] == pytest.approx(defined(weights, refined, 3)[0], rel=1e-5, abs=1e-9)
    assert search.score(refined)[0] <= search.score(start)[0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_of_all_placements_of_eight_ranks_is_found(seed):
    weights = random_weights(8, seed)
    search = with_interfaces(weights, 2)
    best = min(search.score(list(slot))[0] for slot in itertools.permutations(range(8)))
    starts = [search.grow(), *(np.random.default_rng(s).permutation(8).tolist() for s in range(30))]
    found = min(search.score(search.refine(start, seed=seed))[0] for start in starts)
    assert found == pytest.approx(best, rel=1e-6)


def test_interfaces_need_a_group_for_each_slot_and_shares():
    search = search_for(random_weights(4, 1), 1, 2, 2)
    for of_slot, shares in (([0], [1.0]), ([0, 0, 1, 1], [1.0]), ([0] * 4, [0.0])):
        with pytest.raises(RankwiseError, match="each slot needs interfaces"):
            search.use_interfaces(of_slot, shares)


NUMBER = '{{ value = {}, obtained = "assumed", source = "test" }}'


def machine(use="nearest", at="[0, 1]", more=""):
    link = (
        '[[link_classes]]\nchannel = "{}"\nprotocol = "offloaded"\nprogress = "independent"\noverlap = true\n'
        "[[link_classes.segments]]\n"
    )
    each = "".join(
        f"{key} = {NUMBER.format(0.0)}\n" for key in ("o_s", "g_s", "G_s_per_byte", "O_s_per_byte")
    )
    return loads(
        'schema = "rankwise.machine/1"\nname = "test"\n[node]\ncount = 2\ntopology = "package:2 core:2 pu:1"\n'
        f'[interfaces]\nper = "package"\nat = {at}\nuse = "{use}"\n{more}\n'
        + "".join(
            f'[[resources]]\nname = "{kind}"\nkind = "{kind}"\ndiscipline = "fifo"\nper = "interface"\n'
            f"capacity_bytes_per_s = {NUMBER.format(1e9)}\n"
            for kind in ("nic_tx", "nic_rx")
        )
        + "".join(
            link.format(name) + each + f"L_s = {NUMBER.format(latency)}\n"
            for name, latency in (("package", 1e-6), ("node", 1e-6), ("network", 2e-6))
        )
    )


# Ranks 0 and 1 talk to 4 and 5 on the other node all the time, the others with their neighbours a little.
TALKERS = [(0, 4), (1, 5), (4, 0), (5, 1)]


def talking(size=100_000):
    pairs = [*TALKERS, (2, 3), (3, 2), (6, 7), (7, 6)]
    lines = [[] for _ in range(8)]
    for source, target in pairs:
        much = size if (source, target) in TALKERS else 10
        lines[source].append(f"send {much}b to {target}")
        lines[target].append(f"recv {much}b from {source}")
    goal = "num_ranks 8\n" + "".join(
        f"rank {r} {{\n" + "\n".join(own) + "\n}\n" for r, own in enumerate(lines)
    )
    rows = [(a, b, 1, size if (a, b) in TALKERS else 10) for a, b in pairs]
    messages = pl.DataFrame(rows, schema=["source", "destination", "messages", "bytes"], orient="row")
    return _core.schedule.Schedule.read_goal(goal, "test.goal"), messages


def test_groups_of_interfaces_follow_the_machine_file():
    topology = topology_of(machine(), ".")
    slots = CoreSlots.of(topology)
    assert interface_groups(machine(), topology, slots) == ([0, 0, 1, 1, 2, 2, 3, 3], [1.0] * 4)
    # WHEN the rank's number decides, all of a node are shared evenly; so are two at one package
    assert interface_groups(machine("block"), topology, slots) == ([0] * 4 + [1] * 4, [0.5, 0.5])
    assert interface_groups(machine(at="[0, 0, 1]"), topology, slots)[1] == [0.5, 1.0, 0.5, 1.0]


def test_ranks_that_talk_over_the_network_are_spread_over_packages():
    # GIVEN two ranks of each node that send 0.1 ms through an interface; all 8 stay on their nodes by their number
    schedule, messages = talking()
    where = machine()
    topology = topology_of(where, ".")
    predictor = Predictor.of(Source(schedule), where, topology)
    search = make_search(predictor, messages, topology)
    blocked = search.simple()[0].placement
    assert predictor.predict(blocked).makespan_s == pytest.approx(2e-6 + 2 * 1e-4, rel=1e-3)
    # WHEN they are placed within their nodes
    keep = PlacementSearch(messages, 8, where, topology)
    slot = keep._search.refine(list(range(8)), seed=1, keep_nodes=True)
    # THEN each talker of a node has an interface of its own
    assert slot[0] // 2 != slot[1] // 2
    assert slot[4] // 2 != slot[5] // 2
    found = run_search(search, predictor, None, seed=1, budget_s=1.0)[-1]
    crossing = found.prediction.by_interface["tx"]["bytes"]
    assert found.makespan_s <= 2e-6 + 1e-4 * 1.001
    assert crossing.max() <= 100_000 + 20


def test_estimates_of_placements_tell_interfaces_apart():
    # GIVEN talkers of a node beside each other, and on different packages
    schedule, messages = talking()
    where = machine()
    topology = topology_of(where, ".")
    predictor = Predictor.of(Source(schedule), where, topology)
    search = PlacementSearch(messages, 8, where, topology)
    placements = [
        search.placement(slots, "test") for slots in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 1, 3, 4, 6, 5, 7])
    ]
    estimated, replayed = predictor.estimates_s(placements), predictor.makespans_s(placements)
    assert replayed == pytest.approx([2e-6 + 2e-4, 2e-6 + 1e-4], rel=1e-3)
    assert estimated == pytest.approx(replayed, rel=1e-6)
