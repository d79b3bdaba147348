# SPDX-License-Identifier: BSD-3-Clause
"""What a call of one rank needed of one other before it could end, and since when it was there.

Of a receive, that its send has begun; of a send that ends after its receive was posted, that; of a rooted collective,
that the root has come, or the last of those whom the root needs. Scalasca's Late Sender, Late Receiver, Late Broadcast
and Early Reduce are waiting for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from rankwise.recording.layouts import EVENT_POLL
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES
from rankwise.recording.traces.operations import ALONE_IN_FILES
from rankwise.recording.traces.timeline import CollectiveCalls, Messages, RankEvents

Need = Literal["message", "receive", "member", "rest"]
"""`message` of a receive, `receive` of a send, `member` of a rooted collective, or `rest`: of a message that was sent
and comes when its sender is in MPI."""

NEEDS: tuple[Need, ...] = get_args(Need)
_OF_LOWER = ("scan", "exscan")
_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_NEIGHBOURHOOD = np.append(np.char.startswith(CALL_COLLECTIVES, "neighbor_"), False)
_LONG_S = 1e6
_LEAST_TRACKED, _MOST_MISSED = 8, 0.1


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


class Needs(NamedTuple):
    """What calls of one rank needed last, as columns.

    Attributes:
        row: Event of the call.
        at_s: When what it needed was there.
        who: World rank that it needed.
        their_row: Event of that rank, which it needed.
        size_bytes: Of the message, or of what the other gave.
        need: Number in `NEEDS`.
        unsure_s: How far the clocks of both may be apart.
    """

    row: np.ndarray
    at_s: np.ndarray
    who: np.ndarray
    their_row: np.ndarray
    size_bytes: np.ndarray
    need: np.ndarray
    unsure_s: np.ndarray

    def waited_s(self, events: RankEvents) -> np.ndarray:
        """How long each of the calls waited for that."""
        begin_s, end_s = events.begin_s[self.row], events.end_s[self.row]
        waited: np.ndarray = np.clip(self.at_s - begin_s, 0, end_s - begin_s)
        return waited


class _Events(NamedTuple):
    """Events of all ranks behind each other."""

    starts: np.ndarray
    begin_s: np.ndarray


def needs_of(
    ranks: list[RankEvents],
    messages: Messages,
    collectives: CollectiveCalls,
    members: list[np.ndarray | None],
    clocks_s: np.ndarray,
    host: Sequence[int],
) -> dict[int, Needs]:
    """By world rank that sends, receives or is in a rooted collective.

    Of a call that needs several things the last one counts, which is the one that it waited for. A call that receives
    is always there; others only if they waited, and for longer than what is known of the clocks.

    Args:
        ranks: Events by world rank, their times on one axis.
        messages: Messages between them.
        collectives: Their collectives, on the same axis.
        members: By communicator, its world ranks; `None` where they are not known.
        clocks_s: By host, how far its clock may be wrong.
        host: By rank, its host.
    """
    events = _Events(
        np.cumsum([0, *(len(each.begin_s) for each in ranks)]),
        np.concatenate([each.begin_s for each in ranks]),
    )
    rooted = _rooted(collectives, ranks, members)
    talking = set(messages.source.tolist()) | set(messages.destination.tolist())
    talking |= set(rooted.rank.tolist()) | set(rooted.needs.who.tolist())
    outside = {rank: Outside(ranks[rank]) for rank in talking}
    receives, sends, in_rooted = (
        _places(each, len(ranks)) for each in (messages.destination, messages.source, rooted.rank)
    )
    hosts, found = np.array(host), {}
    for rank in sorted(talking):
        each = ranks[rank]
        known = [
            _receives(each, receives[rank], messages, events, outside),
            _sends(each, sends[rank], messages, events, outside),
            Needs(*(column[in_rooted[rank]] for column in rooted.needs)),
        ]
        for at, needs in enumerate(known):
            apart_s = clocks_s[hosts[needs.who]] + clocks_s[hosts[rank]]
            needs = needs._replace(unsure_s=np.where(hosts[needs.who] == hosts[rank], 0.0, apart_s))
            sure = (needs.waited_s(each) > needs.unsure_s) | (needs.need == NEEDS.index("message"))
            known[at] = Needs(*(column[sure] for column in needs))
        found[rank] = _last(*known)
    return found


def _places(of: np.ndarray, ranks: int) -> list[np.ndarray]:
    """By rank, where it is among some."""
    order = np.argsort(of, kind="stable")
    return np.split(order, np.searchsorted(of[order], np.arange(1, ranks)))


def _last(*several: Needs) -> Needs:
    """Of each call the last need; of two at one time that of the first given."""
    joined = Needs(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    order = np.lexsort((-np.arange(len(joined.row)), joined.at_s, joined.row))
    last = order[np.flatnonzero(np.diff(joined.row[order], append=-1))]
    return Needs(*(column[last] for column in joined))


def _receives(
    each: RankEvents, mine: np.ndarray, messages: Messages, events: _Events, outside: dict[int, Outside]
) -> Needs:
    """A receive needs its send to have begun, and may need its sender to be in MPI for the rest of the message.

    For the latter see `Outside.waited_until`.
    """
    row, source, send = messages.receive[mine], messages.source[mine], messages.send[mine]
    begin, end = each.begin_s[row], each.end_s[row]
    place = events.starts[source] + send
    at = events.begin_s[place].copy()
    need = np.full(len(mine), NEEDS.index("message"))
    early = at <= begin
    for who in np.unique(source):
        these = np.flatnonzero(early & (source == who))
        back = outside[who].waited_until(begin[these], end[these])
        rest = back > begin[these]
        at[these[rest]], need[these[rest]] = back[rest], NEEDS.index("rest")
    return Needs(row, at, source, send, messages.bytes[mine], need, np.zeros(len(row)))


def _sends(
    each: RankEvents, mine: np.ndarray, messages: Messages, events: _Events, outside: dict[int, Outside]
) -> Needs:
    """A send that ends after its receive was posted may have needed that, or its receiver to be in MPI at all.

    Where the receive is posted late, it did. For the other see `Outside.waited_until`. Of a neighbourhood collective
    only who gets something waits: it may end long after its own parts have gone.
    """
    row = messages.sent[mine]
    alone = ~_NEIGHBOURHOOD[np.minimum(each.columns["kind"][messages.send[mine]], len(CALL_CLASSES))]
    mine, row = mine[(row >= 0) & alone], row[(row >= 0) & alone]
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
    need = np.full(len(row), NEEDS.index("receive"))
    columns = row, at, destination, posted_row, size, need, np.zeros(len(row))
    return Needs(*(column[counts] for column in columns))


class _Rooted(NamedTuple):
    """What calls of rooted collectives waited for, and whose calls these are."""

    rank: np.ndarray
    needs: Needs


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
        Needs(
            calls.row[waits],
            calls.begin_s[need],
            calls.rank[need],
            calls.row[need],
            size[need],
            np.full(len(waits), NEEDS.index("member")),
            np.zeros(len(waits)),
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
