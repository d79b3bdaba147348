# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of one core, of which a measured machine file has the network alone."""

from __future__ import annotations

import pytest
from machines import machine
from raw_writer import write_recording
from traced import ranks_of

from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source, load


def network_alone() -> Machine:
    described = machine({"L_s": 1e-5, "o_s": 1e-6}, nodes=2)
    described.link_classes[:] = [link for link in described.link_classes if link.channel == "network"]
    return described


def predicted_s(path, nodes):
    ranks = ranks_of(2)
    ranks[0].send(1, 8)
    ranks[1].recv(0, 8)
    ranks[1].send(1, 8)
    ranks[1].recv(1, 8)
    source = load(write_recording(path, ranks))
    described = network_alone()
    topology = topology_of(described, ".")
    placement = Placement.explicit(topology, [(node, [rank]) for rank, node in enumerate(nodes)])
    return Predictor.of(Source(source.schedule), described, topology).predict(placement).makespan_s


def test_ranks_on_nodes_of_their_own_need_no_link_class_inside_nodes(tmp_path):
    # THEN the message between them takes L and both overheads, and the one to itself no less
    assert predicted_s(tmp_path / "x.rw", [0, 1]) > 2e-5


def test_two_ranks_on_a_node_do(tmp_path):
    with pytest.raises(RankwiseError, match="no link class for channel"):
        predicted_s(tmp_path / "x.rw", [0, 0])
