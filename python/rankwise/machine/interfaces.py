# SPDX-License-Identifier: BSD-3-Clause
"""Several network interfaces of a node: what each is near, and which one a rank uses. Contract: formats/machine.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import msgspec
import numpy as np

from rankwise.machine.estimate import Estimate
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology

Near = Literal["package", "numa"]
Use = Literal["nearest", "round-robin", "block"]
MOST_INTERFACES = 16
_What = TypeVar("_What", int, tuple[int, ...])
_NOUNS = {"package": "package", "numa": "NUMA node"}


class Interfaces(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The network interfaces that each node has.

    Attributes:
        per: What an interface is near: packages by their logical number, or NUMA nodes by their OS index.
        at: Of each interface, which of these.
        use: Which one a rank sends and receives through: `nearest`; `round-robin` by the rank's number on its node;
            `block`, the first ranks of the node the first one and so on.
        striped_from_bytes: Messages of at least this size are cut over all interfaces; without it, none is.
        far_s: Latency that an interface of another package adds at the end of its rank; 0 without it.
    """

    per: Near
    at: Annotated[
        list[Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(min_length=1, max_length=MOST_INTERFACES)
    ]
    use: Use
    striped_from_bytes: Estimate | None = None
    far_s: Estimate | None = None

    def describe(self, number: int) -> str:
        """For people: `interface 1 at package 1`."""
        return f"interface {number} at {_NOUNS[self.per]} {self.at[number]}"

    def misfit(self, node: NodeTopology) -> str | None:
        """What is wrong if a node has no such package or NUMA node."""
        known = sorted(set(_objects(self, node)) - {-1})
        missing = next((each for each in self.at if each not in known), None)
        if missing is None:
            return None
        listed = ", ".join(map(str, known)) or "none"
        return f"there is no {_NOUNS[self.per]} {missing}; the node has {listed}"

    def nearest(self, node: NodeTopology) -> list[tuple[int, ...]]:
        """Of each core, the interfaces that no other is nearer than: at its NUMA node, its package, its node."""
        objects = _objects(self, node)
        packages_at = [_package_of(self, node, at) for at in self.at]
        every = tuple(range(len(self.at)))
        found = []
        for core in range(node.cores):
            same = tuple(k for k in every if self.at[k] == objects[core])
            near = tuple(k for k in every if packages_at[k] == node.packages[core])
            found.append(same or near or every)
        return found


@dataclass(frozen=True)
class OwnInterfaces:
    """Which interface of its node each rank uses.

    Attributes:
        number: Of each rank, from 0.
        is_far: Of each rank, whether that is at another package than the rank.
    """

    number: np.ndarray
    is_far: np.ndarray


def own_interfaces(interfaces: Interfaces, topology: Topology, placement: Placement) -> OwnInterfaces:
    """The interface that each rank of a placement uses.

    A rank that may run on several cores is taken to be where most of them are. Ranks of a node whose nearest interfaces
    are the same ones take turns at them, in the order of their numbers.
    """
    kinds = set(topology.nodes)
    nearest_of = {node: interfaces.nearest(node) for node in kinds}
    packages_of = {node: [_package_of(interfaces, node, at) for at in interfaces.at] for node in kinds}
    nearest = [nearest_of[node] for node in topology.nodes]
    packages_at = [packages_of[node] for node in topology.nodes]
    numbers = np.zeros(placement.ranks, dtype=np.uint32)
    is_far = np.zeros(placement.ranks, dtype=bool)
    count = len(interfaces.at)
    here_of = np.bincount(placement.node, minlength=len(topology.nodes)).tolist()
    before: Counter[int] = Counter()
    turns: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for rank, at in enumerate(placement.node.tolist()):
        node, cores = topology.nodes[at], placement.cores_of(rank)
        if interfaces.use == "nearest":
            near = _usual([nearest[at][core] for core in cores])
            number = near[turns[at, near] % len(near)]
            turns[at, near] += 1
        elif interfaces.use == "round-robin":
            number = before[at] % count
        else:
            number = before[at] * count // here_of[at]
        before[at] += 1
        numbers[rank] = number
        package = _usual([node.packages[core] for core in cores])
        is_far[rank] = package != packages_at[at][number]
    return OwnInterfaces(numbers, is_far)


def groups_of_cores(interfaces: Interfaces, node: NodeTopology) -> list[tuple[int, ...]]:
    """Of each core, the interfaces that share what a rank there sends, as far as that is known without its number."""
    if interfaces.use == "nearest":
        return interfaces.nearest(node)
    return [tuple(range(len(interfaces.at)))] * node.cores


def _objects(interfaces: Interfaces, node: NodeTopology) -> Sequence[int]:
    return node.packages if interfaces.per == "package" else node.numa_nodes


def _package_of(interfaces: Interfaces, node: NodeTopology, at: int) -> int:
    """The package of what an interface is near."""
    objects = _objects(interfaces, node)
    return _usual([node.packages[core] for core in range(node.cores) if objects[core] == at])


def _usual(of_cores: Sequence[_What]) -> _What:
    return of_cores[0] if len(of_cores) == 1 else Counter(of_cores).most_common(1)[0][0]
