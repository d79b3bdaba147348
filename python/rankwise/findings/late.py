# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that wait in a call for one other that still computes.

Scalasca's Late Sender, Late Receiver, Late Broadcast and Early Reduce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.quantities import bytes_text, counted, seconds_text
from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.needs import NEEDS, Need, Outside
from rankwise.recording.traces.waits import Timeline

_MOST_OF_IT = 0.5


@dataclass(frozen=True)
class LatePair:
    """One rank's waiting for another in one kind of call.

    Attributes:
        late: World rank that is waited for, while it is outside MPI.
        waiting: World rank that waits.
        need: What it waits for: `message` (Late Sender), `receive` (Late Receiver), `member` of a rooted collective
            (Late Broadcast, Early Reduce), or `rest`: of a message that was sent and comes when its sender is in MPI.
        waiting_call: Kind of the call that it waits in.
        late_call: Kind of the call that it waits for; of a receive the one that posted it.
        waited_s: Of that, while the other was outside MPI.
        messages: How many.
        mean_bytes: Of a message.
    """

    late: int
    waiting: int
    need: Need
    waiting_call: int
    late_call: int
    waited_s: float
    messages: int
    mean_bytes: float

    def messages_text(self) -> str:
        """How many messages of what size."""
        of = "of" if self.messages == 1 else "of about"
        return f"{counted(self.messages, 'message')} {of} {bytes_text(self.mean_bytes)}"

    def in_same_way_text(self) -> str:
        """What it is, below another pair that is told in full."""
        return (
            f"in the same way rank {self.waiting} waits for rank {self.late}, {seconds_text(self.waited_s)} "
            f"in {CALL_NAMES[self.waiting_call]}"
        )


def late_pairs(timeline: Timeline) -> list[LatePair]:
    """Waiting for ranks that were outside MPI, summed by both ranks and their calls.

    Of a call that needs several messages the last one counts, which is the one that it waited for. Between hosts, waits
    that are shorter than what is known of their clocks do not count.
    """
    ranks, found = timeline.on_one_clock(), []
    outside = {
        rank: Outside(ranks[rank]) for needs in timeline.needs.values() for rank in np.unique(needs.who)
    }
    for rank, needs in timeline.needs.items():
        each, waited_s = ranks[rank], needs.waited_s(ranks[rank])
        begin = each.begin_s[needs.row]
        until, counts = begin + waited_s, waited_s > needs.unsure_s
        kinds = each.columns["kind"][needs.row]
        for who in np.unique(needs.who[counts]):
            rows = np.flatnonzero(counts & (needs.who == who))
            own_s = outside[who].between(begin[rows], until[rows])
            theirs = ranks[who].columns["kind"][needs.their_row[rows]]
            keys = np.column_stack([needs.need[rows], kinds[rows], theirs])
            for need, call, late_call in np.unique(keys, axis=0).tolist():
                these = (keys == (need, call, late_call)).all(axis=1)
                found.append(
                    LatePair(
                        int(who),
                        rank,
                        NEEDS[need],
                        call,
                        late_call,
                        float(own_s[these].sum()),
                        int(these.sum()),
                        float(needs.size_bytes[rows][these].mean()),
                    )
                )
    return found


def in_turns(pairs: Sequence[LatePair], useful_s: npt.NDArray[np.float64]) -> list[list[int]]:
    """Groups of ranks that compute one after the other, each waiting for a message of the one before.

    In a group each rank waits while another computes, for at least half of what that one computes in the whole run,
    and is itself waited for likewise.

    Args:
        pairs: Who waits for whom.
        useful_s: Computation by rank.

    Returns:
        World ranks of each group, in order.
    """
    edges = {
        (pair.late, pair.waiting)
        for pair in pairs
        if pair.need == "message" and pair.waited_s > _MOST_OF_IT * useful_s[pair.late] > 0
    }
    while True:
        both = {late for late, _ in edges} & {waiting for _, waiting in edges}
        left = {edge for edge in edges if set(edge) <= both}
        if left == edges:
            break
        edges = left
    group = {rank: rank for edge in edges for rank in edge}

    def head(rank: int) -> int:
        while group[rank] != rank:
            group[rank] = group[group[rank]]
            rank = group[rank]
        return rank

    for late, waiting in edges:
        group[head(late)] = head(waiting)
    found: dict[int, list[int]] = {}
    for rank in sorted(group):
        found.setdefault(head(rank), []).append(rank)
    return list(found.values())
