# SPDX-License-Identifier: BSD-3-Clause
"""Several network interfaces of a node: what each is near, and which one a rank uses. Contract: formats/machine.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from rankwise.machine.estimate import Estimate
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology

Near = Literal["package", "numa"]
Use = Literal["nearest", "round-robin", "block"]
MOST_INTERFACES = 16
_NOUNS = {"package": "package", "numa": "NUMA node"}


class Interfaces(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The network interfaces that each node has.

    Attributes:
        per: What an interface is near: packages by their logical number, or NUMA nodes by their OS index.
        at: Of each interface, which of these.
        use: Which one a rank sends and receives through: `nearest`; `round-robin` by the rank's number on its node;
            `block`, the first ranks of the node the first one and so on.
        striped_from_bytes: Messages of at least this size are cut over several interfaces; without it, none is.
        striped_over: Over how many: the rank's own one and those that follow; all without it.
        far_s: Latency that an interface of another package, or NUMA node as `per` says, adds at the end of its rank; 0
            without it.
    """

    per: Near
    at: Annotated[
        list[Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(min_length=1, max_length=MOST_INTERFACES)
    ]
    use: Use
    striped_from_bytes: Estimate | None = None
    striped_over: Annotated[int, msgspec.Meta(ge=2)] | None = None
    far_s: Estimate | None = None

    def __post_init__(self) -> None:
        if self.striped_over is None:
            return
        if self.striped_from_bytes is None:
            raise ValueError("`striped_over` needs `striped_from_bytes`, from what size on messages are cut")
        if self.striped_over > len(self.at):
            raise ValueError(f"`striped_over` is {self.striped_over}, `at` lists {len(self.at)} interfaces")

    @property
    def stripes(self) -> int:
        """Over how many interfaces large messages are cut; 1: none is."""
        return 1 if self.striped_from_bytes is None else self.striped_over or len(self.at)

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
        is_far: Of each rank, whether that is at another package, or NUMA node as `per` says, than the rank.
    """

    number: np.ndarray
    is_far: np.ndarray


def own_interfaces(interfaces: Interfaces, topology: Topology, placement: Placement) -> OwnInterfaces:
    """The interface that each rank of a placement uses.

    A rank that may run on several cores is taken to be where most of them are. Ranks of a node whose nearest interfaces
    are the same ones take turns at them, in the order of their numbers.
    """
    first = {id(node): node for node in topology.nodes}  # to compare all cores of all nodes would take long
    at = {each: number for number, each in enumerate(first)}
    kind = np.array([at[id(node)] for node in topology.nodes])[placement.node]
    kinds = list(first.values())
    nearest = [interfaces.nearest(node) for node in kinds]
    sets = {near: each for each, near in enumerate(dict.fromkeys(near for of in nearest for near in of))}
    size = np.array([len(near) for near in sets])
    members = np.zeros((len(sets), len(interfaces.at)), dtype=np.int64)
    for near, each in sets.items():
        members[each, : len(near)] = near
    near_of = _of_ranks(placement, kind, [[sets[near] for near in of] for of in nearest])
    where = _of_ranks(placement, kind, [_objects(interfaces, node) for node in kinds])
    count = len(interfaces.at)
    if interfaces.use == "nearest":
        turn = _turns(placement.node * len(sets) + near_of)
        number = members[near_of, turn % size[near_of]]
    elif interfaces.use == "round-robin":
        number = _turns(placement.node) % count
    else:
        number = _turns(placement.node) * count // np.bincount(placement.node)[placement.node]
    return OwnInterfaces(number.astype(np.uint32), np.array(interfaces.at)[number] != where)


def _of_ranks(placement: Placement, kind: np.ndarray, of_cores: Sequence[Sequence[int]]) -> np.ndarray:
    """Of each rank what most of its cores have, by kind of node and core."""
    widths = np.diff(placement.core_start)
    most = max(map(len, of_cores))
    table = np.array([[*each, *[0] * (most - len(each))] for each in of_cores])
    found: np.ndarray = table[kind, placement.cores[placement.core_start[:-1]]]
    for rank in np.flatnonzero(widths > 1):
        found[rank] = _usual(table[kind[rank], list(placement.cores_of(int(rank)))].tolist())
    return found


def _turns(keys: np.ndarray) -> np.ndarray:
    """Of each element, how many before it are equal."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    turns = np.empty(len(keys), dtype=np.int64)
    turns[order] = np.arange(len(keys)) - np.repeat(begins, np.diff([*begins, len(keys)]))
    return turns


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


def _usual(of_cores: Sequence[int]) -> int:
    return Counter(of_cores).most_common(1)[0][0]
