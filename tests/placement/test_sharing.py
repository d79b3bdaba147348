# SPDX-License-Identifier: BSD-3-Clause
"""What ranks share under a placement."""

import pytest

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.sharing import Shared, sharing
from rankwise.placement.simple import allocate

# Two packages, each a memory of its own, with two L2 caches of two cores each.
NODE = from_synthetic("package:2 [numa] l2:2 core:2 pu:1")


@pytest.mark.parametrize(
    ("allocation", "order", "node", "memory", "cache"),
    [
        ("blocked", "logical", Shared(4, 4.0), Shared(4, 4.0), Shared(2, 2.0)),
        ("cyclic", "0,2,4,6", Shared(4, 4.0), Shared(2, 2.0), Shared(1, 1.0)),
    ],
)
def test_sharers_of_nodes_memories_and_caches_are_counted(allocation, order, node, memory, cache):
    # GIVEN 8 ranks on two nodes, close together or as far apart as the node allows
    placement, topology = allocate(8, 2, 4, NODE, allocation, order)
    # WHEN what they share is counted
    found = sharing(placement, topology)
    # THEN each thing has as many as its cores were given to
    assert (found.node, found.memory, found.caches) == (node, memory, {"L2": cache})
    # AND evenly, a rank's 4 peers of 7 are on the other node
    assert found.even_share == pytest.approx(4 / 7)


def test_the_mean_counts_what_ranks_find_and_unbound_ranks_are_in_no_memory():
    # GIVEN three ranks in one cache's package, of which one may run anywhere on the node
    topology = Topology.of(NODE, 1)
    placement = Placement.explicit(topology, [(0, [0]), (0, [1]), (0, range(8))])
    found = sharing(placement, topology)
    # THEN two are in one memory and one cache, and all on the node
    assert (found.node, found.memory, found.caches["L2"]) == (Shared(3, 3.0), Shared(2, 2.0), Shared(2, 2.0))


def test_a_single_rank_has_no_even_distribution():
    topology = Topology.of(NODE, 1)
    assert sharing(Placement.explicit(topology, [(0, [5])]), topology).even_share is None
