# SPDX-License-Identifier: BSD-3-Clause
"""What every operation of a replay did when, and what ranks wait for; times in picoseconds, as in the replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.placement.placement import Placement
from rankwise.replay.predict import Predictor

NONE = 0xFFFFFFFF
SEND, RECEIVE, CALC = 1, 2, 3

CAUSES = ("late_sender", "late_receiver", "queue", "transfer", "rest")


def timeline_of(predictor: Predictor, placement: Placement) -> Timeline:
    """Replay once more, and keep what happened when.

    Raises:
        RankwiseError: As `Predictor.predict`.
    """
    return Timeline(**predictor.timeline_columns(placement))


@dataclass(frozen=True)
class Timeline:
    """One entry an operation, numbered rank after rank; `gap_*` are intervals in which a rank's processor was idle.

    Attributes:
        rank: Whose it is.
        kind: `SEND`, `RECEIVE` or `CALC`.
        peer: The other rank.
        bytes: Of a message; of a computation its picoseconds.
        partner: Of a send its receive and the other way round, else `NONE`.
        released_by: What it waited for last, `NONE` for nothing.
        after: What had the processor until it began, `NONE` if that was idle.
        ready: When it could begin; a receive: when it was posted.
        begin: When the processor began with it; a receive: with its message.
        end: When it ended.
        sent: A send: when its data were handed to the rank's link.
        on_link: When its first byte left the rank.
        on_tx: When that entered the network; 0 inside a node.
        at_rx: A receive: when the first byte was at its node's interface; 0 inside a node.
        on_rx: When it passed that.
        arrives: When the last byte was there.
        gap_op: What the processor did next.
        gap_from: When it had nothing to do.
        gap_to: Until when.
    """

    rank: np.ndarray
    kind: np.ndarray
    peer: np.ndarray
    bytes: np.ndarray
    partner: np.ndarray
    released_by: np.ndarray
    after: np.ndarray
    ready: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    sent: np.ndarray
    on_link: np.ndarray
    on_tx: np.ndarray
    at_rx: np.ndarray
    on_rx: np.ndarray
    arrives: np.ndarray
    gap_op: np.ndarray
    gap_from: np.ndarray
    gap_to: np.ndarray

    def waiting(self, waiting_s: np.ndarray) -> dict[str, np.ndarray]:
        """What each rank waits for, by cause, in seconds; the causes of a rank add up to its `waiting_s`.

        A gap belongs to the message that ends it: until its sender hands it over, `late_sender`; while it waits for
        the sender's link and at both interfaces, `queue`; on its way, `transfer`. Where a rendezvous holds up its
        sender, `late_receiver` until the receive is posted, then `transfer`. Bytes that the processor deals with while
        they come in are overhead and taken off. `rest` is what no message explains.
        """
        ranks = len(waiting_s)
        waits = np.rint(waiting_s * 1e12)
        found = {cause: np.zeros(ranks) for cause in CAUSES}
        op, sending = self._cause()
        own = self.rank[self.gap_op]
        receives = (op != NONE) & ~sending
        span = (own[receives], self.gap_from[receives], self.gap_to[receives])
        _cut(found, *span, self._way_of_message(op[receives]))
        span = (own[sending], self.gap_from[sending], self.gap_to[sending])
        _cut(found, *span, self._way_of_rendezvous(op[sending]))
        # A rank whose last operation is a send is not done before its data have left, with nothing to do meanwhile.
        tail = waits - np.bincount(own, self.gap_to - self.gap_from, ranks)
        last = self._last_operations(ranks)
        at_end = (tail > 0) & (last != NONE)
        at_end[at_end] = self.kind[last[at_end]] == SEND
        finish = self.end[last[at_end]]
        way = self._way_of_rendezvous(last[at_end])
        _cut(found, np.flatnonzero(at_end), finish - tail[at_end].astype(np.int64), finish, way)
        over = np.maximum(sum(found.values()) - waits, 0)
        for cause in ("transfer", "queue", "late_sender", "late_receiver"):
            less = np.minimum(found[cause], over)
            found[cause] -= less
            over -= less
        found["rest"] = np.maximum(waits - sum(found.values()), 0)
        return {cause: each / 1e12 for cause, each in found.items()}

    def _last_operations(self, ranks: int) -> np.ndarray:
        """Of each rank the operation that ends last, `NONE` of a rank without any."""
        order = np.lexsort((self.end, self.rank))
        last = np.full(ranks, NONE, dtype=np.int64)
        last[self.rank[order]] = order  # of several entries of a rank the last one stays
        return last

    def _cause(self) -> tuple[np.ndarray, np.ndarray]:
        """For each gap the message operation that ended it (`NONE` if none), and whether it is a send."""
        op = self.gap_op.copy()
        # A computation, or a send's first job, begins when what it waited for ends.
        kind = self.kind[op]
        first = (kind == CALC) | ((kind == SEND) & (self.begin[op] >= self.gap_to))
        op[first] = self.released_by[op[first]]
        for _ in range(64):  # joints of several requests are computations of no time
            joint = (op != NONE) & first
            joint[joint] = self.kind[op[joint]] == CALC
            joint[joint] = self.bytes[op[joint]] == 0
            if not joint.any():
                break
            op[joint] = self.released_by[op[joint]]
        known = op != NONE
        kind = np.where(known, self.kind[np.where(known, op, 0)], CALC)
        op = np.where(kind == CALC, NONE, op)
        return op, (op != NONE) & (kind == SEND)

    def _way_of_message(self, receive: np.ndarray) -> list[tuple[np.ndarray, str]]:
        """Ends of the stages that the messages of receives go through, and what each stage is."""
        send = self.partner[receive]
        on_link = self.on_link[send]
        on_tx = np.maximum(self.on_tx[send], on_link)
        at_rx = np.maximum(self.at_rx[receive], on_tx)
        return [
            (self.sent[send], "late_sender"),
            (on_link, "queue"),
            (on_tx, "queue"),
            (at_rx, "transfer"),
            (np.maximum(self.on_rx[receive], at_rx), "queue"),
            (self.arrives[receive], "transfer"),
        ]

    def _way_of_rendezvous(self, send: np.ndarray) -> list[tuple[np.ndarray, str]]:
        """The same for sends that hold up their rank."""
        return [(self.ready[self.partner[send]], "late_receiver"), (self.end[send], "transfer")]


def _cut(
    found: dict[str, np.ndarray],
    rank: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    stages: list[tuple[np.ndarray, str]],
) -> None:
    """Cut intervals of ranks at the ends of stages and add the pieces to their causes."""
    at = begin
    for until, cause in stages:
        until = np.clip(until, at, end)
        found[cause] += np.bincount(rank, until - at, len(found[cause]))
        at = until
