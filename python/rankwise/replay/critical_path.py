# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a replay: from the last operation back to what each waited for, until the beginning."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from rankwise.replay.timeline import CALC, NONE, RECEIVE, Timeline


@dataclass(frozen=True)
class CriticalPath:
    """The chain of operations and messages of which no piece could be longer without making the whole longer.

    Attributes:
        cause_s: Seconds of it by cause, which add up to the makespan: `computation`, `time-shared` (a core shared
            with others), `overhead`, `queue`, `transfer inside a node`, `transfer over the network`, `handshake`;
            `rest` where the way back is not told.
        rank_s: Seconds of it on each rank's processor.
        messages: Messages on it.
    """

    cause_s: dict[str, float]
    rank_s: dict[int, float]
    messages: int


def critical_path(timeline: Timeline) -> CriticalPath:
    """Walk back from the operation that ends last."""
    return _Walk(timeline).run()


class _Walk:
    def __init__(self, timeline: Timeline):
        self.t = timeline
        self.cause: Counter[str] = Counter()
        self.on_rank: Counter[int] = Counter()
        self.messages = 0
        self.now = 0
        self.computations: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def run(self) -> CriticalPath:
        t = self.t
        if len(t.end) == 0:
            return CriticalPath({}, {}, 0)
        op: int | None = int(np.argmax(t.end))
        self.now = int(t.end[op])
        seen: set[int] = set()  # since the time last went back
        while op is not None and self.now > 0 and op not in seen:
            seen.add(op)
            before, now = op, self.now
            op = self._before(before)
            if self.now < now:
                seen = set()
        self._to(0, "rest")
        picosecond = 1e-12
        return CriticalPath(
            {cause: each * picosecond for cause, each in self.cause.most_common() if each},
            {rank: each * picosecond for rank, each in self.on_rank.most_common() if each},
            self.messages,
        )

    def _to(self, earlier: int, cause: str, rank: int | None = None) -> None:
        """Go back to a moment; what lies between is of that cause."""
        if earlier >= self.now:
            return
        self.cause[cause] += self.now - earlier
        if rank is not None:
            self.on_rank[rank] += self.now - earlier
        self.now = earlier

    def _before(self, op: int) -> int | None:
        """Account for an operation up to `now`, and say what it waited for."""
        t = self.t
        rank, kind = int(t.rank[op]), int(t.kind[op])
        if kind == CALC:
            longer = min(self.now, int(t.end[op])) - int(t.begin[op]) - int(t.bytes[op])
            if longer > 0:
                self._to(self.now - longer, "time-shared", rank)
            self._to(int(t.begin[op]), "computation", rank)
            return self._released(op)
        if kind == RECEIVE:
            self._to(int(t.begin[op]), "overhead", rank)
            before = self._on_processor(op)
            if before is not None and t.begin[op] > max(t.arrives[op], t.ready[op]):
                return before
            self._to(int(max(t.arrives[op], t.ready[op])), "overhead", rank)
            if t.ready[op] >= t.arrives[op]:
                return self._released(op)
            return self._message(op)
        if t.rendezvous[op]:
            return self._rendezvous(op)
        self._to(int(t.begin[op]), "overhead", rank)
        return self._released(op)

    def _rendezvous(self, send: int) -> int | None:
        """Back from the moment in which data leave to what the sender waited for last."""
        t, receive, rank = self.t, int(self.t.partner[send]), int(self.t.rank[send])
        sent, begin = int(t.sent[send]), int(t.begin[send])
        if self.now < sent:  # its first job had the processor
            self._to(begin, "overhead", rank)
            return self._released(send)
        self._to(sent, "overhead", rank)
        posted, free, answered = int(t.ready[receive]), -1, -1
        own = other = None
        if t.in_call[send]:
            # Neither the data nor the answer leave while their rank computes.
            own, free = self._computed(rank, sent)
            other, answered = self._computed(int(t.rank[receive]), sent)
        latest = max(begin, posted, free, answered)
        self._to(latest, "handshake")
        if latest == begin:
            return self._released(send)
        if latest == posted:
            return self._released(receive)
        return own if latest == free else other

    def _computed(self, rank: int, until: int) -> tuple[int | None, int]:
        """The last computation of a rank that ended by a moment, and when."""
        t = self.t
        if rank not in self.computations:
            own = np.flatnonzero((t.rank == rank) & (t.kind == CALC) & (t.end > t.begin))
            order = own[np.argsort(t.end[own], kind="stable")]
            self.computations[rank] = order, t.end[order]
        operations, ends = self.computations[rank]
        at = int(np.searchsorted(ends, until, side="right")) - 1
        return (int(operations[at]), int(ends[at])) if at >= 0 else (None, -1)

    def _message(self, receive: int) -> int:
        """Back along a message to the moment in which its sender handed it over."""
        t, send = self.t, int(self.t.partner[receive])
        self.messages += 1
        way = "transfer over the network" if t.crossing[send] else "transfer inside a node"
        on_link = int(t.on_link[send])
        on_tx = max(int(t.on_tx[send]), on_link)
        at_rx = max(int(t.at_rx[receive]), on_tx)
        on_rx = max(int(t.on_rx[receive]), at_rx)
        self._to(on_rx, way)
        self._to(at_rx, "queue")
        self._to(on_tx, way)
        self._to(int(t.sent[send]), "queue")
        return send

    def _released(self, op: int) -> int | None:
        """What made an operation begin when it did: its processor's job before, or what it waited for."""
        t = self.t
        before = self._on_processor(op)
        if before is not None and t.begin[op] > t.ready[op]:
            return before
        released_by = int(t.released_by[op])
        return None if released_by == NONE else released_by

    def _on_processor(self, op: int) -> int | None:
        """What had the processor until an operation began, unless that was the answer to a later rendezvous."""
        before = int(self.t.after[op])
        return None if before == NONE or self.t.begin[before] > self.t.begin[op] else before
