# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution: known answers first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.machine import topology
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.distribution import CommMatrix, even_distribution, message_distribution
from rankwise.placement.distribution_data import MessageDistribution
from rankwise.placement.simple import allocate

NODE = topology.from_synthetic("package:2 core:2")
OS_NODE = topology.from_synthetic("package:2 core:2(indexes=0,2,1,3)")


def columns(rows: list[tuple[int, int, int, int]]) -> CommMatrix:
    """Messages from (source, destination, size in bytes, number)."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    sizes = table[:, 2].tolist()
    upper = np.array([1 << (size - 1).bit_length() if size else 0 for size in sizes], dtype=np.int64)
    return CommMatrix(table[:, 0], table[:, 1], upper, table[:, 3], table[:, 2] * table[:, 3])


def pairwise(ranks: int, size: int = 1024) -> CommMatrix:
    """Every rank sends one message to every other, as a pairwise all-to-all does."""
    return columns([(i, (i + step) % ranks, size, 1) for step in range(1, ranks) for i in range(ranks)])


def shares(part, of: str = "message_share") -> dict[str, float]:
    return {share.channel: getattr(share, of) for share in part.channels}


def distribution_of(messages: CommMatrix, placement: Placement, nodes: Topology) -> MessageDistribution:
    return message_distribution(messages, placement.locations(nodes))


def test_a_pairwise_exchange_of_16_ranks_at_4x4_is_the_even_distribution():
    # GIVEN all with all on 4 nodes of 2 packages of 2 cores
    placement, nodes = allocate(16, 4, 4, NODE)
    # WHEN distributed
    found = distribution_of(pairwise(16), placement, nodes)
    # THEN it is claim C-even, exactly, in messages and bytes
    expected = {"package": 1 / 15, "node": 2 / 15, "network": 12 / 15}
    assert shares(found.total) == pytest.approx(expected)
    assert shares(found.total, "byte_share") == pytest.approx(expected)
    assert {each.channel: each.share for each in found.even} == pytest.approx(expected)
    assert [f"{share:.1%}" for share in expected.values()] == ["6.7%", "13.3%", "80.0%"]


@pytest.mark.parametrize(("layout", "network"), [((8, 2), 14 / 15), ((4, 4), 12 / 15)])
def test_the_even_share_of_the_network_is_that_of_the_network_sharing_paper(layout, network):
    # Claim N-even: 93 % at 8x2 and 80 % at 4x4.
    placement, nodes = allocate(16, *layout, NODE)
    assert even_distribution(placement.locations(nodes))["network"] == pytest.approx(network)


def test_two_ranks_have_one_channel():
    for place, channel in (([0, 1], "package"), ([0, 2], "node")):
        nodes = Topology.of(NODE, 1)
        placement = Placement.explicit(nodes, [(0, [core]) for core in place])
        found = distribution_of(columns([(0, 1, 8, 3), (1, 0, 0, 1)]), placement, nodes)
        assert shares(found.total)[channel] == 1.0
        assert sum(shares(found.total).values()) == 1.0


def test_os_core_order_moves_neighbours_across_packages():
    # GIVEN ranks that talk to their neighbour r ^ 1 only, on cores 0..3 of the kernel's numbering
    neighbours = columns([(rank, rank ^ 1, 64, 5) for rank in range(16)])
    placement, nodes = allocate(16, 4, 4, OS_NODE, core_order="os")
    # THEN none of it stays in a package (what claim C-cores infers for BT, SP, LU), while in logical order
    # all does
    assert shares(distribution_of(neighbours, placement, nodes).total)["package"] == 0
    logical, nodes = allocate(16, 4, 4, OS_NODE, core_order="logical")
    assert shares(distribution_of(neighbours, logical, nodes).total)["package"] == 1


def test_shares_are_averages_over_ranks_and_not_of_the_total():
    # GIVEN rank 0 with 99 messages in its package, rank 1 with 1 message over the network
    nodes = Topology.of(NODE, 2)
    placement = Placement.explicit(nodes, [(0, [0]), (0, [1]), (1, [0])])
    found = distribution_of(columns([(0, 1, 8, 99), (1, 2, 8, 1)]), placement, nodes)
    # THEN each of the two counts the same; rank 2, which sends nothing, does not count
    assert shares(found.total) == pytest.approx({"package": 0.5, "node": 0.0, "network": 0.5})
    assert shares(found.total, "message_share_of_all") == pytest.approx(
        {"package": 0.99, "node": 0.0, "network": 0.01}
    )


def test_ranges_include_their_upper_end():
    # GIVEN one message at and one above each end of a range
    sizes = [0, 1, 256, 257, 4096, 4097, 65536, 65537, 262144, 262145]
    placement, nodes = allocate(2, 1, 2, NODE)
    found = distribution_of(columns([(0, 1, size, 1) for size in sizes]), placement, nodes)
    # THEN (a, b] holds b and not a, and 0 bytes are in the first
    assert [part.messages for part in found.ranges] == [3, 2, 2, 2, 1]
    assert [part.message_share for part in found.ranges] == pytest.approx([0.3, 0.2, 0.2, 0.2, 0.1])
    assert [(part.over_bytes, part.up_to_bytes) for part in found.ranges][::4] == [
        (None, 256),
        (262144, None),
    ]


def test_messages_to_self_and_to_nobody_known_are_in_no_share():
    placement, nodes = allocate(2, 1, 2, NODE)
    found = distribution_of(columns([(0, 0, 100, 7), (0, 1, 8, 1), (1, -1, 50, 2)]), placement, nodes)
    assert (found.self_messages, found.self_bytes) == (7, 700)
    assert (found.unknown_messages, found.unknown_bytes) == (2, 100)
    assert found.total.messages == 1
    assert shares(found.total) == {"package": 1.0, "node": 0.0, "network": 0.0}


def test_caches_are_part_of_their_package():
    # GIVEN 2 L3 in a package; rank 0 sends to its L3 sibling once and to the other L3 three times
    nodes = Topology.of(topology.from_synthetic("package:1 l3:2 core:2"), 1)
    placement = Placement.explicit(nodes, [(0, [core]) for core in range(4)])
    found = distribution_of(columns([(0, 1, 8, 1), (0, 2, 8, 3)]), placement, nodes)
    assert shares(found.total) == pytest.approx({"package": 1.0, "L3": 0.25, "node": 0.0, "network": 0.0})
    assert {share.channel: share.part_of for share in found.total.channels}["L3"] == "package"
    assert even_distribution(placement.locations(nodes))["L3"] == pytest.approx(1 / 3)


def test_unbound_ranks_get_a_row_of_their_own():
    nodes = Topology.of(NODE, 1)
    placement = Placement.from_bindings(nodes, [0, 0], [range(4), range(4)])
    found = distribution_of(columns([(0, 1, 8, 1)]), placement, nodes)
    assert shares(found.total) == {"package": 0.0, "node": 0.0, "network": 0.0, "unbound": 1.0}
    assert {each.channel: each.share for each in found.even}["unbound"] == 1.0


def test_no_messages_and_one_rank_have_no_shares():
    placement, nodes = allocate(1, 1, 1, NODE)
    found = distribution_of(columns([]), placement, nodes)
    assert found.even == []
    assert set(shares(found.total).values()) == {None}


KINDS = [NODE, topology.from_synthetic("package:2 l3:2 l2:2 core:2"), topology.from_synthetic("core:3")]


@st.composite
def programs(draw):
    """Messages between ranks on random sets of cores of random nodes."""
    nodes = Topology(tuple(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))))
    ranks = draw(st.integers(2, 12))
    places = []
    for _ in range(ranks):
        node = draw(st.integers(0, len(nodes.nodes) - 1))
        cores = draw(st.sets(st.integers(0, nodes.nodes[node].cores - 1), min_size=1, max_size=4))
        places.append((node, sorted(cores)))
    rank = st.integers(0, ranks - 1)
    rows = draw(st.lists(st.tuples(rank, rank, st.integers(0, 10**6), st.integers(1, 50)), max_size=30))
    return nodes, Placement.explicit(nodes, places), columns(rows)


@given(programs())
def test_shares_add_up_and_nothing_is_lost(program):
    nodes, placement, messages = program
    found = distribution_of(messages, placement, nodes)
    parts = [found.total, *found.ranges]
    for part in parts:
        top = [share for share in part.channels if share.part_of is None]
        for count, key in ((part.messages, "message_share"), (part.bytes, "byte_share")):
            assert count == sum(getattr(share, "messages" if key[0] == "m" else "bytes") for share in top)
            if count:
                assert sum(getattr(share, key) for share in top) == pytest.approx(1)
    if found.total.messages:
        assert sum(part.message_share for part in found.ranges) == pytest.approx(1)
    assert found.total.messages + found.self_messages == messages.messages.sum()
    assert found.total.bytes + found.self_bytes == messages.bytes.sum()


@given(programs())
def test_the_even_distribution_is_that_of_a_pairwise_exchange(program):
    # GIVEN any placement, bound or not
    nodes, placement, _ = program
    found = distribution_of(pairwise(placement.ranks, 8), placement, nodes)
    # THEN the closed form equals what counting all pairs gives
    even = {each.channel: each.share for each in found.even}
    for channel, share in shares(found.total).items():
        assert even[channel] == pytest.approx(share), channel
