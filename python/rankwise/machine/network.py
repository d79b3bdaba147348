# SPDX-License-Identifier: BSD-3-Clause
"""How the switches between nodes are connected: `[network]` of a machine file. Contract: formats/machine.md."""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Annotated

import msgspec

from rankwise.machine.estimate import Estimate

Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
MOST_HOPS = 4095
_Counts = Annotated[list[Count], msgspec.Meta(min_length=1)]


class Network(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, tag_field="shape"):
    """What all shapes have; no network is of none of them.

    Attributes:
        hop_s: Latency of each switch after the first on a message's way; without it, 0.
        slots: Where each node is, counted over the whole network; without it, node n is in slot n.
    """

    hop_s: Estimate | None = None
    slots: list[Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]] | None = None

    def __post_init__(self) -> None:
        if self.slots is not None:
            if len(set(self.slots)) < len(self.slots):
                raise ValueError("`slots` has two nodes in one slot")
            if max(self.slots, default=0) >= self.places():
                raise ValueError(f"`slots` names slot {max(self.slots)}, the network has {self.places()}")

    @abstractmethod
    def places(self) -> int:
        """How many nodes the network has room for."""

    @abstractmethod
    def links(self) -> list[str]:
        """Names of the kinds of cables, which `links` of a Resource `switch_port` takes."""

    def check_nodes(self, count: int) -> None:
        """Raise ValueError if a machine of so many nodes does not fit."""
        if self.slots is not None and len(self.slots) != count:
            raise ValueError(f"`network.slots` places {len(self.slots)} nodes, `node.count` is {count}")
        if count > self.places():
            raise ValueError(f"`node.count` is {count}, the network has room for {self.places()} nodes")


class FatTree(Network, frozen=True, kw_only=True, tag="fat-tree"):
    """Levels of switches, each with the same number of cables up and down.

    Attributes:
        down: What is below a switch of level 1, 2, ...: nodes, then switches.
        up: How many switches a switch of level 1, 2, ... is connected to above; one shorter than `down`.
        cables: To each of these; without it, 1.
    """

    down: _Counts
    up: list[Count] = []
    cables: list[Count] | None = None

    def __post_init__(self) -> None:
        for key, values in (("up", self.up), ("cables", self.cables)):
            if values is not None and len(values) != len(self.down) - 1:
                raise ValueError(
                    f"`{key}` has {len(values)} numbers, a fat tree of {len(self.down)} levels "
                    f"needs {len(self.down) - 1}: all levels but the top"
                )
        super().__post_init__()

    def places(self) -> int:
        """How many nodes the network has room for."""
        return prod(self.down)

    def links(self) -> list[str]:
        """`level 1`: the cables above switches of level 1, and so on."""
        return [f"level {level}" for level in range(1, len(self.down))]


class Torus(Network, frozen=True, kw_only=True, tag="torus"):
    """Routers in a grid whose ends meet.

    Attributes:
        dimensions: Routers in each.
        nodes_per_router: How many nodes one router has.
    """

    dimensions: _Counts
    nodes_per_router: Count = 1

    def __post_init__(self) -> None:
        if sum(size // 2 for size in self.dimensions) > MOST_HOPS:
            raise ValueError(f"a torus with ways of more than {MOST_HOPS} hops")
        super().__post_init__()

    def places(self) -> int:
        """How many nodes the network has room for."""
        return prod(self.dimensions) * self.nodes_per_router

    def links(self) -> list[str]:
        """`dimension 1` and so on."""
        return [f"dimension {number}" for number in range(1, len(self.dimensions) + 1)]


class Dragonfly(Network, frozen=True, kw_only=True, tag="dragonfly"):
    """Groups of routers that are all connected to each other; each router has cables to other groups.

    Attributes:
        groups: How many.
        routers: Of each group.
        global_links: Cables of each router to other groups.
        nodes_per_router: How many nodes one router has.
    """

    groups: Count
    routers: Count
    global_links: Annotated[int, msgspec.Meta(ge=0)]
    nodes_per_router: Count = 1

    def __post_init__(self) -> None:
        if self.routers * self.global_links < self.groups - 1:
            raise ValueError(
                f"{self.routers} routers with {self.global_links} `global_links` reach fewer than the "
                f"{self.groups - 1} other groups"
            )
        super().__post_init__()

    def places(self) -> int:
        """How many nodes the network has room for."""
        return self.groups * self.routers * self.nodes_per_router

    def links(self) -> list[str]:
        """`local`: inside a group, `global`: between groups."""
        return ["local", "global"]
