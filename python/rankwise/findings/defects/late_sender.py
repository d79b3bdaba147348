# SPDX-License-Identifier: BSD-3-Clause
"""A rank waits in a receive while the sender still computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.findings.evidence import LEAST_S, LEAST_SHARE, Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import count_text, seconds_text
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES
from rankwise.recording.timeline import RankEvents
from rankwise.recording.waits import Timeline

NAME = "late-sender"
_LONG_S = 1e6
PAGE = """\
A rank waits in a receive for a message whose sender is still computing: the
message could be sent earlier, or the receive be asked for later.

How it is told: from an exact trace (`--trace --exact-times`). A receive waits
until its send began. Of that, the time counts in which the sender was outside
MPI; what it spent in MPI, it waited itself, and somebody else is to blame.

Of a call that gets several messages, the last one counts. Between hosts, waits
that are shorter than what is known of their clocks do not count.

From when on: mending it saves 5 % of the run time and 10 ms.

Its cost: that waiting of one receiver for one sender, less what the sender
computes more all in all, which is load imbalance; and no more than the run
time on an ideal network is longer than the computation of the rank with most.

Where the sender waited for a core, all of that is taken off.

What refutes it: the sender needs all of that computation for the message (a
pipeline has to be filled); or sending earlier, and the run takes as long.

What to do: send before the computation that the message does not need; post
the receive early (MPI_Irecv) and compute before waiting for it; cut a pipeline
into smaller pieces.
"""


@dataclass(frozen=True)
class _Pair:
    """A receiver's waiting for a sender in one call; `receive` and `send` are kinds of calls."""

    source: int
    destination: int
    receive: int
    send: int
    waited_s: float
    messages: int


def find(evidence: Evidence) -> list[Finding]:
    """The pair that costs most."""
    times = evidence.times
    pairs = _pairs(evidence.timeline)
    efficiency = evidence.efficiency
    if not pairs or efficiency is None:
        return []
    ideal_s = efficiency.elapsed_s if efficiency.ideal_s is None else efficiency.ideal_s
    bound_s = min(ideal_s, times.elapsed_s) - float(times.useful_least_s.max())

    def cost_s(pair: _Pair) -> float:
        more_s = max(float(times.useful_most_s[pair.source] - times.useful_most_s[pair.destination]), 0.0)
        core_s = 0.0 if times.core_s is None else float(times.core_s[pair.source])
        return min(pair.waited_s - more_s - core_s, bound_s)

    limit_s = max(LEAST_S, LEAST_SHARE * times.elapsed_s)
    costs = sorted(((cost_s(pair), pair) for pair in pairs), key=lambda each: (-each[0], -each[1].waited_s))
    costly = [each for each in costs if each[0] >= limit_s]
    if not costly:
        return []
    cost, pair = costly[0]
    receive, send = str(CALL_NAMES[pair.receive]), str(CALL_NAMES[pair.send])
    at, sent_at = evidence.place_of(pair.destination, receive), evidence.place_of(pair.source, send)
    lines = [
        f"in {count_text(pair.messages)} "
        f"{'message' if pair.messages == 1 else 'messages'} that rank {pair.source} sends with {send}"
        + (f" at {sent_at}" if sent_at else "")
        + " after it has computed"
    ]
    for _, other in costly[1:4]:
        lines.append(
            f"likewise rank {other.destination} for rank {other.source}, {seconds_text(other.waited_s)} "
            f"in {CALL_NAMES[other.receive]}"
        )
    return [
        Finding(
            name=NAME,
            sentence=f"rank {pair.destination} waits {seconds_text(pair.waited_s)} in {receive}"
            + (f" at {at}" if at else "")
            + f" for rank {pair.source}, which sends late",
            evidence=lines,
            ranks=[pair.source, pair.destination],
            cost_s=cost,
            estimate="that waiting, and no more than ranks lose to waiting for each other on an ideal network",
            do=f"have rank {pair.source} send before it computes what the message does not need, or rank "
            f"{pair.destination} compute before it needs the message",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="the message needs all that the sender computes before it",
        )
    ]


def _pairs(timeline: Timeline) -> list[_Pair]:
    """Waiting for senders that were outside MPI, summed by sender, receiver and calls."""
    ranks, messages = timeline.on_one_clock(), timeline.messages
    outside = {rank: _Outside(ranks[rank]) for rank in set(messages.source.tolist())}
    host = np.array(timeline.host)
    bound = np.array([max(clock.bound_s, clock.spread_s) for clock in timeline.clocks])
    found: dict[tuple[int, int, int, int], tuple[float, int]] = {}
    for destination, each in enumerate(ranks):
        mine = np.flatnonzero(messages.destination == destination)
        if not len(mine):
            continue
        source, send, receive = messages.source[mine], messages.send[mine], messages.receive[mine]
        sent = np.empty(len(mine))
        for rank in np.unique(source):
            sent[source == rank] = ranks[rank].begin_s[send[source == rank]]
        # The last message of each call is the one that it waited for.
        order = np.lexsort((sent, receive))
        last = order[np.flatnonzero(np.diff(receive[order], append=-1))]
        source, send, receive, sent = source[last], send[last], receive[last], sent[last]
        begin, until = each.begin_s[receive], np.minimum(sent, each.end_s[receive])
        unsure = np.where(
            host[source] == host[destination], 0.0, bound[host[source]] + bound[host[destination]]
        )
        late = until - begin > unsure
        for rank in np.unique(source[late]):
            rows = np.flatnonzero(late & (source == rank))
            own_s = outside[rank].between(begin[rows], until[rows])
            kinds = each.columns["kind"][receive[rows]], ranks[rank].columns["kind"][send[rows]]
            for got, how in set(zip(*(kind.tolist() for kind in kinds), strict=True)):
                these = (kinds[0] == got) & (kinds[1] == how)
                found[int(rank), destination, got, how] = float(own_s[these].sum()), int(these.sum())
    return [_Pair(*key, *value) for key, value in found.items()]


class _Outside:
    """How long a rank had been outside MPI by when."""

    def __init__(self, events: RankEvents):
        calls = events.columns["kind"] < len(CALL_CLASSES)
        begin, end = events.begin_s[calls], events.end_s[calls]
        # Before its first call it had been outside since MPI_Init, in which nobody waits for its messages yet.
        end = np.concatenate([[begin[0] - _LONG_S], end])
        gaps = np.clip(begin - end[:-1], 0, None)
        self.at_s = np.concatenate([end[:1], np.column_stack([begin, end[1:]]).reshape(-1)])
        self.outside_s = np.concatenate([[0.0], np.repeat(np.cumsum(gaps), 2)])

    def between(self, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
        """How long it was outside MPI between two times."""
        until, before = (np.interp(at_s, self.at_s, self.outside_s) for at_s in (end_s, begin_s))
        spent: np.ndarray = until - before
        return spent
