# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are where, and the bytes between nodes."""

import msgspec
import numpy as np
import pytest
from browser import drawn, opened
from enlarged import enlarged

from rankwise.placement.distribution import CommMatrix
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.data.map import NodeLinks
from rankwise.report.html import render
from rankwise.report.map import node_map
from rankwise.report.placements import Asked, asked_placements, recorded_placement
from rankwise.report.use import use
from rankwise.report.use_data import InterfaceUse


@pytest.fixture
def recording(record):
    """16 ranks on 4 nodes of 2 packages of 2 cores."""
    return Recording.open(record())


def test_bytes_are_those_inside_and_between_nodes(recording):
    # GIVEN messages inside node 0, between nodes 0 and 1, of a rank to itself, and to nobody known
    messages = CommMatrix(
        *map(
            np.array, ([0, 0, 5, 3, 2], [1, 4, 0, 3, -1], [64] * 5, [1, 2, 1, 1, 1], [100, 10, 7, 999, 5000])
        )
    )
    (placed,) = node_map([recorded_placement(recording)], messages, use(recording), recording).placed
    # THEN each is where it belongs
    found = [(node.inside_bytes, node.sent_bytes, node.received_bytes) for node in placed.nodes]
    assert found == [(100, 10, 7), (0, 7, 10), (0, 0, 0), (0, 0, 0)]
    links = placed.links
    assert list(zip(links.source, links.destination, links.messages, links.bytes, strict=True)) == [
        (0, 0, 1, 100),
        (0, 1, 2, 10),
        (1, 0, 1, 7),
    ]


def test_each_rank_is_on_its_core_under_each_placement(recording):
    report = build(recording, asked_placements(recording, Asked(nodes="2x8", node="package:2 core:4")))
    ran, asked = report.map.placed
    # GIVEN the kinds of nodes of both
    assert [kind.packages for kind in report.map.kinds] == [[0, 0, 1, 1], [0] * 4 + [1] * 4]
    # THEN ranks are dealt as the run and the placement have it
    assert [(node.name, node.ranks) for node in ran.nodes][1] == ("n1", [4, 5, 6, 7])
    assert ran.nodes[1].cores == [[0], [1], [2], [3]]
    assert [node.ranks for node in asked.nodes] == [list(range(8)), list(range(8, 16))]
    assert asked.nodes[1].kind == 1 and asked.nodes[1].cores == [[core] for core in range(8)]


def test_an_interface_that_no_rank_used_is_not_in_the_map(recording):
    # GIVEN interfaces that ranks used, that none did, of which it is not known, and that are idle
    own = {"state": "up", "rx_bytes": 5, "tx_bytes": 7, "rx_packets": 1, "tx_packets": 1, "lost": 0}
    own |= {"rank_bytes": 9, "interrupt_pus": "", "counters": {}}
    seen = [
        ("ib0", "0-3", False),
        ("eth0", "", False),
        ("eth1", None, False),
        ("eth2", "0", True),
        ("lo", "1", False),
    ]
    interfaces = [
        InterfaceUse(host=0, interface=name, ranks=ranks, idle=idle, **own) for name, ranks, idle in seen
    ]
    used = msgspec.structs.replace(use(recording), interfaces=interfaces)
    no_messages = CommMatrix(*(np.zeros(0, int) for _ in range(5)))
    (placed,) = node_map([recorded_placement(recording)], no_messages, used, recording).placed
    assert [[each.name for each in node.interfaces] for node in placed.nodes] == [["ib0", "eth1"], [], [], []]


def test_a_rank_that_may_use_the_whole_node_has_no_core(record):
    (placed,) = build(Recording.open(record(bound=False))).map.placed
    assert [node.cores for node in placed.nodes] == [[[]] * 4] * 4


def test_a_rank_whose_node_is_not_known_is_a_rank_all_the_same(report, tmp_path):
    # GIVEN a map of all nodes but that of ranks 4 to 7, of which nobody knows where they ran
    large = enlarged(report, 640)
    whole = large.map.placed[0]
    nodes = [node for node in whole.nodes if 4 not in node.ranks]
    links = NodeLinks([], [], [], [], left_out=0)
    placed = msgspec.structs.replace(whole, nodes=nodes, links=links)
    text = render(msgspec.structs.replace(large, map=msgspec.structs.replace(large.map, placed=[placed])))
    with opened(text, tmp_path) as shown:
        drawn(shown)
        ask, found = shown.page.locator("#map-picture input"), shown.page.locator("#map-picture .nodes").first
        # WHEN one of them is asked for, and one that is not there
        for rank, said in ((4, "The node of rank 4 is not known."), (640, "There is no rank 640 here.")):
            ask.fill(str(rank))
            ask.press("Enter")
            # THEN each is told from the other
            assert said in found.inner_text()
        assert (shown.problems, shown.requests) == ([], [])
