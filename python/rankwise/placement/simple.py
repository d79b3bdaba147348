# SPDX-License-Identifier: BSD-3-Clause
"""The allocations that every launcher offers: blocked, cyclic, plane."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement, default_names
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.quantities import counted

# A machine may be larger than its job, but each node costs time and memory, whether it has ranks or not.
_MOST_EMPTY_NODES = 1024


def parse_nodes(text: str) -> tuple[int, int]:
    """Nodes and ranks a node from `PxQ`.

    Raises:
        RankwiseError: It is something else.
    """
    match = re.fullmatch(r"([1-9]\d{0,8})[xX]([1-9]\d{0,8})", text.strip())
    if not match:
        raise RankwiseError(
            f"`{text}` is not a node layout, which is written NODESxRANKS",
            "for example `--nodes 4x4` for 4 nodes with 4 ranks each",
        )
    return int(match[1]), int(match[2])


def parse_allocation(text: str, ranks_per_node: int) -> int:
    """Length of the groups of consecutive ranks that are dealt to the nodes in turn.

    `cyclic` is `plane=1`, `blocked` is `plane=Q` with Q ranks a node (Slurm's `--distribution`).
    """
    if text == "blocked":
        return ranks_per_node
    if text == "cyclic":
        return 1
    match = re.fullmatch(r"plane=([1-9]\d{0,8})", text)
    if not match:
        raise RankwiseError(
            f"`{text}` is not an allocation, which is `blocked`, `cyclic` or `plane=K`",
            "for example `--allocation plane=2` deals ranks 0 1, 2 3, ... to the nodes in turn",
        )
    if int(match[1]) > ranks_per_node:
        raise RankwiseError(
            f"`{text}` is larger than a node's {counted(ranks_per_node, 'rank')}",
            f"use at most `plane={ranks_per_node}`, which is `blocked`",
        )
    return int(match[1])


def nodes_and_slots(ranks: int, nodes: int, ranks_per_node: int, plane: int) -> tuple[np.ndarray, np.ndarray]:
    """Node of each rank and slot on it, when groups of `plane` consecutive ranks are dealt to the nodes in turn.

    The last group of a node is cut where the node is full.
    """
    plane = min(plane, ranks_per_node)
    rank = np.arange(ranks, dtype=np.int64)
    full_rounds = ranks_per_node // plane
    dealt = full_rounds * plane * nodes  # ranks dealt in groups of full length
    group = rank // plane
    node = group % nodes
    slot = (group // nodes) * plane + rank % plane
    rest = ranks_per_node - full_rounds * plane
    if rest and ranks > dealt:
        late = rank[dealt:] - dealt
        node[dealt:] = late // rest
        slot[dealt:] = full_rounds * plane + late % rest
    return node, slot


def deal(ranks: int, room: Sequence[int], plane: int) -> tuple[np.ndarray, np.ndarray]:
    """Node of each rank and slot on it, on nodes of any room: a full node is passed over.

    Args:
        ranks: Number of ranks.
        room: Most ranks on each node; there is room for all.
        plane: Consecutive ranks that are dealt to a node in turn.
    """
    if min(room) == max(room):
        return nodes_and_slots(ranks, len(room), room[0], plane)
    used = [0] * len(room)
    nodes: list[int] = []
    slots: list[int] = []
    at = 0
    while len(nodes) < ranks:
        for _ in range(min(plane, room[at] - used[at], ranks - len(nodes))):
            nodes.append(at)
            slots.append(used[at])
            used[at] += 1
        at = (at + 1) % len(room)
    return np.array(nodes, dtype=np.int64), np.array(slots, dtype=np.int64)


def in_turn(groups: np.ndarray) -> np.ndarray:
    """Cores in the order in which one of each group is taken in turn, by the group of each."""
    turn = np.zeros(len(groups), dtype=np.int64)
    for group in np.unique(groups):
        turn[groups == group] = np.arange(np.sum(groups == group))
    return np.lexsort((groups, turn))


def ordered_cores(node: NodeTopology, order: str) -> np.ndarray:
    """Logical cores of a node in the order in which its ranks take them.

    Args:
        node: The node.
        order: `logical`, neighbouring ranks share the most; on a node that is not full, ranks share packages
            (virtual-processor mode of two ranks on nodes of two packages). `os`: by the kernel's numbers. `packages`: a
            core of each package in turn, so that ranks have packages of their own as long as there are some
            (co-processor mode). Or logical cores in order, as `3,2,0,1`.

    Raises:
        RankwiseError: It is none of these, or a core that is not there or there twice.
    """
    if order == "logical":
        return np.arange(node.cores)
    if order == "os":
        return np.array(node.os_order, dtype=np.int64)
    if order == "packages":
        return in_turn(np.array(node.packages))
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", order):
        raise RankwiseError(
            f"`{order}` is not a core order, which is `logical`, `os`, `packages` or cores such as `3,2,0,1`",
            "`packages` gives ranks packages of their own as long as there are some",
        )
    cores = [int(word) for word in order.split(",")]
    for core in cores:
        if core >= node.cores:
            raise RankwiseError(
                f"the core order `{order}` names core {core} of a node with {node.cores} cores",
                "logical cores count from 0",
            )
        if cores.count(core) > 1:
            raise RankwiseError(
                f"the core order `{order}` names core {core} twice", "each rank takes a core of its own"
            )
    return np.array(cores, dtype=np.int64)


def allocate(
    ranks: int,
    nodes: int,
    ranks_per_node: int,
    node: NodeTopology,
    allocation: str = "blocked",
    core_order: str = "logical",
) -> tuple[Placement, Topology]:
    """Place ranks on nodes that are all alike, one rank a core.

    Args:
        ranks: Number of ranks.
        nodes: Number of nodes.
        ranks_per_node: Most ranks on a node.
        node: Each node.
        allocation: `blocked`, `cyclic` or `plane=K`.
        core_order: In which order a node's ranks take its cores, see `ordered_cores`.

    Raises:
        RankwiseError: They do not fit.
    """
    plane = parse_allocation(allocation, ranks_per_node)
    if ranks > nodes * ranks_per_node:
        needed, room = -(-ranks // nodes), nodes * ranks_per_node
        raise RankwiseError(
            f"`{nodes}x{ranks_per_node}` has room for {counted(room, 'rank')}, the program has {ranks}",
            f"use `--nodes {nodes}x{needed}` or `--nodes {-(-ranks // ranks_per_node)}x{ranks_per_node}`",
        )
    if nodes > ranks + _MOST_EMPTY_NODES:
        needed = -(-ranks // ranks_per_node)
        raise RankwiseError(
            f"`{nodes}x{ranks_per_node}` has {nodes} nodes, the program has {counted(ranks, 'rank')}: "
            "most would be empty",
            f"use `--nodes {needed}x{ranks_per_node}`",
        )
    if ranks_per_node > node.cores:
        raise RankwiseError(
            f"`{nodes}x{ranks_per_node}` puts {ranks_per_node} ranks on a node, but `{node.description}` has "
            f"{counted(node.cores, 'core')}",
            f"use `--nodes {-(-ranks // node.cores)}x{node.cores}`, or describe a larger node",
        )
    of_rank, slot = nodes_and_slots(ranks, nodes, ranks_per_node, plane)
    order = ordered_cores(node, core_order)
    if len(order) < ranks_per_node:
        raise RankwiseError(
            f"the core order `{core_order}` names {counted(len(order), 'core')}, `{nodes}x{ranks_per_node}` needs "
            f"{ranks_per_node}",
            "name a core for each rank of a node",
        )
    placement = Placement(
        node_names=default_names(nodes),
        topology_sha256=(node.sha256,) * nodes,
        node=of_rank,
        core_start=np.arange(ranks + 1),
        cores=order[slot],
        allocation=allocation,
    )
    return placement, Topology.of(node, nodes)


def allocate_unlike(
    ranks: int, nodes: Sequence[NodeTopology], most: int, allocation: str = "blocked"
) -> Placement:
    """Place ranks on nodes of several kinds, one rank a core; a full node is passed over.

    Nodes get equally many ranks as far as they have cores for them.

    Args:
        ranks: Number of ranks.
        nodes: The nodes.
        most: Ranks on a node.
        allocation: `blocked`, `cyclic` or `plane=K`.

    Raises:
        RankwiseError: They do not fit.
    """
    cores = [node.cores for node in nodes]
    if ranks > sum(min(each, most) for each in cores):
        raise RankwiseError(
            f"{counted(ranks, 'rank')} do not fit: {counted(len(nodes), 'node')} of several kinds have room for "
            f"{sum(min(each, most) for each in cores)}",
            "use a machine file of more nodes (`node.count`), or more ranks a node with `--nodes`",
        )
    level = next(k for k in range(most + 1) if sum(min(each, k) for each in cores) >= ranks)
    room = [min(each, level) for each in cores]
    node, slot = deal(ranks, room, parse_allocation(allocation, level))
    return Placement(
        node_names=default_names(len(nodes)),
        topology_sha256=tuple(each.sha256 for each in nodes),
        node=node,
        core_start=np.arange(ranks + 1),
        cores=slot,
        allocation=allocation,
    )
