# SPDX-License-Identifier: BSD-3-Clause
"""Channels between ranks, from a topology and a placement."""

import numpy as np
import pytest

from rankwise.machine import channels, topology
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.simple import allocate


def between(placement: Placement, nodes: Topology, source: int, destination: int) -> str:
    where = placement.locations(nodes)
    return where.channels[where.between(np.array([source]), np.array([destination]))[0]]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("package:2 core:2", ()),
        ("package:2 l3:1 core:4", ()),  # the cache is the package's
        ("package:2 l3:2 core:2", ("L3",)),
        ("package:1 l3:2 l2:1 core:2", ("L2",)),  # L3 groups as L2 does: nothing travels it
        ("package:1 l3:2 l2:2 core:2 pu:2", ("L2", "L3")),
        ("l3:1 package:2 core:2", ()),  # wider than a package
    ],
)
def test_a_cache_is_a_channel_if_it_groups_cores_more_finely(description, expected):
    assert channels.cache_channels(topology.from_synthetic(description)) == expected


def test_every_channel_of_two_nodes_with_two_cache_levels():
    # GIVEN nodes of 2 packages, each 2 L3 with 2 L2 of 2 cores; 32 ranks blocked
    node = topology.from_synthetic("package:2 l3:2 l2:2 core:2")
    placement, nodes = allocate(32, 2, 16, node)
    # THEN rank 0 meets the others at the narrowest level
    found = [between(placement, nodes, 0, rank) for rank in (0, 1, 2, 3, 4, 7, 8, 15, 16, 31)]
    assert found == ["self", "L2", "L3", "L3", "package", "package", "node", "node", "network", "network"]


def test_unbound_ranks_are_not_guessed():
    # GIVEN rank 0 on a core, 1 on its package, 2 on the other package, 3 unbound, 4 unbound on another node
    node = topology.from_synthetic("package:2 l2:2 core:2")
    nodes = Topology.of(node, 2)
    everything = range(8)
    placement = Placement.from_bindings(
        nodes, [0, 0, 0, 0, 1], [[0], [0, 1, 2, 3], [4, 5, 6, 7], everything, everything]
    )
    # THEN a channel is named only where it is certain
    assert between(placement, nodes, 0, 1) == "package"
    assert between(placement, nodes, 0, 2) == "node"
    assert between(placement, nodes, 1, 2) == "node"
    assert between(placement, nodes, 0, 3) == "unbound"
    assert between(placement, nodes, 3, 4) == "network"
    assert between(placement, nodes, 3, 3) == "self"
    assert placement.bound.tolist() == [True, False, False, False, False]


def test_a_node_with_one_package_is_certain_even_unbound():
    nodes = Topology.of(topology.from_synthetic("package:1 core:4"), 1)
    placement = Placement.from_bindings(nodes, [0, 0], [range(4), range(4)])
    assert between(placement, nodes, 0, 1) == "package"


def test_nodes_of_different_kinds_keep_their_own_channels():
    # GIVEN a node where the L3 is narrower than the package, and one where it is the package's
    split = topology.from_synthetic("package:1 l3:2 core:2")
    whole = topology.from_synthetic("package:2 l3:1 core:2")
    nodes = Topology((split, whole))
    placement = Placement.explicit(nodes, [(0, [0]), (0, [1]), (0, [2]), (1, [0]), (1, [1]), (1, [2])])
    assert between(placement, nodes, 0, 1) == "L3"
    assert between(placement, nodes, 0, 2) == "package"
    assert between(placement, nodes, 3, 4) == "package"
    assert between(placement, nodes, 3, 5) == "node"
    assert between(placement, nodes, 0, 3) == "network"
