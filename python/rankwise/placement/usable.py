# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes of a machine a program may use: what the user says, else as many as it ran on or as hold it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rankwise.errors import RankwiseError
from rankwise.machine.topology import Topology
from rankwise.placement.simple import parse_nodes
from rankwise.quantities import counted


@dataclass(frozen=True)
class NodesWanted:
    """What `--nodes` says.

    Attributes:
        count: Nodes; they are the machine's first, which are nearest to each other.
        ranks_per_node: Most ranks on each; `None`: one a core.
        hosts: Their names; empty if they have none.
    """

    count: int
    ranks_per_node: int | None = None
    hosts: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> NodesWanted:
        """From `N`, `PxQ` or names of hosts.

        Raises:
            RankwiseError: It is none of these.
        """
        if re.fullmatch(r"[1-9]\d{0,8}", text.strip()):
            return cls(int(text))
        if re.fullmatch(r"\d+[xX]\d+", text.strip()):
            return cls(*parse_nodes(text))
        from rankwise.launchers.hosts import distinct, expand

        if not re.search(r"[A-Za-z]", text) or re.fullmatch(r"\d+[xX]", text.strip()):
            raise RankwiseError(
                f"`{text}` is not a number of nodes, NODESxRANKS or a list of hosts",
                "for example `--nodes 4`, `--nodes 4x16` or `--nodes n01,n02`",
            )
        hosts = tuple(distinct(expand(text), "--nodes"))
        return cls(len(hosts), hosts=hosts)


def usable_nodes(
    topology: Topology,
    ranks: int,
    wanted: NodesWanted | None = None,
    recorded: int = 1,
    cores_per_rank: int = 1,
) -> Topology:
    """The machine's nodes that a program may use: its first ones, which are nearest to each other.

    Args:
        topology: All nodes of the machine.
        ranks: Of the program.
        wanted: What the user says; `None`: as many nodes as were recorded, and as many as hold the ranks, one a core.
        recorded: Nodes that the program ran on.
        cores_per_rank: Cores that each rank gets.

    Raises:
        RankwiseError: The machine has fewer nodes than are wanted, or they do not hold the ranks.
    """
    if wanted is None:
        return Topology(topology.nodes[: max(recorded, fewest_nodes(topology, ranks, cores_per_rank))])
    if wanted.count > len(topology.nodes):
        raise RankwiseError(
            f"`--nodes` asks for {counted(wanted.count, 'node')}, the machine has {len(topology.nodes)}",
            f"use at most `--nodes {len(topology.nodes)}`, or change `count` in the machine file",
        )
    nodes = topology.nodes[: wanted.count]
    most = wanted.ranks_per_node
    rooms = [node.cores // cores_per_rank for node in nodes]
    if most is not None and most > max(rooms):
        raise RankwiseError(
            f"`--nodes {wanted.count}x{most}` puts {counted(most, 'rank')} on a node, which has room for {max(rooms)}",
            f"use `--nodes {-(-ranks // max(rooms))}x{max(rooms)}`",
        )
    room = sum(each if most is None else min(each, most) for each in rooms)
    if ranks > room:
        raise RankwiseError(
            f"`--nodes` leaves room for {counted(room, 'rank')}, the program has {ranks}",
            f"use `--nodes {min(len(topology.nodes), fewest_nodes(topology, ranks, cores_per_rank))}`",
        )
    return Topology(nodes)


def fewest_nodes(topology: Topology, ranks: int, cores_per_rank: int = 1) -> int:
    """How many of the first nodes hold the ranks; all of them if they do not."""
    left = ranks
    for at, node in enumerate(topology.nodes, 1):
        left -= node.cores // cores_per_rank
        if left <= 0:
            return at
    return len(topology.nodes)
