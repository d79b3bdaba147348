# SPDX-License-Identifier: BSD-3-Clause
"""The search within limits: fixed ranks, forbidden cores, several cores a rank, kept nodes, other objectives."""

import itertools
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine import file as machine_file
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.constraints import Constraints
from rankwise.placement.costs import CoreSlots
from rankwise.placement.search import PlacementSearch

NODE = from_synthetic("package:2 core:2")
TOPOLOGY = Topology.of(NODE, 2)
UNEQUAL = Topology((from_synthetic("package:2 core:2"), from_synthetic("package:1 core:2")))
ASSUMED = 'obtained = "assumed", source = "test"'
LINK = """
[[link_classes]]
channel = "{channel}"
protocol = "shared-memory"
progress = "in-call"
overlap = false
eager_limit_bytes = {{ value = 1000, {assumed} }}
[[link_classes.segments]]
L_s = {{ value = {latency}, {assumed} }}
o_s = {{ value = 1e-6, {assumed} }}
g_s = {{ value = 0.0, {assumed} }}
G_s_per_byte = {{ value = 1e-8, {assumed} }}
O_s_per_byte = {{ value = 0.0, {assumed} }}
"""
NIC = """
[[resources]]
name = "{kind}"
kind = "{kind}"
discipline = "fifo"
per = "node"
capacity_bytes_per_s = {{ value = 1e8, {assumed} }}
"""
MACHINE = machine_file.loads(
    'schema = "rankwise.machine/1"\nname = "two"\n[node]\ncount = 2\ntopology = "package:2 core:2"\n'
    + "".join(NIC.format(kind=kind, assumed=ASSUMED) for kind in ("nic_tx", "nic_rx"))
    + "".join(
        LINK.format(channel=channel, latency=latency, assumed=ASSUMED)
        for channel, latency in (("package", 1e-6), ("node", 2e-6), ("network", 5e-5))
    )
)


@dataclass(frozen=True)
class Time:
    makespan_s: float


def judge(search: PlacementSearch):
    """Function: the objective as predicted time."""
    return lambda placement: Time(search.candidate("x", search.slots_of(placement)).objective_s)


def random_messages(ranks: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (a, b, int(rng.integers(1, 9)), int(rng.integers(1, 99)) * 1000)
        for a, b in itertools.permutations(range(ranks), 2)
        if rng.random() < 0.4
    ]
    return pl.DataFrame(rows, schema=["source", "destination", "messages", "bytes"], orient="row")


def limits(topology: Topology, ranks: int, **words) -> Constraints:
    return Constraints.parse(topology, ranks, **words)


@pytest.mark.parametrize("objective", ["time", "network", "bytes"])
@pytest.mark.parametrize("seed", range(3))
def test_with_two_ranks_fixed_and_two_cores_forbidden_the_optimum_is_found(seed, objective):
    # GIVEN five ranks on two nodes, of which rank 1 stays on the last core, and core 0 of both nodes is taken
    constraints = limits(TOPOLOGY, 5, fix=["1=1:3"], forbid=["*:0"])
    search = PlacementSearch(random_messages(5, seed), 5, MACHINE, TOPOLOGY, objective, constraints)
    # WHEN all placements on the six cores left are tried
    slots = range(len(search.slots.node))
    last = max(slots)
    tried = [
        search.candidate("x", list(each)) for each in itertools.permutations(slots, 5) if each[1] == last
    ]
    best = search.run(judge(search), budget_s=3)[-1]
    # THEN the search finds the best of them
    assert best.placement.node[1] == 1 and best.placement.cores_of(1) == (3,)
    assert 0 not in best.placement.cores.tolist()
    value = {"network": lambda each: each.busiest_interface_s}.get(objective, lambda each: each.objective_s)
    assert value(best) == pytest.approx(min(value(each) for each in tried), rel=1e-6)


def test_ranks_of_two_cores_get_neighbours_of_one_package():
    # GIVEN packages of three cores, of which one core is forbidden
    topology = Topology.of(from_synthetic("package:2 core:3"), 2)
    constraints = limits(topology, 3, cores_per_rank=2, forbid=["0:1"])
    slots = CoreSlots.of(topology, constraints.cores_per_rank, constraints.forbidden)
    assert slots.core.tolist() == [[0, 2], [3, 4], [0, 1], [3, 4]]
    search = PlacementSearch(random_messages(3, 1), 3, MACHINE, topology, constraints=constraints)
    best = search.run(judge(search), budget_s=1)[-1].placement
    assert all(len(best.cores_of(rank)) == 2 for rank in range(3)) and best.injective
    best.check(topology)


