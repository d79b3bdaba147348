# SPDX-License-Identifier: BSD-3-Clause
"""Switch ports in a replay: what they cost, how many a message passes, and what passed them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.machine.machine import Machine, Resource
from rankwise.machine.network import plain


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
        network: `_core.machine.Network`, whose `describe` names ports.
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
    def of(cls, network: dict[str, Any], loads: dict[str, np.ndarray]) -> PortLoads:
        """Of the `network` argument of a replay, and what the replay says of all its ports."""
        used = np.flatnonzero(loads["messages"])
        return cls(_core.machine.Network(network), used, **{key: each[used] for key, each in loads.items()})

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


def network_of(machine: Machine) -> dict[str, Any] | None:
    """The `network` argument of `Schedule.replay_on_machine`, `None` for a machine that names no switches."""
    if machine.network is None:
        return None
    return plain(machine.network, [passing(port) for port in machine.ports()])


def passing(resource: Resource | None) -> dict[str, Any]:
    """What messages that pass one after the other cost each other; nothing without a resource."""
    rate = resource.capacity_bytes_per_s if resource else None
    each = resource.per_message_s if resource else None
    return {"per_message_s": each.value if each else 0.0, "s_per_byte": 1 / rate.value if rate else 0.0}


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
    network = network_of(machine)
    if network is None:
        return np.zeros(len(one), dtype=np.uint32)
    return _core.machine.Network(network).hops(one.astype(np.uint32), other.astype(np.uint32))
