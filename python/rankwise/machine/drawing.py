# SPDX-License-Identifier: BSD-3-Clause
"""A topology as a tree of text, for terminals: nodes that are alike once, caches and packages as branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.machine.channels import cache_channels
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.machine.topology import NodeTopology


def draw(
    nodes: Mapping[str, NodeTopology],
    network: FatTree | Torus | Dragonfly | None = None,
    interfaces: Interfaces | None = None,
) -> list[str]:
    """Lines that show all nodes, by name; those that are alike are drawn once."""
    alike: dict[str, list[str]] = {}
    for name, node in nodes.items():
        alike.setdefault(node.sha256, []).append(name)
    lines = _switches(list(nodes), network) if network is not None else []
    for names in alike.values():
        lines += _node(_listed(names), nodes[names[0]], interfaces)
    return lines


def ranges(numbers: Sequence[int]) -> str:
    """`0-3,8` of numbers, which are sorted."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"node {names[0]}"
    few = ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]} ... {names[-1]}"
    return f"{len(names)} nodes alike: {few}"


def _node(title: str, node: NodeTopology, interfaces: Interfaces | None) -> list[str]:
    threads = sum(map(len, node.pus))
    counts = f"{_many(node.package_count, 'package')}, {_many(node.cores, 'core')}"
    more = f", {threads} hardware threads" if threads > node.cores else ""
    levels = [("package", node.packages)]
    if len(set(node.numa_nodes)) > node.package_count:
        levels.append(("NUMA node", node.numa_nodes))
    shared = dict(node.caches)
    levels += [(name, shared[name]) for name in reversed(cache_channels(node))]
    near: dict[tuple[str, int], list[int]] = {}
    if interfaces is not None:
        more += f", {_many(len(interfaces.at), 'interface')}"
        for number, at in enumerate(interfaces.at):
            near.setdefault(_where(interfaces, node, at), []).append(number)
    return [f"{title}: {counts}{more}", *_branches(node, list(range(node.cores)), levels, near)]


def _where(interfaces: Interfaces, node: NodeTopology, at: int) -> tuple[str, int]:
    """The branch that an interface is drawn at: NUMA nodes have none where each package is one."""
    if interfaces.per == "package":
        return "package", at
    if len(set(node.numa_nodes)) > node.package_count:
        return "NUMA node", at
    return "package", node.packages[node.numa_nodes.index(at)]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _branches(
    node: NodeTopology,
    cores: Sequence[int],
    levels: Sequence[tuple[str, tuple[int, ...]]],
    near: Mapping[tuple[str, int], Sequence[int]],
) -> list[str]:
    if not levels:
        return []
    (kind, ids), *inner = levels
    groups: dict[int, list[int]] = {}
    for core in cores:
        groups.setdefault(ids[core], []).append(core)
    lines = []
    for at, (number, members) in enumerate(groups.items()):
        last = at == len(groups) - 1
        pus = [pu for core in members for pu in node.pus[core]]
        name = f"{kind} {number}" if number >= 0 else f"no {kind}"
        where = f"cores {ranges(members)}" if len(members) > 1 else f"core {members[0]}"
        os = "" if sorted(pus) == members else f" (OS {ranges(pus)})"
        own = near.get((kind, number), ())
        beside = f", interface{'s' * (len(own) > 1)} {ranges(own)}" if own else ""
        lines.append(f"{'└─' if last else '├─'} {name}: {where}{os}{beside}")
        below = _branches(node, members, inner, near)
        lines += [f"{'   ' if last else '│  '}{line}" for line in below]
    return lines


def _switches(names: Sequence[str], network: FatTree | Torus | Dragonfly) -> list[str]:
    slots = network.slots or list(range(len(names)))
    if isinstance(network, FatTree):
        per, below = network.down[0], "switch"
        shape = "fat tree, " + " over ".join(f"{n}" for n in network.down) + " down"
        shape += (", " + ", ".join(map(str, network.up)) + " up") if network.up else ""
    elif isinstance(network, Torus):
        per, below = network.nodes_per_router, "router"
        shape = "torus of " + " x ".join(map(str, network.dimensions)) + " routers"
    else:
        per, below = network.nodes_per_router, "router"
        shape = f"dragonfly of {network.groups} groups with {network.routers} routers each"
    under: dict[int, list[str]] = {}
    for name, slot in zip(names, slots, strict=True):
        under.setdefault(slot // per, []).append(name)
    lines = [shape]
    shown = list(under.items())
    for at, (number, members) in enumerate(shown[:8]):
        last = at == len(shown) - 1
        who = ", ".join(members) if len(members) <= 4 else f"{members[0]} ... {members[-1]} ({len(members)})"
        lines.append(f"{'└─' if last else '├─'} {below} {number}: {who}")
    if len(shown) > 8:
        lines.append(f"└─ and {len(shown) - 8} more")
    return lines
