# SPDX-License-Identifier: BSD-3-Clause
"""Rules M7 to M9 of formats/loggops.md, slow and obvious: at each event all jobs are advanced at their speed
and the end of each is worked out anew, in fractions. Times are whole picoseconds, as in the replay."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, comb

from machine_reference import Link, MachineReference, Phase, Place
from reference import Op, Stuck


@dataclass
class Memory:
    """A memory or cache: bytes a nanosecond; `domain` is that of each rank or None, `copies` the kinds of link."""

    domain: list[int | None]
    capacity: int
    copies: set[str] = field(default_factory=lambda: {"itself", "inside", "network"})
    passes: int = 1
    per_core: int | None = None  # ranks that compute are slowed if it is known
    slowdown: list[Fraction] | None = None

    def stretch(self, demand: Fraction) -> Fraction:
        if self.slowdown is None:
            return max(Fraction(1), demand / self.capacity)
        cores, measured = demand / self.per_core, len(self.slowdown)
        if cores <= 1:
            return Fraction(1)
        if cores >= measured:
            return max(self.slowdown[-1], demand / self.capacity)
        below = int(cores)
        return self.slowdown[below - 1] + (cores - below) * (self.slowdown[below] - self.slowdown[below - 1])

    def stretches(
        self, copied: Fraction, computing: list[tuple[Fraction, Fraction]]
    ) -> tuple[Fraction, Fraction]:
        """Of copies and of computations, of which `computing` has the share of a core and how much of that waits."""
        waiting = sum((waits for _, waits in computing), Fraction(0))
        count = ceil(sum(share for share, _ in computing))
        if self.slowdown is not None or not count:
            every = self.stretch(copied + waiting * (self.per_core or 0))
            return every, every
        part = waiting / count

        def expected(demand, others):
            return sum(
                comb(others, k)
                * part**k
                * (1 - part) ** (others - k)
                * max(Fraction(1), (demand + k * self.per_core) / self.capacity)
                for k in range(others + 1)
            )

        return expected(copied, count), expected(copied + self.per_core, count - 1)


@dataclass
class Interrupts:
    """Nanoseconds; `processor` is that of each node's interrupt core or None, `far` the ranks that are far from it."""

    processor: list[int | None]
    per_message: int = 0
    per_byte: int = 0
    far: set[int] = field(default_factory=set)
    factor: Fraction = Fraction(1)


@dataclass
class Shared:
    """What the ranks share; `memory_bound` is the part of each one's computation."""

    processor: list[int]
    cores: list[int]
    waiting: str = "none"
    memory_bound: list[Fraction] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    interrupts: Interrupts | None = None


@dataclass
class Running:
    """A job: `demand` of each memory that it uses, bytes a picosecond while it runs at full speed."""

    rank: int
    work: Fraction
    memory_bound: Fraction
    demand: dict[tuple[int, int], Fraction]
    computes: bool = False


