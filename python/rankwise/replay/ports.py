# SPDX-License-Identifier: BSD-3-Clause
"""Switch ports in a replay: what they cost, how many a message passes, and what passed them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise import _core
from rankwise.machine.machine import Machine, Resource
from rankwise.machine.network import Dragonfly, FatTree, Torus


@dataclass(frozen=True)
class PortLoad:
    """What passed one switch port: `queued_s` sums what each message waited there for others."""

    name: str
    messages: int
    bytes: int
    busy_s: float
    queued_s: float


@dataclass(frozen=True)
class PortLoads:
    """The switch ports that messages passed; one entry each.

    Attributes:
        network: Whose `describe` names ports.
        port: Numbers of the ports.
        messages: That passed.
        bytes: That passed.
        busy_s: How long they kept it busy.
        queued_s: The sum of what each message waited for others.
    """

    network: _core.machine.Network
    port: np.ndarray
    messages: np.ndarray
    bytes: np.ndarray
    busy_s: np.ndarray
    queued_s: np.ndarray

    @classmethod
    def of(cls, network: _core.machine.Network, loads: dict[str, np.ndarray]) -> PortLoads:
        """Of what a replay says of all ports."""
        used = np.flatnonzero(loads["messages"])
        return cls(network, used, **{key: each[used] for key, each in loads.items()})

    def busiest(self, most: int = 5) -> list[PortLoad]:
        """Those that were busy longest, then those that most bytes passed, by name."""
        order = np.lexsort((self.port, -self.bytes.astype(np.int64), -self.busy_s))[:most]
        return [
            PortLoad(
                self.network.describe(int(self.port[k])),
                int(self.messages[k]),
                int(self.bytes[k]),
                float(self.busy_s[k]),
                float(self.queued_s[k]),
            )
            for k in order
        ]


def convert_network(machine: Machine) -> _core.machine.Network | None:
    """The switches between the nodes, as a replay takes them; `None` for a machine that names none."""
    if machine.network is None:
        return None
    return convert_switches(machine.network, [convert_interface(port) for port in machine.ports()])


def convert_switches(
    network: FatTree | Torus | Dragonfly, ports: list[_core.machine.Interface]
) -> _core.machine.Network:
    """The switches of a network, as a replay takes them.

    Args:
        network: The network.
        ports: A port of each kind of cable, in the order of `links`.
    """
    hop_s = network.hop_s.value if network.hop_s else 0.0
    slots, build = network.slots or [], _core.machine.Network
    if isinstance(network, FatTree):
        cables = network.cables or [1] * len(network.up)
        return build.fat_tree(network.down, network.up, cables, slots=slots, hop_s=hop_s, ports=ports)
    if isinstance(network, Torus):
        return build.torus(
            network.dimensions, network.nodes_per_router, slots=slots, hop_s=hop_s, ports=ports
        )
    return build.dragonfly(
        network.groups,
        network.routers,
        network.global_links,
        network.nodes_per_router,
        slots=slots,
        hop_s=hop_s,
        ports=ports,
    )


def passing_s(resource: Resource | None) -> tuple[float, float]:
    """What messages that pass one after the other cost each other, each and per byte; nothing without a resource."""
    rate = resource.capacity_bytes_per_s if resource else None
    each = resource.per_message_s if resource else None
    return each.value if each else 0.0, 1 / rate.value if rate else 0.0


def convert_interface(resource: Resource | None) -> _core.machine.Interface:
    """The same, as a replay takes it."""
    return _core.machine.Interface(*passing_s(resource))


def hops(machine: Machine, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many switches more than one a message passes between nodes, element by element.

    0 everywhere for a machine that names no switches.

    Args:
        machine: The machine.
        one: Node numbers.
        other: Node numbers, as many.

    Raises:
        RankwiseError: The network has no such node.
    """
    network = convert_network(machine)
    if network is None:
        return np.zeros(len(one), dtype=np.uint32)
    return network.hops(one.astype(np.uint32), other.astype(np.uint32))
