# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that wait for the interface of their node: which of several is said."""

from types import SimpleNamespace

import numpy as np

from rankwise.findings.defects import interface_saturated
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.replay.prediction import of_nodes


def told(queued_s, interfaces):
    """The finding about two nodes of two ranks each that lost 2 s to their interfaces."""
    kinds = [SimpleNamespace(name=kind, kind=kind) for kind in ("nic_tx", "nic_rx")]
    loads = {key: np.zeros((2, len(queued_s[0]))) for key in ("messages", "bytes", "busy_s")}
    by_interface = {
        "tx": {**loads, "queued_s": np.array(queued_s)},
        "rx": {**loads, "queued_s": 0 * np.array(queued_s)},
    }
    prediction = SimpleNamespace(
        makespan_s=10.0,
        placement=SimpleNamespace(node_names=("a", "b")),
        by_interface=by_interface,
        interfaces=of_nodes(by_interface),
        has_several_interfaces=len(queued_s[0]) > 1,
    )
    there = SimpleNamespace(
        machine=SimpleNamespace(resources=kinds, interfaces=interfaces),
        losses=[SimpleNamespace(kind="resource", name="nic_tx+nic_rx", lost_s=2.0)],
        recorded=SimpleNamespace(node=np.array([0, 0, 1, 1])),
        topology=Topology.of(from_synthetic("package:2 core:2 pu:1"), 2),
        prediction=prediction,
    )
    (finding,) = interface_saturated.find(SimpleNamespace(on_machine=there, elapsed_s=10.0))
    return finding


def test_the_interface_that_was_waited_for_most_is_named():
    finding = told([[0.5, 1.0], [0.0, 4.0]], Interfaces(per="package", at=[0, 1], use="nearest"))
    assert finding.evidence[1] == (
        "most at interface 1 at package 1 of b (tx): messages queued there for 4 s in all, "
        "at all interfaces of the node for 4 s"
    )


def test_of_one_interface_a_node_nothing_more_is_said():
    assert len(told([[0.5], [4.0]], None).evidence) == 1
