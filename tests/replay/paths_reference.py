# SPDX-License-Identifier: BSD-3-Clause
"""M11 of formats/loggops.md, switch ports, on top of the slow reference of the machine model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from machine_reference import MachineReference, Phase, Place
from reference import Op


@dataclass
class Switched:
    """Switches between the nodes: `way` gives the ports from a node to another; a port's kind decides what it costs."""

    way: Callable[[int, int], list[int]]
    kind: Callable[[int], int]
    hop: int
    port_message: list[int]
    port_byte: list[int]


class PathsReference(MachineReference):
    def __init__(self, ranks: list[list[Op]], place: Place, switched: Switched):
        super().__init__(ranks, place)
        self.switched = switched
        self.port_free = Counter()
        self.stage = Counter()  # of a send: ports its first byte has passed

    def ports(self, send) -> list[int]:
        r, op = self.ops[send]
        return self.switched.way(self.place.node[r], self.place.node[op.peer])

    def control(self, send) -> int:
        hops = len(self.ports(send)) if self.link(send).network else 0
        return super().control(send) + hops * self.switched.hop

    def latency(self, send) -> int:
        link = self.link(send)
        return link.L if self.eager(send) else link.L - 2 * super().control(send)

    def enters_rx(self, send):
        ports = self.ports(send)
        if self.stage[send] == len(ports):
            super().enters_rx(send)
            return
        port = ports[self.stage[send]]
        self.stage[send] += 1
        kind, size = self.switched.kind(port), self.ops[send][1].value
        start = max(self.now, self.port_free[port])
        self.port_free[port] = start + self.switched.port_message[kind] + size * self.switched.port_byte[kind]
        self.last_byte[send] = max(self.last_byte[send], self.port_free[port]) + self.switched.hop
        self.at(start + self.switched.hop, Phase.ENTERS_RX, send)