def test_kept_nodes_are_kept():
    # GIVEN partners on different nodes at present, which the search would bring together
    messages = pl.DataFrame(
        [(rank, (rank + 4) % 8, 10, 1_000_000) for rank in range(8)],
        schema=["source", "destination", "messages", "bytes"],
        orient="row",
    )
    current = Placement.explicit(TOPOLOGY, [(rank // 4, [3 - rank % 4]) for rank in range(8)])
    search = PlacementSearch(messages, 8, MACHINE, TOPOLOGY, constraints=limits(TOPOLOGY, 8, keep_nodes=True))
    best = search.run(judge(search), current, budget_s=1)[-1]
    # THEN nobody changes the node, although cyclic would be better
    assert best.placement.node.tolist() == current.node.tolist()
    with pytest.raises(RankwiseError, match="`--keep-nodes` needs a placement"):
        search.run(judge(search), budget_s=1)


def test_unequal_nodes_are_filled_as_far_as_they_go():
    search = PlacementSearch(random_messages(6, 2), 6, MACHINE, UNEQUAL)
    found = search.run(judge(search), budget_s=1)
    assert found[0].placement.node.tolist() == [0, 0, 0, 0, 1, 1]
    assert found[1].placement.node.tolist() == [0, 1, 0, 1, 0, 0]
    assert sorted(found[-1].placement.node.tolist()) == [0, 0, 0, 0, 1, 1] and found[-1].placement.injective


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"fix": ["9=0:0"]}, "there is no rank 9, the program has 5 ranks"),
        ({"fix": ["0=2:0"]}, "there is no node 2, the machine has 2 nodes"),
        ({"fix": ["0=0:4"]}, "there is no core 4, node 0 has 4 cores"),
        ({"fix": ["0=0:1", "3=0:1"]}, "ranks 0 and 3 are both fixed to core 1 of node 0"),
        ({"fix": ["0=0:1", "0=0:2"]}, "rank 0 is fixed twice"),
        ({"fix": ["0=0:1"], "forbid": ["0:0-1"]}, "rank 0 is fixed to core 1 of node 0, which is forbidden"),
        ({"fix": ["0"]}, "`0` does not fix a rank"),
        ({"forbid": ["0"]}, "`0` is not a core"),
        ({"forbid": ["*:7"]}, "there is no core 7, node 0 has 4 cores"),
        ({"cores_per_rank": 0}, "a rank has at least one core"),
    ],
)
def test_limits_that_cannot_be_are_refused_with_rank_and_core(words, message):
    with pytest.raises(RankwiseError) as caught:
        limits(TOPOLOGY, 5, **words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"forbid": ["*:0-1"]}, "5 ranks of 1 core do not fit: the machine has room for 4"),
        ({"cores_per_rank": 2}, "5 ranks of 2 cores do not fit: the machine has room for 4"),
    ],
)
def test_a_machine_that_is_too_small_within_the_limits_is_refused(words, message):
    with pytest.raises(RankwiseError, match=message):
        PlacementSearch(random_messages(5, 0), 5, MACHINE, TOPOLOGY, constraints=limits(TOPOLOGY, 5, **words))


def test_a_rank_cannot_be_fixed_to_the_second_core_of_a_group():
    constraints = limits(TOPOLOGY, 2, fix=["0=0:1"], cores_per_rank=2)
    with pytest.raises(
        RankwiseError, match="rank 0 is fixed to core 1 of node 0, which is not the first of 2"
    ):
        PlacementSearch(random_messages(2, 0), 2, MACHINE, TOPOLOGY, constraints=constraints)


def test_what_the_estimate_sees_decides_over_the_objective():
    # GIVEN a judge and an estimate by whom rank 0 should be on the last core, whatever it sends
    search = PlacementSearch(random_messages(5, 4), 5, MACHINE, TOPOLOGY)

    def judged(placement):
        return Time(1.0 if (placement.node[0], placement.cores_of(0)) == (1, (3,)) else 2.0)

    def estimated(placements):
        return np.array([judged(each).makespan_s for each in placements])

    # WHEN searched THEN it is there
    best = search.run(judged, budget_s=2, estimator=estimated)[-1]
    assert best.makespan_s == 1.0 and best.placement.injective
