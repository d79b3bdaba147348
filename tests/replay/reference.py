# SPDX-License-Identifier: BSD-3-Clause
"""Plain LogGOPS, slow and obvious: the oracle of the replay's tests, written from formats/plain_loggops.md alone.

One queue holds everything that is about to happen. What finds its processor or interface busy is put back into the
queue for the moment it will be free, as often as need be. All times are integers (nanoseconds).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

KINDS = {"send": 1, "recv": 2, "calc": 3}
ANY = None


@dataclass
class Op:
    """One operation of a rank; `requires` and `irequires` are positions in the same rank's list."""

    kind: str
    value: int
    peer: int | None = 0
    tag: int | None = 0
    cpu: int = 0
    nic: int = 0
    requires: list[int] = field(default_factory=list)
    irequires: list[int] = field(default_factory=list)


@dataclass
class Parameters:
    L: int = 0
    o: int = 0
    g: int = 0
    G: int = 0
    O: int = 0  # noqa: E741 - the model's own letter
    S: int = 2**60


class Stuck(Exception):
    """Not all operations ended, or messages were left over."""


def median_of(a, b, c, keys):
    """Which of three positions has the middle key; among equal keys as P1 says."""
    if keys[a] < keys[b]:
        return b if keys[b] < keys[c] else c if keys[a] < keys[c] else a
    return a if keys[a] < keys[c] else c if keys[b] < keys[c] else b


def in_sort_order(items, key):
    """The items in the order that P1's sort leaves them in; up to 16 of them as `sorted`."""
    items, parts = list(items), [(0, len(items))]
    while parts:
        first, last = parts.pop()
        if last - first <= 16:
            continue
        middle, keys = first + (last - first) // 2, [key(item) for item in items]
        median = median_of(first + 1, middle, last - 1, keys)
        items[first], items[median] = items[median], items[first]
        pivot, low, high = key(items[first]), first + 1, last
        while True:
            while key(items[low]) < pivot:
                low += 1
            high -= 1
            while pivot < key(items[high]):
                high -= 1
            if low >= high:
                break
            items[low], items[high] = items[high], items[low]
            low += 1
        parts += [(first, low), (low, last)]
    return sorted(items, key=key)


