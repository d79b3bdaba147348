# SPDX-License-Identifier: BSD-3-Clause
"""M12 of formats/loggops.md, buffers that can be full, on top of the slow reference with switch ports."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field

from machine_reference import Phase, Place
from paths_reference import PathsReference, Switched
from reference import Op

NO_SWITCHES = Switched(way=lambda one, other: [], kind=lambda port: 0, hop=0, port_message=[], port_byte=[])


@dataclass
class Connection:
    held: int = 0  # taken by the host, not read
    kept: int = 0  # read, receive not posted
    offered: int = 0  # bytes of eager sends
    taken: int = 0
    waiting: deque = field(default_factory=deque)
    held_up: deque = field(default_factory=deque)  # (send, offered)
    is_pending: bool = False


class BuffersReference(PathsReference):
    def __init__(self, ranks: list[list[Op]], place: Place, switched: Switched = NO_SWITCHES):
        super().__init__(ranks, place, switched)
        self.connections = defaultdict(Connection)
        self.cut = {}  # bytes of each part of a send's message
        self.handed_over, self.parts_read, self.kept_of = Counter(), Counter(), Counter()
        self.first, self.last = {}, {}  # of (send, part): when its bytes are at the next stage
        self.at_receiver = defaultdict(list)  # of a rank: (send, part), not read
        self.pending = defaultdict(list)  # of a rank: connections with something to send

    def is_buffered(self, send) -> bool:
        link = self.link(send)
        return link.in_call and link.overlap and link.socket_buffer is not None

    def bounds(self, send) -> list[tuple[int, int]]:
        if send not in self.cut:
            size = self.ops[send][1].value
            part = max(1, self.link(send).socket_buffer // 4, size // 4096)
            self.cut[send] = [(at, min(size, at + part)) for at in range(0, size, part)] or [(0, 0)]
        return self.cut[send]

    def of_part(self, send, k, each) -> int:
        begin, end = self.bounds(send)[k]
        return (max(end - 1, 0) - (max(begin - 1, 0))) * each

    def passing(self, send, k, per_message, per_byte) -> int:
        begin, end = self.bounds(send)[k]
        return (per_message if k == 0 else 0) + (end - begin) * per_byte

    def pair(self, send):
        return self.ops[send][0], self.ops[send][1].peer

    # the sender

    def to_link(self, send):
        if not self.is_buffered(send):
            super().to_link(send)
            return
        connection = self.connections[self.pair(send)]
        connection.waiting.append(send)
        if self.eager(send):
            connection.offered += self.ops[send][1].value
            connection.held_up.append((send, connection.offered))
        self.accept(self.pair(send))

    def is_computing(self, rank) -> bool:
        cpu = self.cpus[rank]
        return cpu.busy and cpu.ready[0][1] == "calc" and self.ops[cpu.ready[0][0]][1].value > 0

    def accept(self, pair):
        connection = self.connections[pair]
        while connection.waiting:
            send = connection.waiting[0]
            k = self.handed_over[send]
            begin, end = self.bounds(send)[k]
            full = connection.held > 0 and connection.held + end - begin > self.link(send).socket_buffer
            if self.is_computing(pair[0]) or full:
                if not connection.is_pending:
                    connection.is_pending = True
                    self.pending[pair[0]].append(pair)
                break
            connection.held += end - begin
            connection.taken += end - begin if self.eager(send) else 0
            self.handed_over[send] += 1
            if self.handed_over[send] == len(self.bounds(send)):
                connection.waiting.popleft()
            self.hand_over(send, k)
        while connection.held_up:
            send, up_to = connection.held_up[0]
            room = self.link(send).send_buffer
            if room is not None and up_to - connection.taken > room:
                break
            connection.held_up.popleft()
            self.part_done(send, "left")

    def hand_over(self, send, k):
        link, r = self.link(send), self.ops[send][0]
        start = max(self.now, self.link_free[r])
        is_last = k + 1 == len(self.bounds(send))
        self.link_free[r] = start + self.of_part(send, k, link.G) + (link.g if is_last else 0)
        if start > self.now:
            self.at(start, Phase.ENTERS_LINK, send, k)
        else:
            self.leaves(send, k)

    def enters_link(self, send, *k):
        if k:
            self.leaves(send, *k)
        else:
            super().enters_link(send)

    def leaves(self, send, k):
        link, node = self.link(send), self.place.node[self.ops[send][0]]
        start, left = self.now, self.now + self.of_part(send, k, link.G)
        if link.network:
            start = max(self.now, self.tx[node])
            self.tx[node] = start + self.passing(send, k, self.place.tx_message, self.place.tx_byte)
            left = max((self.now if k else start) + self.of_part(send, k, link.G), self.tx[node])
        self.first[send, k], self.last[send, k] = start + self.latency(send), left + self.latency(send)
        if link.network:
            self.at(self.first[send, k], Phase.ENTERS_RX, send, 0, k)
        else:
            self.at(self.last[send, k], Phase.LAST_BYTE, send, k)
        if not self.eager(send) and k + 1 == len(self.bounds(send)):
            self.at(left, Phase.LEFT, send)

    # the way

    def enters_rx(self, send, *stage_and_part):
        if not stage_and_part:
            super().enters_rx(send)
            return
        stage, k = stage_and_part
        ports = self.ports(send)
        if stage < len(ports):
            port, of = ports[stage], self.switched
            kind = of.kind(port)
            start = max(self.now, self.port_free[port])
            self.port_free[port] = start + self.passing(send, k, of.port_message[kind], of.port_byte[kind])
            self.last[send, k] = max(self.last[send, k], self.port_free[port]) + of.hop
            self.at(start + of.hop, Phase.ENTERS_RX, send, stage + 1, k)
            return
        node = self.place.node[self.ops[send][1].peer]
        start = max(self.now, self.rx[node])
        self.rx[node] = start + self.passing(send, k, self.place.rx_message, self.place.rx_byte)
        self.first[send, k] = start
        self.last[send, k] = max(self.last[send, k], self.rx[node])
        self.at(self.last[send, k], Phase.LAST_BYTE, send, k)

    # the receiver

    def arrived(self, send, *k):
        if not k:
            super().arrived(send)
            return
        rank = self.ops[send][1].peer
        self.at_receiver[rank].append((send, *k))
        cpu = self.cpus[rank]
        if not cpu.busy:
            self.next_job(cpu)

    def can_read(self, send, k) -> bool:
        limit = self.link(send).unexpected_buffer
        begin, end = self.bounds(send)[k]
        kept = self.connections[self.pair(send)].kept
        return self.partner[send] in self.begun or limit is None or kept + end - begin <= limit

    def next_job(self, cpu):
        rank = next(r for r, each in enumerate(self.cpus) if each is cpu)
        part = next((part for part in self.at_receiver[rank] if self.can_read(*part)), None)
        if part is None:
            super().next_job(cpu)
            return
        self.at_receiver[rank].remove(part)
        cpu.busy = True
        cpu.ready.appendleft((self.partner[part[0]], part))
        idle = max(0, self.now - max(self.first[part], cpu.idle_since))
        work = max(0, self.of_part(*part, self.link(part[0]).O) - idle)
        self.run_job(self.partner[part[0]], "read", work)

    def work(self, i, what, cpu) -> int:
        if what == "receive" and self.is_buffered(self.partner[i]):
            return self.link(self.partner[i]).o_receive + self.connect(i, self.partner[i])
        return super().work(i, what, cpu)

    def has_read(self, send, k):
        pair, connection = self.pair(send), self.connections[self.pair(send)]
        begin, end = self.bounds(send)[k]
        connection.held -= end - begin
        if self.partner[send] not in self.begun:
            connection.kept += end - begin
            self.kept_of[send] += end - begin
        self.parts_read[send] += 1
        self.accept(pair)
        if self.parts_read[send] == len(self.bounds(send)):
            super().arrived(send)

    def begin(self, i):
        super().begin(i)
        rank, op = self.ops[i]
        if op.kind == "recv":
            send = self.partner[i]
            self.connections[self.pair(send)].kept -= self.kept_of.pop(send, 0)
            if not self.cpus[rank].busy and any(self.can_read(*part) for part in self.at_receiver[rank]):
                self.next_job(self.cpus[rank])

    def job_ends(self, i):
        rank = self.ops[i][0]
        cpu = self.cpus[rank]
        what = cpu.ready[0][1]
        if isinstance(what, tuple):
            cpu.idle_since = self.now
            self.has_read(*what)
        elif what in ("send", "bytes") and self.eager(i) and self.is_buffered(i):
            cpu.idle_since = self.now
            if what == "send":
                self.to_link(i)
                cpu.ready[0] = (i, "bytes")
                if self.on_core(i):
                    self.run_job(i, "bytes", self.on_core(i))
                    return
            self.part_done(i, "core")
        elif what == "calc":
            cpu.idle_since = self.now
            self.end(i)
        else:
            super().job_ends(i)
            return
        cpu.ready.popleft()
        cpu.busy = False
        if what == "calc":
            pending, self.pending[rank] = self.pending[rank], []
            for pair in pending:
                self.connections[pair].is_pending = False
                self.accept(pair)
        self.next_job(cpu)
