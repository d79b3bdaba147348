# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks are: nodes with their cores, bytes between them, interfaces and who takes their interrupts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.findings.cores import receiving_pus
from rankwise.machine.topology import NodeTopology
from rankwise.placement.distribution import CommMatrix
from rankwise.recording import Recording
from rankwise.report.data import map as data
from rankwise.report.placements import Placed
from rankwise.report.use_data import Use

_MOST_LINKS = 20_000


def node_map(placements: Sequence[Placed], messages: CommMatrix, use: Use, recording: Recording) -> data.Map:
    """The nodes under each placement.

    Args:
        placements: The one of the run first, if it is known.
        messages: Between ranks.
        use: What the nodes' interfaces did.
        recording: The run.
    """
    hosts = [host["host"] for host in recording.context["hosts"]]
    interfaces: dict[str, list[data.NodeInterface]] = {}
    for each in use.interfaces:
        if not each.idle and each.interface != "lo" and each.ranks != "":
            found = data.NodeInterface(each.interface, each.rx_bytes, each.tx_bytes)
            interfaces.setdefault(hosts[each.host], []).append(found)
    interrupted: dict[str, list[int]] = {}
    for host, pu in {} if use.emulated else receiving_pus(recording):
        interrupted.setdefault(host, []).append(pu)
    kinds: dict[NodeTopology, int] = {}
    placed = [_placed(each, messages, kinds, interfaces, interrupted) for each in placements]
    return data.Map([_kind(node) for node in kinds], placed)


def _kind(node: NodeTopology) -> data.NodeKind:
    return data.NodeKind(
        pus=[list(pus) for pus in node.pus],
        packages=list(node.packages),
        numa_nodes=list(node.numa_nodes),
        caches=[data.CacheLevel(name, list(of_core)) for name, of_core in node.caches],
    )


def _placed(
    placed: Placed,
    messages: CommMatrix,
    kinds: dict[NodeTopology, int],
    interfaces: dict[str, list[data.NodeInterface]],
    interrupted: dict[str, list[int]],
) -> data.PlacedMap:
    placement = placed.placement
    used, node = np.unique(placement.node, return_inverse=True)
    ranks_of: list[list[int]] = [[] for _ in used]
    for rank, at in enumerate(node.tolist()):
        ranks_of[at].append(rank)
    between = (messages.destination >= 0) & (messages.destination != messages.source)
    pair = node[messages.source[between]] * len(used) + node[messages.destination[between]]
    pairs, of_pair = np.unique(pair, return_inverse=True)
    sums = [
        np.bincount(of_pair, weights=column[between], minlength=len(pairs)).astype(np.int64)
        for column in (messages.messages, messages.bytes)
    ]
    source, destination, size = pairs // len(used), pairs % len(used), sums[1]
    stays = source == destination
    inside, sent, received = (
        np.bincount(ends[which], weights=size[which], minlength=len(used)).astype(np.int64).tolist()
        for ends, which in ((source, stays), (source, ~stays), (destination, ~stays))
    )
    nodes = []
    for at, (index, ranks) in enumerate(zip(used.tolist(), ranks_of, strict=True)):
        topology, name = placed.topology.nodes[index], placement.node_names[index]
        own = [list(placement.cores_of(rank)) for rank in ranks]
        nodes.append(
            data.MapNode(
                name=name,
                kind=kinds.setdefault(topology, len(kinds)),
                ranks=ranks,
                cores=[[] if 1 < len(cores) == topology.cores else cores for cores in own],
                inside_bytes=inside[at],
                sent_bytes=sent[at],
                received_bytes=received[at],
                interfaces=interfaces.get(name, []),
                interrupt_pus=sorted(interrupted.get(name, [])),
            )
        )
    most = np.sort(np.argsort(-size, kind="stable")[:_MOST_LINKS])
    ends = source[most].tolist(), destination[most].tolist()
    links = data.NodeLinks(*ends, sums[0][most].tolist(), sums[1][most].tolist(), len(pairs) - len(most))
    return data.PlacedMap(placed.name, nodes, links)
