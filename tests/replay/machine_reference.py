# SPDX-License-Identifier: BSD-3-Clause
"""The machine model of formats/loggops.md, slow and obvious; without shared cores. Times are integers (nanoseconds)."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum

from reference import KINDS, Op, Stuck


@dataclass
class Link:
    """One LinkClass with one segment."""

    L: int = 0
    o: int = 0
    o_receive: int = 0
    g: int = 0
    G: int = 0
    O: int = 0  # noqa: E741 - the model's own letter
    S: int = 2**60
    connect: int = 0
    in_call: bool = False
    overlap: bool = True
    network: bool = False
    socket_buffer: int | None = None
    send_buffer: int | None = None
    unexpected_buffer: int | None = None


@dataclass
class Place:
    """A machine and where the ranks are: inside a node `inside` counts, between nodes `network`, to self `itself`."""

    node: list[int]
    itself: Link
    inside: Link
    network: Link
    tx_message: int = 0
    tx_byte: int = 0
    rx_message: int = 0
    rx_byte: int = 0
    half_duplex: bool = False


class Phase(IntEnum):
    LAST_BYTE = 0
    ENTERS_RX = 1
    REQUEST = 2
    ANSWER = 3
    LEFT = 4
    ENTERS_LINK = 5
    JOB_ENDS = 6


@dataclass
class Cpu:
    ready: deque = field(default_factory=deque)
    busy: bool = False
    idle_since: int = 0


class MachineReference:
    def __init__(self, ranks: list[list[Op]], place: Place):
        self.ranks, self.place = ranks, place
        self.ops = [(r, op) for r, own in enumerate(ranks) for op in own]
        first = [sum(map(len, ranks[:r])) for r in range(len(ranks))]
        self.left = [len(op.requires) + len(op.irequires) for _, op in self.ops]
        self.after_start = [[] for _ in self.ops]
        self.after_end = [[] for _ in self.ops]
        for i, (r, op) in enumerate(self.ops):
            for j in op.irequires:
                self.after_start[first[r] + j].append(i)
            for j in op.requires:
                self.after_end[first[r] + j].append(i)
        self.partner = self.match()
        self.cpus = [Cpu() for _ in ranks]
        self.link_free = [0] * len(ranks)
        self.tx = dict.fromkeys(place.node, 0)
        self.rx = self.tx if place.half_duplex else dict.fromkeys(place.node, 0)
        self.begun, self.facts, self.met = set(), set(), set()
        self.first_byte, self.last_byte = {}, {}
        self.finish = [0] * len(ranks)
        self.queue, self.freed, self.ended, self.now = [], [], 0, 0

    def match(self):
        sides: dict = {}
        for i, (r, op) in enumerate(self.ops):
            if op.kind != "calc":
                ends = (r, op.peer) if op.kind == "send" else (op.peer, r)
                sides.setdefault((*ends, op.tag), {"send": [], "recv": []})[op.kind].append(i)
        partner = {}
        for both in sides.values():
            for send, receive in zip(both["send"], both["recv"], strict=True):
                partner[send], partner[receive] = receive, send
        return partner

    def run(self) -> list[int]:
        self.freed = [i for i in range(len(self.ops)) if self.left[i] == 0]
        self.release()
        handlers = {
            Phase.LAST_BYTE: self.arrived,
            Phase.ENTERS_RX: self.enters_rx,
            Phase.REQUEST: self.request,
            Phase.ANSWER: self.answer,
            Phase.LEFT: lambda send: self.part_done(send, "left"),
            Phase.ENTERS_LINK: self.enters_link,
            Phase.JOB_ENDS: self.job_ends,
        }
        while self.queue:
            self.now, phase, i, *more = heapq.heappop(self.queue)
            handlers[phase](i, *more)
            self.release()
        if self.ended < len(self.ops):
            raise Stuck
        return self.finish

    def at(self, time, phase, i, *more):
        heapq.heappush(self.queue, (time, phase, i, *more))

    def link(self, send) -> Link:
        r, op = self.ops[send]
        if op.peer == r:
            return self.place.itself
        return self.place.inside if self.place.node[r] == self.place.node[op.peer] else self.place.network

    def extra(self, send) -> int:
        return max(self.ops[send][1].value - 1, 0)

    def on_core(self, send) -> int:
        link = self.link(send)
        return self.extra(send) * (link.O if link.overlap else max(link.O, link.G))

    def span(self, send) -> int:
        """From the first byte leaving to the last, without interfaces; a core that copies is its own link."""
        link = self.link(send)
        return self.extra(send) * link.G if link.overlap else self.on_core(send)

    def eager(self, send) -> bool:
        return self.ops[send][1].value <= self.link(send).S

    def control(self, send) -> int:
        return self.link(send).L // 3

    def latency(self, send) -> int:
        link = self.link(send)
        return link.L if self.eager(send) else link.L - 2 * self.control(send)

    # jobs: (operation, what) in order of readiness

    def job(self, i, what):
        cpu = self.cpus[self.ops[i][0]]
        cpu.ready.append((i, what))
        if not cpu.busy:
            self.next_job(cpu)

    def next_job(self, cpu):
        if cpu.ready:
            cpu.busy = True
            i, what = cpu.ready[0]
            self.run_job(i, what, self.work(i, what, cpu))

    def run_job(self, i, what, work):
        self.at(self.now + work, Phase.JOB_ENDS, i)

    def work(self, i, what, cpu) -> int:
        if what == "calc":
            self.begin(i)
            return self.ops[i][1].value
        if what == "send":
            self.begin(i)
            return self.link(i).o + self.connect(i, i)
        if what == "data":
            if self.link(i).in_call:
                self.to_link(i)
            return self.on_core(i)
        if what == "receive":
            send = self.partner[i]
            idle = max(0, self.now - max(self.first_byte[send], cpu.idle_since))
            overhead = self.link(send).o_receive + self.connect(i, send)
            return overhead + max(0, self.on_core(send) - idle)
        assert what == "clear"
        return 0

    def connect(self, i, send) -> int:
        """What a rank's first job with another rank takes longer."""
        pair = self.ops[i][0], self.ops[i][1].peer
        if pair in self.met or pair[0] == pair[1]:
            return 0
        self.met.add(pair)
        return self.link(send).connect

    def job_ends(self, i):
        cpu = self.cpus[self.ops[i][0]]
        cpu.idle_since = self.now
        _, what = cpu.ready[0]
        if what == "send" and self.eager(i):
            self.to_link(i)
            cpu.ready[0] = (i, "bytes")
            if self.on_core(i):
                self.run_job(i, "bytes", self.on_core(i))
                return
            what = "bytes"
        cpu.ready.popleft()
        cpu.busy = False
        if what == "send":
            self.at(self.now + self.control(i), Phase.REQUEST, i)
        elif what == "clear":
            self.at(self.now + self.control(self.partner[i]), Phase.ANSWER, self.partner[i])
        elif what == "data":
            self.part_done(i, "core")
        else:
            self.end(i)
        if not cpu.busy:
            self.next_job(cpu)

    # messages

    def request(self, send):
        self.facts.add((send, "requested"))
        if self.partner[send] in self.begun:
            self.clear(send)

    def clear(self, send):
        if self.link(send).in_call:
            self.job(self.partner[send], "clear")
        else:
            self.at(self.now + self.control(send), Phase.ANSWER, send)

    def answer(self, send):
        if self.link(send).in_call:
            self.job(send, "data")
            return
        self.to_link(send)
        if self.on_core(send):
            self.job(send, "data")
        else:
            self.part_done(send, "core")

    def part_done(self, send, part):
        self.facts.add((send, part))
        if {(send, "core"), (send, "left")} <= self.facts:
            self.end(send)

    def to_link(self, send):
        link, r = self.link(send), self.ops[send][0]
        start = self.now
        if link.overlap:
            start = max(self.now, self.link_free[r])
            self.link_free[r] = start + link.g + self.extra(send) * link.G
        if start > self.now:
            self.at(start, Phase.ENTERS_LINK, send)
        else:
            self.enters_link(send)

    def enters_link(self, send):
        link, (r, op) = self.link(send), self.ops[send]
        latency = self.latency(send)
        start, left = self.now, self.now + self.span(send)
        if link.network:
            node = self.place.node[r]
            start = max(self.now, self.tx[node])
            self.tx[node] = start + self.place.tx_message + op.value * self.place.tx_byte
            left = max(start + self.span(send), self.tx[node])
        self.first_byte[send], self.last_byte[send] = start + latency, left + latency
        if link.network:
            self.at(self.first_byte[send], Phase.ENTERS_RX, send)
        else:
            self.at(self.last_byte[send], Phase.LAST_BYTE, send)
        if not self.eager(send):
            self.at(left, Phase.LEFT, send)

    def enters_rx(self, send):
        op = self.ops[send][1]
        node = self.place.node[op.peer]
        start = max(self.now, self.rx[node])
        self.rx[node] = start + self.place.rx_message + op.value * self.place.rx_byte
        self.first_byte[send] = start
        self.last_byte[send] = max(self.last_byte[send], self.rx[node])
        self.at(self.last_byte[send], Phase.LAST_BYTE, send)

    def arrived(self, send):
        self.facts.add((send, "arrived"))
        if self.partner[send] in self.begun:
            self.job(self.partner[send], "receive")

    # order of a rank's operations

    def begin(self, i):
        self.begun.add(i)
        self.count_down(self.after_start[i])

    def end(self, i):
        self.ended += 1
        self.finish[self.ops[i][0]] = self.now
        self.count_down(self.after_end[i])

    def count_down(self, later):
        for j in later:
            self.left[j] -= 1
            if self.left[j] == 0:
                self.freed.append(j)

    def release(self):
        while self.freed:
            ready, self.freed = self.freed, []
            for i in sorted(ready, key=lambda i: (self.ops[i][0], KINDS[self.ops[i][1].kind], i)):
                kind = self.ops[i][1].kind
                if kind != "recv":
                    self.job(i, kind)
                    continue
                self.begin(i)
                send = self.partner[i]
                if (send, "arrived") in self.facts:
                    self.job(i, "receive")
                elif (send, "requested") in self.facts:
                    self.clear(send)
