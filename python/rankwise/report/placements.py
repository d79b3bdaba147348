# SPDX-License-Identifier: BSD-3-Clause
"""Which placements a report is asked for, besides the one of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine import topology as topologies
from rankwise.machine.placement import Placement, for_another_kind
from rankwise.machine.synthetic import numbers_cores
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.placement import file as placement_file
from rankwise.placement.simple import allocate, parse_nodes
from rankwise.quantities import counted
from rankwise.recording import Recording


@dataclass(frozen=True)
class Asked:
    """What was asked for, as typed.

    Attributes:
        nodes: `PxQ`, or `None`.
        allocations: `blocked`, `cyclic`, `plane=K`.
        node: Synthetic description or XML file of each node, or `None`.
        core_order: See `ordered_cores`, or `None` for: `os` if `node` numbers its cores, else `logical`.
        placement: Path of a placement file, or `None`.
    """

    nodes: str | None = None
    allocations: Sequence[str] = ()
    node: str | None = None
    core_order: str | None = None
    placement: str | None = None


@dataclass(frozen=True)
class Placed:
    """A placement with the topology it is meant in, and how to call it."""

    name: str
    nodes: str
    core_order: str | None
    placement: Placement
    topology: Topology


def recorded_placement(recording: Recording) -> Placed | None:
    """Where the ranks ran; `None` if that is not known."""
    if recording.topology is None or recording.placement is None:
        return None
    return Placed("as it ran", _text_of(recording.topology), None, recording.placement, recording.topology)


def asked_placements(recording: Recording, asked: Asked) -> list[Placed]:
    """The placements asked for, in order.

    Raises:
        RankwiseError: One is impossible, or its nodes are not known.
    """
    found = []
    if asked.placement:
        found.append(_from_file(recording, asked.placement, asked))
    if asked.nodes or asked.allocations or (asked.node and not asked.placement):
        found += _allocated(recording, asked)
    return found


def _from_file(recording: Recording, path: str, asked: Asked) -> Placed:
    placement = placement_file.load(path)
    if placement.ranks != recording.world_size:
        raise RankwiseError(
            f"`{path}` places {placement.ranks} ranks, the recording has {recording.world_size}",
            "make one for this recording with `rankwise place`",
        )
    if asked.node:
        nodes = Topology.of(topologies.describe(asked.node), len(placement.node_names))
    else:
        nodes = _recorded_nodes(recording, placement)
    placement.check(nodes)
    return Placed(path, _text_of(nodes), None, placement, nodes)


def _recorded_nodes(recording: Recording, placement: Placement) -> Topology:
    """The recording's own nodes, found by the hashes in the placement."""
    known = {node.sha256: node for node in recording.topology.nodes} if recording.topology else {}
    missing = [at for at, sha256 in enumerate(placement.topology_sha256) if sha256 not in known]
    if missing:
        raise RankwiseError(
            for_another_kind(
                [placement.node_names[at] for at in missing],
                "in the recording",
                {node.kind for node in known.values()},
            ),
            "describe the nodes that it was made for, for example `--node 'package:2 core:2'`",
        )
    return Topology(tuple(known[sha256] for sha256 in placement.topology_sha256))


def _allocated(recording: Recording, asked: Asked) -> list[Placed]:
    ranks = recording.world_size
    node = topologies.describe(asked.node) if asked.node else _only_kind(recording)
    nodes, per_node = parse_nodes(asked.nodes) if asked.nodes else _natural(recording, node, asked)
    order = asked.core_order or ("os" if asked.node and numbers_cores(asked.node) else "logical")
    found = []
    for allocation in asked.allocations or ("blocked",):
        placement, topology = allocate(ranks, nodes, per_node, node, allocation, order)
        name = f"{nodes}x{per_node} {allocation}"
        found.append(Placed(name, _text_of(topology), order, placement, topology))
    return found


def _only_kind(recording: Recording) -> NodeTopology:
    kinds = set(recording.topology.nodes) if recording.topology else set()
    if len(kinds) == 1:
        return kinds.pop()
    why = "its nodes differ" if kinds else "the topology of its nodes is not in the recording"
    raise RankwiseError(
        f"`--node` is needed, as {why}", "for example `--nodes 4x4 --node 'package:2 core:2'`"
    )


def _natural(recording: Recording, node: NodeTopology, asked: Asked) -> tuple[int, int]:
    """Nodes and ranks a node where `--nodes` does not say: full nodes, or those of the run."""
    ranks = recording.world_size
    if asked.node or recording.placement is None or recording.topology is None:
        return -(-ranks // node.cores), min(node.cores, ranks)
    return len(recording.topology.nodes), int(np.bincount(recording.placement.node).max())


def _text_of(topology: Topology) -> str:
    """`4 nodes of package:2 core:2`, or what is known of nodes that were not described."""
    kinds = list(dict.fromkeys(topology.nodes))
    count = len(topology.nodes)
    nodes = counted(count, "node")
    if len(kinds) > 1:
        return f"{nodes} of {len(kinds)} kinds"
    return f"{nodes} of {kinds[0].kind}"