class SharingReference(MachineReference):
    def __init__(self, ranks: list[list[Op]], place: Place, shared: Shared):
        self.shared = shared
        super().__init__([[_in_ps(op) for op in own] for own in ranks], _place_in_ps(place))
        self.running: dict[int, Running] = {}
        self.speed: dict[int, Fraction] = {}
        self.then: dict[int, int] = {}
        self.since = 0
        nodes = max(place.node, default=0) + 1
        self.busy_until, self.busy = [0] * nodes, [[] for _ in range(nodes)]
        self.at_interrupts, self.known = set(), {}
        cores = len(shared.cores)
        self.spare, self.given = [Fraction(0)] * cores, [Fraction(0)] * cores
        self.spare_at_first_byte: dict[int, Fraction] = {}

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
            Phase.JOB_ENDS: self.piece_ends,
            Phase.JOB_ENDS + 1: lambda node: None,  # interrupts begin or end: only speeds change
        }
        while self.queue or self.running:
            self.set_speeds()
            ends = [
                (self.now + _rounded(job.work / self.speed[i]), Phase.JOB_ENDS, i)
                for i, job in self.running.items()
                if self.speed[i] > 0
            ]
            if self.queue:
                ends.append(self.queue[0])
            self.now, phase, i = first = min(ends)
            if self.queue and self.queue[0] == first:
                heapq.heappop(self.queue)
            self.advance()
            handlers[phase](i)
            self.release()
        if self.ended < len(self.ops):
            raise Stuck
        return self.finish

    # speeds

    def set_speeds(self):
        shares = {i: self.share(job.rank) for i, job in self.running.items()}
        copied: dict[tuple[int, int], Fraction] = {}
        computing: dict[tuple[int, int], list[tuple[Fraction, Fraction]]] = {}
        for i, job in self.running.items():
            for memory, rate in job.demand.items():
                if job.computes:
                    computing.setdefault(memory, []).append((shares[i], shares[i] * job.memory_bound))
                else:
                    copied[memory] = copied.get(memory, Fraction(0)) + shares[i] * rate
        for i, job in self.running.items():
            # Capacities are in bytes a nanosecond.
            stretches = [
                self.shared.memories[m].stretches(
                    copied.get((m, d), Fraction(0)) * 1000, computing.get((m, d), [])
                )[job.computes]
                for m, d in job.demand
            ]
            most = max(stretches, default=Fraction(1))
            self.speed[i] = shares[i] / (1 - job.memory_bound + job.memory_bound * most)

    def share(self, rank) -> Fraction:
        shared = self.shared
        processor = shared.processor[rank]
        cores = shared.cores[processor]
        users = [job.rank for job in self.running.values() if shared.processor[job.rank] == processor]
        left = max(0, cores - self.interrupts_on(processor))
        if left == 0:
            return Fraction(0)
        own = shared.waiting == "none"
        wanted = min(len(users), cores) if own else self.wanted(processor, len(users))
        return min(Fraction(1), Fraction(left) / max(1, wanted))

    def unfinished(self, processor) -> int:
        there = [r for r, p in enumerate(self.shared.processor) if p == processor]
        return sum(not self.has_finished(r) for r in there)

    def wanted(self, processor, jobs) -> int:
        """How many equal shares of these cores are asked for."""
        return self.unfinished(processor) if self.shared.waiting == "spin" else jobs

    # what ranks that wait do with bytes while they come in, on cores that ranks share

    def is_shared(self, processor) -> bool:
        users = sum(each == processor for each in self.shared.processor)
        return self.shared.waiting != "none" and users > self.shared.cores[processor]

    def spare_rate(self, processor) -> Fraction:
        left = max(0, self.shared.cores[processor] - self.interrupts_on(processor, self.since))
        jobs = sum(self.shared.processor[job.rank] == processor for job in self.running.values())
        if jobs >= left or self.unfinished(processor) == jobs:
            return Fraction(0)
        at_once = min(self.unfinished(processor), left) - jobs
        return at_once * min(Fraction(1), Fraction(left, self.wanted(processor, jobs + 1)))

    def coming_is_known(self, send):
        processor = self.shared.processor[self.ops[send][1].peer]
        self.spare_at_first_byte[send] = self.spare[processor]

    def done_while_idle(self, rank, send, work, idle) -> int:
        most = max(0, min(work, idle))
        processor = self.shared.processor[rank]
        if most == 0 or not self.is_shared(processor):
            return most
        since = max(self.given[processor], self.spare_at_first_byte[send])
        done = max(Fraction(0), min(self.spare[processor] - since, Fraction(most)))
        self.given[processor] = since + done
        return _rounded(done)

    def has_finished(self, rank) -> bool:
        return all((i, "ended") in self.facts for i, (r, _) in enumerate(self.ops) if r == rank)

    def interrupts_on(self, processor, now=None) -> int:
        if self.shared.interrupts is None:
            return 0
        now = self.now if now is None else now
        return sum(
            where == processor and any(begin <= now < end for begin, end in self.busy[node])
            for node, where in enumerate(self.shared.interrupts.processor)
        )

    def advance(self):
        for processor in range(len(self.spare)):
            if self.is_shared(processor):
                self.spare[processor] += self.spare_rate(processor) * (self.now - self.since)
        for i, job in self.running.items():
            job.work -= self.speed[i] * (self.now - self.since)
        self.since = self.now

    # jobs

    def run_job(self, i, what, work):
        rank = self.ops[i][0]
        job = Running(rank, Fraction(work), Fraction(0), {})
        if what == "calc":
            bound = self.shared.memory_bound[rank] if self.shared.memory_bound else Fraction(0)
            job.demand = {
                (m, memory.domain[rank]): bound * memory.per_core / 1000
                for m, memory in enumerate(self.shared.memories)
                if bound and memory.per_core is not None and memory.domain[rank] is not None
            }
            job.memory_bound, job.computes = bound, True
        elif what in ("bytes", "data", "receive bytes"):
            send = i if what != "receive bytes" else self.partner[i]
            alone = self.at_receiver(i, self.on_core(send)) if what == "receive bytes" else self.on_core(send)
            if alone > 0:
                rate = Fraction(self.ops[send][1].value, max(alone, self.span_with_tx(send)))
                used = self.memories_of(rank, self.link_name(send))
                job.demand = {(m, memory.domain[rank]): rate * memory.passes for m, memory in used}
                job.memory_bound = Fraction(1)
        self.running[i] = job

    def memories_of(self, rank, link_name):
        """Those that copies of a rank load."""
        memories = enumerate(self.shared.memories)
        return [
            (m, each) for m, each in memories if each.domain[rank] is not None and link_name in each.copies
        ]

    def piece_ends(self, i):
        cpu = self.cpus[self.ops[i][0]]
        _, what = cpu.ready[0]
        del self.running[i]
        if what == "receive" and self.then.get(i):
            self.run_job(i, "receive bytes", self.then.pop(i))
            cpu.idle_since = self.now
            return
        if (what == "bytes" or what == "data") and self.leaves_with_job(i):
            self.hold_up(i, self.now + self.latency(i))
        self.job_ends(i)

    def work(self, i, what, cpu) -> int:
        if what != "receive":
            return super().work(i, what, cpu)
        rank, send = self.ops[i][0], self.partner[i]
        since = max(self.first_byte[send], cpu.idle_since)
        idle = self.now - since - self.interrupted(rank, since)
        overhead = self.at_receiver(i, self.link(send).o_receive) + self.connect(i, send)
        bytes_left = self.at_receiver(i, self.on_core(send))
        bytes_left -= self.done_while_idle(rank, send, bytes_left, idle)
        if self.memories_of(rank, self.link_name(send)):
            self.then[i] = bytes_left  # a job by itself, which the memory can slow down
            return overhead
        return overhead + bytes_left

    def interrupted(self, rank, since) -> int:
        """How long interrupts had a rank's only core from a time up to now."""
        interrupts, processor = self.shared.interrupts, self.shared.processor[rank]
        if interrupts is None or self.shared.cores[processor] > 1:
            return 0
        return sum(
            max(0, min(end, self.now) - max(begin, since))
            for node, where in enumerate(interrupts.processor)
            if where == processor
            for begin, end in self.busy[node]
        )

    def at_receiver(self, receive, work) -> int:
        interrupts = self.shared.interrupts
        rank = self.ops[receive][0]
        if interrupts is None or rank not in interrupts.far or not self.link(self.partner[receive]).network:
            return work
        return _rounded(work * interrupts.factor)

    # messages

    def link_name(self, send) -> str:
        r, op = self.ops[send]
        inside = "inside" if self.place.node[r] == self.place.node[op.peer] else "network"
        return "itself" if r == op.peer else inside

    def span_with_tx(self, send) -> int:
        tx = self.place.tx_message + self.ops[send][1].value * self.place.tx_byte
        return max(self.span(send), tx) if self.link(send).network else self.span(send)

    def latency(self, send) -> int:
        return self.link(send).L - (0 if self.eager(send) else 2 * self.control(send))

    def leaves_with_job(self, send) -> bool:
        link = self.link(send)
        return not link.overlap and self.on_core(send) > 0 and (self.eager(send) or link.in_call)

    def at(self, time, phase, i):
        if phase != Phase.LAST_BYTE:
            super().at(time, phase, i)
        elif self.link(i).network or not self.leaves_with_job(i):
            self.hold_up(i, time)

    def hold_up(self, send, time):
        """The last byte of a message is held up by its way, by the job that copies it, and by the interrupt core."""
        self.known.setdefault(send, []).append(time)
        things = 1
        if self.link(send).network:
            things += self.leaves_with_job(send) + (self.shared.interrupts is not None)
        if len(self.known[send]) == things:
            super().at(max(self.known[send]), Phase.LAST_BYTE, send)

    def enters_link(self, send):
        super().enters_link(send)
        self.coming_is_known(send)

    def enters_rx(self, send):
        self.coming_is_known(send)
        if send in self.at_interrupts:
            self.interrupt(send)
            return
        super().enters_rx(send)
        if self.shared.interrupts is not None:
            self.at_interrupts.add(send)
            if self.first_byte[send] > self.now:
                self.at(self.first_byte[send], Phase.ENTERS_RX, send)
            else:
                self.interrupt(send)

    def interrupt(self, send):
        op = self.ops[send][1]
        node = self.place.node[op.peer]
        begin = max(self.now, self.busy_until[node])
        costs = self.shared.interrupts
        self.busy_until[node] = begin + (costs.per_message + op.value * costs.per_byte) * 1000
        self.busy[node].append((begin, self.busy_until[node]))
        self.first_byte[send] = begin
        for time in self.busy[node][-1]:
            super().at(time, Phase.JOB_ENDS + 1, node)
        self.hold_up(send, self.busy_until[node])

    def end(self, i):
        self.facts.add((i, "ended"))
        super().end(i)


def _rounded(time: Fraction) -> int:
    return int(time + Fraction(1, 2))


def _in_ps(op: Op) -> Op:
    return replace(op, value=op.value * 1000) if op.kind == "calc" else op


def _place_in_ps(place: Place) -> Place:
    def link(each: Link) -> Link:
        times = {name: getattr(each, name) * 1000 for name in ("L", "o", "o_receive", "g", "G", "O")}
        return replace(each, **times)

    times = {name: getattr(place, name) * 1000 for name in ("tx_message", "tx_byte", "rx_message", "rx_byte")}
    return replace(
        place, itself=link(place.itself), inside=link(place.inside), network=link(place.network), **times
    )
