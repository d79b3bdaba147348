# SPDX-License-Identifier: BSD-3-Clause
"""M15 of formats/loggops.md, several interfaces a node, on top of the slow reference with switch ports."""

from __future__ import annotations

from dataclasses import dataclass

from machine_reference import Phase, Place
from paths_reference import PathsReference, Switched
from reference import Op

NO_SWITCHES = Switched(way=lambda one, other: [], kind=lambda port: 0, hop=0, port_message=[0], port_byte=[0])


@dataclass
class Several:
    """`number` interfaces of each node, the one that each rank uses, and which ranks are far from theirs."""

    number: int
    of_rank: list[int]
    is_far: list[bool]
    far: int = 0
    striped_from: int | None = None
    striped_over: int | None = None  # all, if it is not said

    @property
    def stripes(self) -> int:
        return self.number if self.striped_over is None else self.striped_over


class InterfacesReference(PathsReference):
    def __init__(
        self, ranks: list[list[Op]], place: Place, several: Several, switched: Switched = NO_SWITCHES
    ):
        super().__init__(ranks, place, switched)
        self.several = several
        every = [(node, k) for node in place.node for k in range(several.number)]
        self.tx = dict.fromkeys(every, 0)
        self.rx = self.tx if place.half_duplex else dict.fromkeys(every, 0)
        self.parts = {}  # of a striped message: each part's interface, stage, and when its last byte is there
        self.parts_in = {}

    def ends(self, send) -> tuple[int, int]:
        r, op = self.ops[send]
        return r, op.peer

    def is_striped(self, send) -> bool:
        enough = (
            self.several.striped_from is not None and self.ops[send][1].value >= self.several.striped_from
        )
        return self.link(send).network and self.several.stripes > 1 and enough

    def detour(self, send) -> int:
        if not self.link(send).network:
            return 0
        return self.several.far * sum(self.several.is_far[rank] for rank in self.ends(send))

    def control(self, send) -> int:
        without = super().control(send)
        return without + (self.detour(send) if self.link(send).L // 3 else 0)

    def latency(self, send) -> int:
        return super().latency(send) + self.detour(send)

    def enters_link(self, send):
        if not self.link(send).network:
            super().enters_link(send)
        elif self.is_striped(send):
            self.parts_leave(send)
        else:
            r, op = self.ops[send]
            where = (self.place.node[r], self.several.of_rank[r])
            start, end = self.pass_interface(
                self.tx, where, self.place.tx_message, self.place.tx_byte, op.value
            )
            left = max(start + self.span(send), end)
            self.first_byte[send], self.last_byte[send] = (
                start + self.latency(send),
                left + self.latency(send),
            )
            self.at(self.first_byte[send], Phase.ENTERS_RX, send)
            if not self.eager(send):
                self.at(left, Phase.LEFT, send)

    def parts_leave(self, send):
        node, size, each = self.place.node[self.ops[send][0]], self.part(send), []
        own = self.several.of_rank[self.ops[send][0]]
        for part in range(self.several.stripes):
            where = (node, (own + part) % self.several.number)
            start, end = self.pass_interface(self.tx, where, self.place.tx_message, self.place.tx_byte, size)
            each.append((start, part, max(start + self.span(send), end)))
        self.parts[send] = {k: [0, left + self.latency(send)] for _, k, left in each}
        for start, k, _ in sorted(each):
            self.at(start + self.latency(send), Phase.ENTERS_RX, send, k)
        if not self.eager(send):
            self.at(max(left for *_, left in each), Phase.LEFT, send)

    def part(self, send) -> int:
        return -(-self.ops[send][1].value // self.several.stripes)

    def pass_interface(self, free, where, per_message, per_byte, size) -> tuple[int, int]:
        cost = per_message + size * per_byte
        start = max(self.now, free[where]) if per_message or per_byte else self.now
        free[where] = start + cost
        return start, start + cost

    def enters_rx(self, send, part=None):
        ports = self.ports(send)
        node, of_rank = self.place.node[self.ends(send)[1]], self.several.of_rank[self.ends(send)[1]]
        message, byte = self.place.rx_message, self.place.rx_byte
        if part is None and self.stage[send] < len(ports):
            super().enters_rx(send)
        elif part is None:
            size = self.ops[send][1].value
            start, end = self.pass_interface(self.rx, (node, of_rank), message, byte, size)
            self.first_byte[send] = start
            self.last_byte[send] = max(self.last_byte[send], end)
            self.at(self.last_byte[send], Phase.LAST_BYTE, send)
        elif self.parts[send][part][0] < len(ports):
            self.part_at_port(send, part, ports)
        else:
            where = (node, (of_rank + part) % self.several.number)
            start, end = self.pass_interface(self.rx, where, message, byte, self.part(send))
            self.parts[send][part][1] = max(self.parts[send][part][1], end)
            self.first_byte.setdefault(send, start)
            self.parts_in[send] = self.parts_in.get(send, 0) + 1
            if self.parts_in[send] == self.several.stripes:
                self.at(max(last for _, last in self.parts[send].values()), Phase.LAST_BYTE, send)

    def part_at_port(self, send, part, ports):
        stage, last = self.parts[send][part]
        port = ports[stage]
        kind = self.switched.kind(port)
        message, byte = self.switched.port_message[kind], self.switched.port_byte[kind]
        start, end = self.pass_interface(self.port_free, port, message, byte, self.part(send))
        self.parts[send][part] = [stage + 1, max(last, end) + self.switched.hop]
        self.at(start + self.switched.hop, Phase.ENTERS_RX, send, part)
