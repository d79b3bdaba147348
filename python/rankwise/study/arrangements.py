# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on nodes of any size as the papers have them on nodes of four cores: alone, on half of the cores, on all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.topology import NodeTopology
from rankwise.placement.simple import in_turn
from rankwise.study.cases import Seats
from rankwise.study.platforms import Platform


def full_ranks(node: NodeTopology) -> int:
    """Ranks of a full node: the largest power of two of its cores, which is what benchmarks run on."""
    return 1 << (node.cores.bit_length() - 1)


def usual_ranks(platform: Platform, of_paper: int) -> int:
    """So many that two nodes are full: the paper's number, or the next power of four, which all benchmarks take."""
    ranks = 4
    while ranks < 2 * full_ranks(platform.topology.nodes[0]):
        ranks *= 4
    return max(ranks, of_paper)


def spread(node: NodeTopology) -> str:
    """Core order in which ranks have packages, and in these NUMA nodes, of their own as long as there are some."""
    packages, memories = np.array(node.packages), np.array(node.numa_nodes)
    by_package = [np.flatnonzero(packages == package) for package in dict.fromkeys(node.packages)]
    order = np.concatenate([cores[in_turn(memories[cores])] for cores in by_package])
    return _words(order[in_turn(packages[order])])


def packed(node: NodeTopology) -> str:
    """Core order in which ranks fill a package, or a NUMA node where there is one package, before they take another."""
    groups = _processors(node)
    last = [core for core in range(node.cores) if groups[core] == groups[-1]]
    return _words([*last, *(core for core in range(node.cores) if core not in last)])


def has_processors(node: NodeTopology) -> bool:
    """Whether it has several packages or NUMA nodes."""
    return len(set(_processors(node))) > 1


@dataclass(frozen=True)
class Arrangements:
    """Ranks dealt to the nodes in turn, few to many a node.

    Attributes:
        seats: By what tables call the arrangement, in the order in which they are compared.
        alone: Name of the one with the fewest ranks a node.
        coprocessor: Of that of half of the cores, ranks on processors of their own as long as there are some.
        processor: Of that of half of the cores, processors full one after the other; the same one where a node has one.
        full: Of that of all cores.
    """

    seats: dict[str, Seats]
    alone: str
    coprocessor: str
    processor: str
    full: str


def arrangements(platform: Platform, ranks: int) -> Arrangements:
    """One rank a node, one an interface, half of the cores and all of them, as far as the machine has nodes for it.

    Raises:
        RankwiseError: Its nodes have one core.
    """
    node = platform.topology.nodes[0]
    if node.cores < 2:
        raise RankwiseError(
            f"nodes of `{platform.name}` have one core, which ranks cannot share",
            "use a machine whose nodes have two or more",
        )
    full = min(full_ranks(node), max(4, 1 << (max(ranks // 2, 1).bit_length() - 1)))
    half = full // 2
    least = -(-ranks // len(platform.topology.nodes))
    alone, all_cores = f"{least} a node", f"{full} a node"
    seats = {alone: _dealt(ranks, least, spread(node))} if least < max(half, 2) else {}
    interfaces = platform.machine.interfaces
    count = len(interfaces.at) if interfaces else 1
    if least < count < half:
        seats[f"{count} a node, one an interface"] = _dealt(ranks, count, spread(node))
    halves = [f"{half} a node"]
    if half > 1 and has_processors(node):
        halves = [f"{half} a node, co-processor", f"{half} a node, virtual processor"]
        seats[halves[0]] = _dealt(ranks, half, spread(node))
        seats[halves[1]] = _dealt(ranks, half, packed(node))
    elif half > 1:
        seats[halves[0]] = _dealt(ranks, half, spread(node))
    seats[all_cores] = _dealt(ranks, full, "logical")
    names = list(seats)
    return Arrangements(
        seats, names[0], *((halves[0], halves[-1]) if half > 1 else (names[0],) * 2), all_cores
    )


def _dealt(ranks: int, each: int, order: str) -> Seats:
    return Seats(-(-ranks // each), each, "cyclic", order)


def _processors(node: NodeTopology) -> tuple[int, ...]:
    return node.packages if node.package_count > 1 else node.numa_nodes


def _words(cores: np.ndarray | list[int]) -> str:
    return ",".join(str(int(core)) for core in cores)