class Reference:
    def __init__(self, ranks: list[list[Op]], parameters: Parameters):
        self.ranks, self.p = ranks, parameters
        lanes = [(op.cpu, op.nic) for ops in ranks for op in ops] or [(0, 0)]
        cpus, nics = max(c for c, _ in lanes) + 1, max(n for _, n in lanes) + 1
        self.cpu = [[0] * cpus for _ in ranks]
        self.tx = [[0] * nics for _ in ranks]
        self.rx = [[0] * nics for _ in ranks]
        self.posted = [[] for _ in ranks]
        self.unexpected = [[] for _ in ranks]
        self.left = [[len(op.requires) + len(op.irequires) for op in ops] for ops in ranks]
        self.after_start = [[[] for _ in ops] for ops in ranks]
        self.after_end = [[[] for _ in ops] for ops in ranks]
        for r, ops in enumerate(ranks):
            for i, op in enumerate(ops):
                for j in op.irequires:
                    self.after_start[r][j].append(i)
                for j in op.requires:
                    self.after_end[r][j].append(i)
        self.queue, self.order, self.freed, self.ended = [], 0, [], 0

    def run(self) -> list[int]:
        """Finish time of each rank."""
        self.freed = [
            (r, i) for r, ops in enumerate(self.ranks) for i in range(len(ops)) if self.left[r][i] == 0
        ]
        self.release()
        while self.queue:
            time, order, what, r, i = heapq.heappop(self.queue)
            getattr(self, what)(time, order, r, i)
            self.release()
        if self.ended < sum(map(len, self.ranks)) or any(self.unexpected):
            raise Stuck
        return [max(clocks) for clocks in self.cpu]

    def push(self, time, what, r, i, order=None):
        if order is None:
            order = self.order
            self.order += 1
        heapq.heappush(self.queue, (time, order, what, r, i))

    def release(self):
        freed = []
        for rank in sorted({r for r, _ in self.freed}):
            own = [(r, i) for r, i in self.freed if r == rank]
            freed += in_sort_order(own, lambda e: KINDS[self.ranks[e[0]][e[1]].kind])
        for r, i in freed:
            op = self.ranks[r][i]
            ready = self.cpu[r][op.cpu]
            if op.kind == "send":
                ready = max(ready, self.tx[r][op.nic])
            self.push(ready, op.kind, r, i)
        self.freed = []

    def start(self, r, i):
        for j in self.after_start[r][i]:
            self.count_down(r, j)

    def end(self, r, i):
        self.ended += 1
        for j in self.after_end[r][i]:
            self.count_down(r, j)

    def count_down(self, r, j):
        self.left[r][j] -= 1
        if self.left[r][j] == 0:
            self.freed.append((r, j))

    def calc(self, time, order, r, i):
        op = self.ranks[r][i]
        if self.cpu[r][op.cpu] > time:
            return self.push(self.cpu[r][op.cpu], "calc", r, i, order)
        self.cpu[r][op.cpu] = time + op.value
        self.start(r, i)
        self.end(r, i)

    def send(self, time, order, r, i):
        op, p = self.ranks[r][i], self.p
        free = max(self.cpu[r][op.cpu], self.tx[r][op.nic])
        if free > time:
            return self.push(free, "send", r, i, order)
        self.start(r, i)
        self.cpu[r][op.cpu] = max(0, time + p.o + (op.value - 1) * p.O)
        self.tx[r][op.nic] = max(0, time + p.g + (op.value - 1) * p.G)
        self.push(time + p.o + p.L, "message", r, i)
        if op.value <= p.S:
            self.end(r, i)

    def message(self, time, order, r, i):
        op, p, to = self.ranks[r][i], self.p, self.ranks[r][i].peer
        free = max(self.cpu[to][op.cpu], self.rx[to][op.nic])
        if free > time:
            return self.push(free, "message", r, i, order)
        # Two unsigned 64-bit numbers are compared, which matters for 0 bytes.
        per_byte = max((op.value - 1) * p.O % 2**64, (op.value - 1) * p.G % 2**64)
        per_byte = (per_byte + 2**63) % 2**64 - 2**63
        self.cpu[to][op.cpu] = max(0, time + p.o + per_byte)
        self.rx[to][op.nic] = max(0, time + p.g + (op.value - 1) * p.G)
        for j in self.posted[to]:
            if self.fits(to, j, r, op):
                self.posted[to].remove(j)
                if op.value > p.S:
                    self.let_sender_go(r, i, op, time)
                self.end(to, j)
                return
        self.unexpected[to].append((r, i))

    def recv(self, time, order, r, j):
        self.start(r, j)
        for source, i in self.unexpected[r]:
            message = self.ranks[source][i]
            if self.fits(r, j, source, message):
                self.unexpected[r].remove((source, i))
                if message.value > self.p.S:
                    self.let_sender_go(source, i, self.ranks[r][j], time)
                self.end(r, j)
                return
        self.posted[r].append(j)

    def fits(self, to, j, source, message):
        receive = self.ranks[to][j]
        return receive.peer in (ANY, source) and receive.tag in (ANY, message.tag)

    def let_sender_go(self, r, i, lane, time):
        self.cpu[r][lane.cpu] = max(self.cpu[r][lane.cpu], time)
        self.tx[r][lane.nic] = max(self.tx[r][lane.nic], time)
        self.end(r, i)


def goal(ranks: list[list[Op]]) -> str:
    """GOAL text of a schedule."""
    lines = [f"num_ranks {len(ranks)}"]
    for r, ops in enumerate(ranks):
        lines.append(f"rank {r} {{")
        for i, op in enumerate(ops):
            if op.kind == "calc":
                text = f"calc {op.value} cpu {op.cpu}"
            else:
                word = "to" if op.kind == "send" else "from"
                peer, tag = (-1 if x is ANY else x for x in (op.peer, op.tag))
                text = f"{op.kind} {op.value}b {word} {peer} tag {tag} cpu {op.cpu} nic {op.nic}"
            lines.append(f"l{i}: {text}")
        for i, op in enumerate(ops):
            lines += [f"l{i} requires l{j}" for j in op.requires]
            lines += [f"l{i} irequires l{j}" for j in op.irequires]
        lines.append("}")
    return "\n".join(lines) + "\n"
