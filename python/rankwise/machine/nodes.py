# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a machine file: `[node]`, and those that are unlike it. Contract: formats/machine.md."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from rankwise.machine.topology import NodeTopology, Topology, from_synthetic, from_xml_file

_Number = Annotated[int, msgspec.Meta(ge=0)]


class OtherNodes(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Nodes of another kind.

    Attributes:
        nodes: Their numbers, from 0.
        topology: hwloc synthetic string of each of them.
        topology_xml: Instead: path of an hwloc XML file, relative to the machine file.
    """

    nodes: Annotated[list[_Number], msgspec.Meta(min_length=1)]
    topology: str | None = None
    topology_xml: str | None = None

    def __post_init__(self) -> None:
        _one_description(self)


class Node(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The nodes.

    Attributes:
        count: Number of nodes.
        topology: hwloc synthetic string of one node; `(indexes=...)` where OS order is not logical order.
        topology_xml: Instead: path of an hwloc XML file, relative to the machine file.
        host_cores: On an emulated machine: for each node, the core of the host that each logical core runs on.
        others: Nodes that have another topology than this one.
    """

    count: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
    topology: str | None = None
    topology_xml: str | None = None
    host_cores: list[list[_Number]] | None = None
    others: list[OtherNodes] = []

    def __post_init__(self) -> None:
        _one_description(self)
        if self.host_cores is not None and len(self.host_cores) != self.count:
            raise ValueError(f"`host_cores` lists {len(self.host_cores)} nodes, `count` is {self.count}")
        seen: set[int] = set()
        for number in (number for kind in self.others for number in kind.nodes):
            if number >= self.count:
                raise ValueError(f"`others` names node {number}, nodes are 0 to {self.count - 1}")
            if number in seen:
                raise ValueError(f"`others` names node {number} twice")
            seen.add(number)


def _one_description(of: Node | OtherNodes) -> None:
    if (of.topology is None) == (of.topology_xml is None):
        raise ValueError("either `topology` or `topology_xml` is needed")


def describe(of: Node | OtherNodes, directory: Path) -> NodeTopology:
    """The topology of one kind of node; `directory` is where the machine file lies."""
    if of.topology is not None:
        return from_synthetic(of.topology)
    assert of.topology_xml is not None  # `_one_description`
    return from_xml_file(directory / of.topology_xml)


def with_absolute_paths(node: Node, directory: Path) -> Node:
    """The nodes of a machine file that lies in `directory`, for use from anywhere."""

    def of(path: str | None) -> str | None:
        return path and str(directory.resolve() / path)

    others = [msgspec.structs.replace(kind, topology_xml=of(kind.topology_xml)) for kind in node.others]
    return msgspec.structs.replace(node, topology_xml=of(node.topology_xml), others=others)


def topology_of_nodes(node: Node, directory: Path) -> Topology:
    """All nodes of a machine file that lies in `directory`."""
    nodes = [describe(node, directory)] * node.count
    for kind in node.others:
        other = describe(kind, directory)
        for number in kind.nodes:
            nodes[number] = other
    return Topology(tuple(nodes))
