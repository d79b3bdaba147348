# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that wait in a call for one other that still computes.

Scalasca's Late Sender, Late Receiver, Late Broadcast and Early Reduce.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from rankwise.quantities import bytes_text, counted
from rankwise.recording.layouts import EVENT_POLL
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES
from rankwise.recording.traces.operations import ALONE_IN_FILES
from rankwise.recording.traces.timeline import CollectiveCalls, Messages, RankEvents
from rankwise.recording.traces.waits import Timeline

Need = Literal["message", "receive", "member", "rest"]
_NEEDS: tuple[Need, ...] = get_args(Need)
_OF_LOWER = ("scan", "exscan")
_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_LONG_S = 1e6
_LEAST_TRACKED, _MOST_MISSED = 8, 0.1
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


class Outside:
    """When a rank was outside MPI, or read or wrote a file alone.

    Args:
        events: Of the rank.
    """

    def __init__(self, events: RankEvents):
        kinds = events.columns["kind"]
        calls = ~np.append(ALONE_IN_FILES, True)[np.minimum(kinds, len(CALL_CLASSES))] | (kinds == EVENT_POLL)
        end = events.end_s[calls]
        # What waited since an earlier event's begin overlaps that.
        begin = np.maximum(events.begin_s[calls], np.concatenate([events.begin_s[calls][:1], end[:-1]]))
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

    def waited_until(self, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
        """When it came back, where calls of another rank seem to end because of that; else minus infinity.

        It was away for most of such a call before, and these calls end rather a fixed time after that than after they
        began. Nearly none of those in which it was away for most of the time ends before it is back.
        """
        nowhere = np.full(len(begin_s), -np.inf)
        gone, came = self.at_s[::2], self.at_s[1 : len(self.at_s) : 2]
        gone = gone[: len(came)]
        # Between calls that follow each other at once it was not away.
        long = came - gone >= np.median(end_s - begin_s) / 4 if len(end_s) else np.zeros(0, bool)
        if not long.any():
            return nowhere
        gone, came = gone[long], came[long]
        call = np.searchsorted(came, end_s, side="right") - 1
        back = np.where(call >= 0, came[call], -np.inf)
        left = np.maximum(gone[call], begin_s)
        ends_so = (back > begin_s) & (back - left >= (back - begin_s) / 2)
        away = self.between(begin_s, end_s) >= (end_s - begin_s) / 2
        if ends_so.sum() < _LEAST_TRACKED or (away & ~ends_so).sum() > _MOST_MISSED * ends_so.sum():
            return nowhere
        of_both = [np.percentile((end_s - since)[ends_so], [25, 75]) for since in (back, begin_s)]
        spreads = [high - low for low, high in of_both]
        return np.where(ends_so, back, nowhere) if spreads[0] < spreads[1] / 2 else nowhere


class _Events(NamedTuple):
    """Events of all ranks behind each other."""

    starts: np.ndarray
    begin_s: np.ndarray


class _Needs(NamedTuple):
    """What calls of one rank waited for, as columns."""

    row: np.ndarray
    at_s: np.ndarray
    who: np.ndarray
    their_row: np.ndarray
    size_bytes: np.ndarray
    need: np.ndarray


def late_pairs(timeline: Timeline) -> list[LatePair]:
    """Waiting for ranks that were outside MPI, summed by both ranks and their calls.

    Of a call that needs several messages the last one counts, which is the one that it waited for. Between hosts, waits
    that are shorter than what is known of their clocks do not count.
    """
    ranks, messages = timeline.on_one_clock(), timeline.messages
    events = _Events(
        np.cumsum([0, *(len(each.begin_s) for each in ranks)]),
        np.concatenate([each.begin_s for each in ranks]),
    )
    rooted = _rooted(timeline.collectives, ranks, timeline.members)
    talking = set(messages.source.tolist()) | set(messages.destination.tolist())
    talking |= set(rooted.rank.tolist()) | set(rooted.needs.who.tolist())
    outside = {rank: Outside(ranks[rank]) for rank in talking}
    host = np.array(timeline.host)
    bound = np.array([max(clock.bound_s, clock.spread_s) for clock in timeline.clocks])
    found = []
    for rank in sorted(talking):
        each = ranks[rank]
        needs = _last(
            _receives(rank, each, messages, events, outside),
            _sends(rank, each, messages, events, outside),
            _Needs(*(column[rooted.rank == rank] for column in rooted.needs)),
        )
        begin, until = each.begin_s[needs.row], np.minimum(needs.at_s, each.end_s[needs.row])
        unsure = np.where(host[needs.who] == host[rank], 0.0, bound[host[needs.who]] + bound[host[rank]])
        counts = until - begin > unsure
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
                        _NEEDS[need],
                        call,
                        late_call,
                        float(own_s[these].sum()),
                        int(these.sum()),
                        float(needs.size_bytes[rows][these].mean()),
                    )
                )
    return found


