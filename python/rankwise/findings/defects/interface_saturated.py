# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of a node wait for its network interface."""

from __future__ import annotations

import numpy as np

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.machine.machine import INTERFACE_KINDS, Machine
from rankwise.machine.placement import Placement
from rankwise.placement.simple import allocate_unlike
from rankwise.quantities import counted, seconds_text
from rankwise.replay.prediction import Prediction

NAME = "interface-saturated"
PAGE = """\
The ranks of a node send and receive more than its network interface can
carry, so they wait for it. With fewer ranks per node the run is faster.

What to do: use more nodes with fewer ranks each. Put ranks that exchange many
messages on one node (see far-placement). If nodes have several interfaces,
spread the ranks over them, as `rankwise place` does.

How it is detected: this needs a trace and a machine file (`--machine`).
Rankwise replays the run twice more: once with interfaces that cost nothing,
and once with half as many ranks per node on twice as many nodes.

Shown if: each of the two replays saves 5 % of the run time and 10 ms.

Its cost: the predicted time of the recorded placement, minus that on twice as
many nodes. If the machine does not have so many, the cost is not known.

It is wrong if: the run takes as long with half as many ranks per node.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of all nodes together."""
    there = evidence.on_machine
    names = {resource.name for resource in there.machine.resources if resource.kind in INTERFACE_KINDS}
    losses = [
        loss for loss in there.losses if loss.kind == "resource" and names.issuperset(loss.name.split("+"))
    ]
    top = max(losses, key=lambda each: each.lost_s, default=None)
    limit_s = max(LEAST_S, LEAST_SHARE * evidence.elapsed_s)
    most = max(there.recorded.node.tolist().count(node) for node in set(there.recorded.node.tolist()))
    if top is None or top.lost_s < limit_s or most < 2:
        return []
    spread = _on_twice_the_nodes(evidence, most)
    cost_s = None if spread is None else there.saved_s(spread)
    if cost_s is not None and cost_s < limit_s:
        return []
    nodes = len(set(there.recorded.node.tolist()))
    run_s = there.prediction.makespan_s
    saved = f"{seconds_text(top.lost_s)} of {seconds_text(run_s)} would be saved if it took no time"
    return [
        Finding(
            name=NAME,
            sentence=f"up to {counted(most, 'rank')} of a node wait for its network interface"
            + (f": {saved}" if cost_s is None else ""),
            evidence=[
                f"{saved} ({top.name.replace('+', ', ')})",
                *_busiest(there.prediction, there.machine),
            ],
            ranks=[],
            cost_s=cost_s,
            estimate=f"predicted with half as many ranks a node, on {counted(2 * nodes, 'node')}"
            if spread is not None
            else f"not predicted: the machine has fewer than {counted(2 * nodes, 'node')}",
            do="use more nodes with fewer ranks each, or put ranks that talk to each other on one node",
            command=None,
            confidence="medium",
            refuted_by="a run with half as many ranks a node that takes as long",
        )
    ]


def _busiest(prediction: Prediction, machine: Machine) -> list[str]:
    """Which of several interfaces most was waited for."""
    if machine.interfaces is None or not prediction.has_several_interfaces:
        return []
    way = max(("tx", "rx"), key=lambda each: prediction.by_interface[each]["queued_s"].max())
    queued = prediction.by_interface[way]["queued_s"]
    node, number = np.unravel_index(int(queued.argmax()), queued.shape)
    name = prediction.placement.node_names[int(node)]
    return [
        f"most at {machine.interfaces.describe(int(number))} of {name} ({way}): messages queued there for "
        f"{seconds_text(float(queued.max()))} in all, at all interfaces of the node for "
        f"{seconds_text(float(queued[node].sum()))}"
    ]


def _on_twice_the_nodes(evidence: Evidence, most: int) -> Placement | None:
    """In the order of the ranks, with half as many a node; `None` where the machine has too few nodes."""
    there = evidence.on_machine
    nodes = 2 * len(set(there.recorded.node.tolist()))
    if nodes > len(there.topology.nodes):
        return None
    return allocate_unlike(len(there.recorded.node), there.topology.nodes[:nodes], -(-most // 2))
