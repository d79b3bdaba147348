# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner knows of its node: processing units and what they are part of, and what messages cost between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError
from rankwise.machine.topology import NodeTopology

if TYPE_CHECKING:
    from rankwise.machine.machine import LinkClass, Machine

# What two ranks have in common, the widest first (`Level`, tune/decide/problem.hpp), and their messages' channel.
CHANNELS = {
    "network": "network",
    "node": "node",
    "package": "package",
    "numa": "package",
    "l3": "L3",
    "l2": "L2",
    "core": "L1",
}
# Tuners have one line for messages of all sizes: its slope is that of messages of this size.
_LARGE_BYTES = 64 << 10
# Without a machine file: what `links_of` gives of machines/archer2.machine.toml, which a daemon need not read for that.
ASSUMED = "assumed, those of ARCHER2 (no machine file)"
ASSUMED_LINKS = (
    (2.6691e-06, 1.071e-10),
    (1.1406e-06, 2.724e-11),
    (6.843000000000001e-07, 2.635e-11),
    (6.843000000000001e-07, 2.635e-11),
    (3.171e-07, 2.52e-11),
    (3.171e-07, 2.52e-11),
    (3.171e-07, 2.52e-11),
)


@dataclass(frozen=True)
class Pu:
    """A processing unit and the numbers of what it is part of; -1 where there is nothing that it shares."""

    os: int
    core: int
    l2: int
    l3: int
    numa: int
    package: int


@dataclass(frozen=True)
class Costs:
    """What messages and memory cost.

    Attributes:
        links: Seconds a message and seconds a byte, by level as in `CHANNELS`.
        memory_bytes_per_s: Of one NUMA node, 0 where not known.
        core_memory_bytes_per_s: What one core can move, 0 where not known.
        source: Where they are from.
        memory_slowdown: How many times longer each of 1, 2, ... such cores takes, where that was measured.
    """

    links: tuple[tuple[float, float], ...]
    memory_bytes_per_s: float
    core_memory_bytes_per_s: float
    source: str
    memory_slowdown: tuple[float, ...] = ()


def pus_of(node: NodeTopology) -> list[Pu]:
    """All processing units of a node in logical order."""
    caches = dict(node.caches)
    nothing = (-1,) * node.cores
    l2, l3 = caches.get("L2", nothing), caches.get("L3", nothing)
    return [
        Pu(os, core, l2[core], l3[core], node.numa_nodes[core], node.packages[core])
        for core in range(node.cores)
        for os in node.pus[core]
    ]


def costs_of(path: str | None, node: NodeTopology) -> Costs:
    """What a machine file says; without one, what is published of ARCHER2, which is said to be assumed.

    Args:
        path: The machine file.
        node: This node.

    Raises:
        RankwiseError: It cannot be read, or has no link class.
    """
    if path is None:
        return Costs(ASSUMED_LINKS, 0.0, 0.0, ASSUMED)
    from rankwise.machine.file import load

    machine = load(path)
    memory, of_core, slowdown = _memory(machine, node)
    other = (
        "" if _is_of(machine, Path(path), node) else ", which describes another kind of node than this one"
    )
    return Costs(links_of(machine), memory, of_core, f"machine file {machine.name}{other}", slowdown)


def _is_of(machine: Machine, path: Path, node: NodeTopology) -> bool:
    from rankwise.machine.machine import topology_of

    return node.sha256 in {kind.sha256 for kind in topology_of(machine, path.parent).nodes}


def links_of(machine: Machine) -> tuple[tuple[float, float], ...]:
    """Seconds a message and seconds a byte, by level as in `CHANNELS`.

    Raises:
        RankwiseError: The machine has no link classes.
    """
    if not machine.link_classes:
        raise RankwiseError(
            f"machine `{machine.name}` has no link classes",
            "measure it, for example `rankwise measure -- mpiexec -n 4`",
        )
    return tuple(_line(_class_of(machine, channel)) for channel in CHANNELS.values())


def _class_of(machine: Machine, channel: str) -> LinkClass:
    """That of a channel, or of the next wider one; where the machine has none as wide, the widest it has."""
    from rankwise.machine.link_classes import link_index

    try:
        return machine.link_classes[link_index(machine, channel)]
    except RankwiseError:
        wide = [*CHANNELS.values()]
        return min(
            machine.link_classes,
            key=lambda link: wide.index(link.channel) if link.channel in wide else len(wide),
        )


def _line(link: LinkClass) -> tuple[float, float]:
    """LogGOPS for one message between two ranks: L + 2 o, and G of a large one (formats/loggops.md)."""
    small = link.segments[0]
    large = next(
        each for each in link.segments if each.up_to_bytes is None or each.up_to_bytes >= _LARGE_BYTES
    )
    receive = small.o_receive_s or small.o_s
    return small.L_s.value + small.o_s.value + receive.value, large.G_s_per_byte.value


def _memory(machine: Machine, node: NodeTopology) -> tuple[float, float, tuple[float, ...]]:
    numa_nodes = max(1, len(set(node.numa_nodes)))
    parts = {"numa": 1, "package": max(1, numa_nodes // node.package_count), "node": numa_nodes}
    for resource in machine.resources:
        total = resource.total_bytes_per_s()
        if resource.kind == "memory" and resource.per in parts and total is not None:
            of_core, slowdown = resource.per_core_bytes_per_s, resource.slowdown
            # One of a larger part of the node says nothing of one of its NUMA nodes.
            measured = tuple(slowdown.values) if slowdown and parts[resource.per] == 1 else ()
            return total / parts[resource.per], of_core.value if of_core else 0.0, measured
    return 0.0, 0.0, ()
