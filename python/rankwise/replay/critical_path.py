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
            with others), `overhead`, `queue`, `transfer inside a node`, `transfer over the network`, `handshake`.
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

    def run(self) -> CriticalPath:
        t = self.t
        if len(t.end) == 0:
            return CriticalPath({}, {}, 0)
        op: int | None = int(np.argmax(t.end))
        self.now = int(t.end[op])
        # Each step goes back in time or to an earlier operation; a bound all the same.
        for _ in range(4 * len(t.end) + 4):
            if op is None or self.now <= 0:
                break
            op = self._before(op)
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
            if t.after[op] != NONE and t.begin[op] > max(t.arrives[op], t.ready[op]):
                return int(t.after[op])
            if t.ready[op] >= t.arrives[op]:
                self._to(int(t.ready[op]), "overhead", rank)
                return self._released(op)
            return self._message(op)
        partner = int(t.partner[op])
        posted = int(t.ready[partner])
        if t.rendezvous[op] and t.begin[op] < posted < self.now:
            # The receive was posted after the send had begun: the sender waited for that.
            self._to(max(int(t.sent[op]), posted), "overhead", rank)
            self._to(posted, "handshake")
            return self._released(partner)
        self._to(int(t.begin[op]), "overhead", rank)
        return self._released(op)

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
        if t.after[op] != NONE and t.begin[op] > t.ready[op]:
            return int(t.after[op])
        before = int(t.released_by[op])
        return None if before == NONE else before