def _last(*several: _Needs) -> _Needs:
    """Of each call the last need; of two at one time that of the first given."""
    joined = _Needs(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    order = np.lexsort((-np.arange(len(joined.row)), joined.at_s, joined.row))
    last = order[np.flatnonzero(np.diff(joined.row[order], append=-1))]
    return _Needs(*(column[last] for column in joined))


def _receives(
    rank: int, each: RankEvents, messages: Messages, events: _Events, outside: dict[int, Outside]
) -> _Needs:
    """A receive needs its send to have begun, and may need its sender to be in MPI for the rest of the message.

    For the latter see `Outside.waited_until`.
    """
    mine = np.flatnonzero(messages.destination == rank)
    row, source, send = messages.receive[mine], messages.source[mine], messages.send[mine]
    begin, end = each.begin_s[row], each.end_s[row]
    place = events.starts[source] + send
    at = events.begin_s[place].copy()
    need = np.full(len(mine), _NEEDS.index("message"))
    early = at <= begin
    for who in np.unique(source):
        these = np.flatnonzero(early & (source == who))
        back = outside[who].waited_until(begin[these], end[these])
        rest = back > begin[these]
        at[these[rest]], need[these[rest]] = back[rest], _NEEDS.index("rest")
    return _Needs(row, at, source, send, messages.bytes[mine], need)


def _sends(
    rank: int, each: RankEvents, messages: Messages, events: _Events, outside: dict[int, Outside]
) -> _Needs:
    """A send that ends after its receive was posted may have needed that, or its receiver to be in MPI at all.

    Where the receive is posted late, it did. For the other see `Outside.waited_until`.
    """
    mine = np.flatnonzero(messages.source == rank)
    row = messages.sent[mine]
    mine, row = mine[row >= 0], row[row >= 0]
    destination, posted_row = messages.destination[mine], messages.posted[mine]
    begin, end = each.begin_s[row], each.end_s[row]
    posted = events.begin_s[events.starts[destination] + posted_row]
    at = posted.copy()
    early = posted <= begin
    for who in np.unique(destination):
        these = np.flatnonzero(early & (destination == who))
        at[these] = outside[who].waited_until(begin[these], end[these])
    size = messages.bytes[mine]
    counts = (at > begin) & (at <= end)
    columns = row, at, destination, posted_row, size, np.full(len(row), _NEEDS.index("receive"))
    return _Needs(*(column[counts] for column in columns))


class _Rooted(NamedTuple):
    """What calls of rooted collectives waited for, and whose calls these are."""

    rank: np.ndarray
    needs: _Needs


def _rooted(calls: CollectiveCalls, ranks: list[RankEvents], members: list[np.ndarray | None]) -> _Rooted:
    """Who gets something from the root needs it to have come; the root that gets something of all, the last of them.

    In a scan, who gets something of lower ranks needs the last of these.
    """
    names = np.append(CALL_COLLECTIVES, "")[calls.kind]
    root = np.empty(len(calls.rank), np.int64)
    size = np.empty(len(calls.rank))
    for rank, each in enumerate(ranks):
        mine = calls.rank == rank
        root[mine] = each.columns["root"][calls.given[mine]]
        size[mine] = each.columns["bytes"][calls.given[mine]]
    for comm in np.unique(calls.comm[calls.comm >= 0]):
        group, mine = members[comm], calls.comm == comm
        # An intercommunicator's roots are in the other group, or have numbers of their own.
        known = np.zeros(0, np.int64) if group is None else group.astype(np.int64)
        there = mine & (root >= 0) & (root < len(known))
        root[there], root[mine & ~there] = known[root[there]], -1
    is_root = root == calls.rank
    # By collective, the call that others need: that of the root, or the last one but the root's.
    needed = np.full(len(calls.kind), -1)
    down, up = (np.isin(names, some)[calls.number] for some in (_FROM_ROOT, _TO_ROOT))
    needed[calls.number[down & is_root]] = np.flatnonzero(down & is_root)
    others = np.flatnonzero(up & ~is_root)
    others = others[np.argsort(calls.begin_s[others], kind="stable")]
    needed[calls.number[others]] = others
    waiting = (down & (root >= 0) & ~is_root) | (up & is_root)
    of_call = np.where(waiting, needed[calls.number], -1)
    for number in np.unique(calls.number[np.isin(names, _OF_LOWER)[calls.number]]):
        _set_lower(of_call, np.flatnonzero(calls.number == number), calls, members)
    waits = np.flatnonzero(of_call >= 0)
    need = of_call[waits]
    return _Rooted(
        calls.rank[waits],
        _Needs(
            calls.row[waits],
            calls.begin_s[need],
            calls.rank[need],
            calls.row[need],
            size[need],
            np.full(len(waits), _NEEDS.index("member")),
        ),
    )


def _set_lower(
    of_call: np.ndarray, these: np.ndarray, calls: CollectiveCalls, members: list[np.ndarray | None]
) -> None:
    """Of a scan, the last of the calls of lower ranks, which each member needs."""
    group = members[calls.comm[these[0]]]
    if group is None:
        return
    place = {int(rank): at for at, rank in enumerate(group)}
    ordered = sorted(these.tolist(), key=lambda call: place.get(int(calls.rank[call]), -1))
    last = ordered[0]
    for call in ordered[1:]:
        of_call[call] = last
        last = call if calls.begin_s[call] > calls.begin_s[last] else last


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
