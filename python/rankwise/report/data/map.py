# SPDX-License-Identifier: BSD-3-Clause
"""Nodes, their cores, and the bytes between them."""

from __future__ import annotations

import msgspec


class CacheLevel(msgspec.Struct, frozen=True):
    """A level of caches that several cores share.

    Attributes:
        name: `L2`, `L3`, ...
        of_core: Of each core, the index of its cache; -1 if it has none.
    """

    name: str
    of_core: list[int]


class NodeKind(msgspec.Struct, frozen=True):
    """A kind of node, its cores in logical order.

    Attributes:
        pus: Of each core, the OS indices of its PUs.
        packages: Of each core, the index of its package (socket).
        numa_nodes: Of each core, the OS index of its NUMA node; -1 if it has none.
        caches: Shared levels, the innermost first.
    """

    pus: list[list[int]]
    packages: list[int]
    numa_nodes: list[int]
    caches: list[CacheLevel]


class NodeInterface(msgspec.Struct, frozen=True):
    """A network interface or port that ranks used, or of which it is not known who used it.

    Attributes:
        name: Its name.
        rx_bytes: Received while the program ran; `null` if it is not known.
        tx_bytes: Sent likewise.
    """

    name: str
    rx_bytes: int | None
    tx_bytes: int | None


class MapNode(msgspec.Struct, frozen=True):
    """One node, and who is on it.

    Attributes:
        name: Its name.
        kind: Index into `Map.kinds`.
        ranks: World ranks, ascending.
        cores: Of each of them, its logical cores; empty for all cores of the node.
        inside_bytes: Sent between its ranks, to another package or not; messages of a rank to itself are in none.
        sent_bytes: Sent to other nodes.
        received_bytes: Received from other nodes.
        interfaces: That were used in the recorded run by ranks; empty where nothing is known of them.
        interrupt_pus: OS PUs that alone take the interrupts or packets of an interface; empty in a lab, where they
            are those of its one machine.
    """

    name: str
    kind: int
    ranks: list[int]
    cores: list[list[int]]
    inside_bytes: int
    sent_bytes: int
    received_bytes: int
    interfaces: list[NodeInterface]
    interrupt_pus: list[int]


class NodeLinks(msgspec.Struct, frozen=True):
    """Bytes between nodes, those with the most, as columns of equal length.

    Attributes:
        source: Sending node, an index into `PlacedMap.nodes`.
        destination: Receiving node; the same one for what stays inside.
        messages: Messages.
        bytes: Their bytes.
        left_out: Pairs of nodes with fewer bytes that are not in it.
    """

    source: list[int]
    destination: list[int]
    messages: list[int]
    bytes: list[int]
    left_out: int


class PlacedMap(msgspec.Struct, frozen=True):
    """Nodes under one placement.

    Attributes:
        name: The placement, as in `distributions`.
        nodes: Those with ranks.
        links: Bytes between them.
    """

    name: str
    nodes: list[MapNode]
    links: NodeLinks


class Map(msgspec.Struct, frozen=True):
    """Where the ranks are, under each placement of `distributions`, and under the best one of `predicted`.

    Attributes:
        kinds: Of nodes.
        placed: The placement of the run first, if it is known.
    """

    kinds: list[NodeKind]
    placed: list[PlacedMap]
