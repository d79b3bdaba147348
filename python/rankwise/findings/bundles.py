# SPDX-License-Identifier: BSD-3-Clause
"""Small messages that follow each other and could be one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.recording.traces.needs import Outside
from rankwise.recording.traces.operations import event_classes
from rankwise.recording.traces.timeline import Messages, RankEvents
from rankwise.recording.traces.waits import Timeline

SMALL_BYTES = 512
"""Below that a message costs what it is, not what it holds: networks carry as much in less time than they take for a
message (LogGP: 512 G is less than o + g between nodes in each file of `machines/`)."""

_PAUSE = 4
_SENDS = ("send", "isend", "sendrecv", "isendrecv")


@dataclass(frozen=True)
class Bundles:
    """Messages of at most `SMALL_BYTES` that could be part of the one before.

    That is so if nothing came to the sender between both, and their receiver sent nothing between them: no message
    of one can depend on what the other brought. Where the sender does something else for more than four times as long
    as these messages take in the mean, the next one is another message.

    Attributes:
        saved_s: By rank, the time of their calls, less what the rank waited in them for one outside MPI.
        source: Of each stream of messages that has some, the sender.
        destination: The receiver.
        messages: How many small messages it has.
        bundles: How many messages would do.
        bytes: Of the small messages.
        time_s: Of the calls that would go, on the side that saves more.
        send_kind: Kind of the call that sends most of them.
    """

    saved_s: npt.NDArray[np.float64]
    source: npt.NDArray[np.int64]
    destination: npt.NDArray[np.int64]
    messages: npt.NDArray[np.int64]
    bundles: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    time_s: npt.NDArray[np.float64]
    send_kind: npt.NDArray[np.int64]


def bundles_of(timeline: Timeline) -> Bundles:
    """Of all pairs of ranks."""
    ranks, messages = timeline.on_one_clock(), timeline.messages
    order = np.lexsort((messages.receive, messages.send, messages.destination, messages.source))
    # What is started together is sent together already.
    started = [event_classes(each.columns) == "start" for each in ranks]
    apart = ~_of_events(ranks, started, messages.source, messages.send)
    order = order[apart[order]]
    messages = Messages(*(getattr(messages, name)[order] for name in Messages.__dataclass_fields__))
    size = messages.bytes
    joins = _joins(ranks, messages, size.astype(np.int64))
    outside = [Outside(each) if len(each.begin_s) else None for each in ranks]
    sent_s, received_s = np.zeros(len(joins)), np.zeros(len(joins))
    for rank, each in enumerate(ranks):
        mine = np.flatnonzero(messages.source == rank)
        sent_s[mine] = _shares(
            each, messages.send[mine], messages.sent[mine], messages.destination[mine], outside
        )
        mine = np.flatnonzero(messages.destination == rank)
        received_s[mine] = _shares(
            each, messages.posted[mine], messages.receive[mine], messages.source[mine], outside
        )
    joins &= ~_after_a_pause(ranks, messages, joins, np.maximum(sent_s, received_s))
    saved = np.zeros(len(ranks))
    np.add.at(saved, messages.source[joins], sent_s[joins])
    np.add.at(saved, messages.destination[joins], received_s[joins])
    return Bundles(saved, *_streams(ranks, messages, size, joins, sent_s, received_s))


def _joins(ranks: list[RankEvents], messages: Messages, size: np.ndarray) -> np.ndarray:
    """By message, whether it could be part of the one before it in its pair of ranks."""
    came, went = [], []
    got = [np.zeros(len(each.begin_s), bool) for each in ranks]
    for rank in np.unique(messages.destination):
        got[rank][messages.receive[messages.destination == rank]] = True
    for each, receives in zip(ranks, got, strict=True):
        classes = event_classes(each.columns)
        collective = (classes == "collective") | (classes == "icollective")
        came.append(np.cumsum(receives | collective))
        went.append(np.cumsum(np.isin(classes, _SENDS) | collective))
    before: np.ndarray = np.zeros(len(size), bool)
    before[1:] = (np.diff(messages.source) == 0) & (np.diff(messages.destination) == 0)
    before[1:] &= (size[1:] <= SMALL_BYTES) & (size[:-1] <= SMALL_BYTES)
    at_sender = _of_events(ranks, came, messages.source, messages.send)
    at_receiver = _of_events(ranks, went, messages.destination, messages.receive)
    before[1:] &= (np.diff(at_sender) == 0) & (np.diff(at_receiver) == 0)
    return before


def _after_a_pause(
    ranks: list[RankEvents], messages: Messages, joins: np.ndarray, spent_s: np.ndarray
) -> np.ndarray:
    """By message, whether its sender did something else for long since the one before."""
    begin, end = (
        _of_events(ranks, times, messages.source, messages.send)
        for times in ([each.begin_s for each in ranks], [each.end_s for each in ranks])
    )
    apart = np.zeros(len(begin))
    apart[1:] = begin[1:] - end[:-1]
    pairs = np.column_stack([messages.source, messages.destination])
    stream = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    mean_s = np.bincount(stream, spent_s) / np.bincount(stream)
    found: np.ndarray = joins & (apart > _PAUSE * mean_s[stream])
    return found


def _of_events(
    ranks: list[RankEvents], columns: list[np.ndarray], rank: np.ndarray, row: np.ndarray
) -> np.ndarray:
    starts = np.cumsum([0, *(len(each.begin_s) for each in ranks)])
    found: np.ndarray = np.concatenate(columns)[starts[rank] + row]
    return found


def _shares(
    each: RankEvents, posted: np.ndarray, ended: np.ndarray, peer: np.ndarray, outside: list[Outside | None]
) -> np.ndarray:
    """By message, the time of the call that posted it, and its part of the call that ended it with others.

    Time in which its other end was outside MPI does not count.
    """
    spent = (each.end_s - each.begin_s)[posted]
    apart = (ended >= 0) & (ended != posted)
    if apart.any():
        many = np.bincount(ended[apart], minlength=len(each.begin_s))
        spent[apart] += ((each.end_s - each.begin_s) / np.maximum(many, 1))[ended[apart]]
    last = np.where(ended >= 0, ended, posted)
    for other in np.unique(peer):
        there = outside[other]
        if there is not None:
            these = np.flatnonzero(peer == other)
            spent[these] -= there.between(each.begin_s[last[these]], each.end_s[last[these]])
    found: np.ndarray = np.clip(spent, 0, None)
    return found


def _streams(
    ranks: list[RankEvents],
    messages: Messages,
    size: np.ndarray,
    joins: np.ndarray,
    sent_s: np.ndarray,
    received_s: np.ndarray,
) -> tuple[np.ndarray, ...]:
    first = np.flatnonzero(np.diff(messages.source, prepend=-1) | np.diff(messages.destination, prepend=-1))
    if not len(first):
        return tuple(np.zeros(0, np.int64) for _ in range(7))
    small = size <= SMALL_BYTES

    def total(values: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.add.reduceat(values, first)
        return found

    kind = _of_events(ranks, [each.columns["kind"] for each in ranks], messages.source, messages.send)
    count, left = total(small.astype(np.int64)), total((small & ~joins).astype(np.int64))
    time_s = np.maximum(total(np.where(joins, sent_s, 0.0)), total(np.where(joins, received_s, 0.0)))
    columns = (
        messages.source[first],
        messages.destination[first],
        count,
        left,
        total(np.where(small, size, 0)),
        time_s,
        kind[first],
    )
    return tuple(column[count > left] for column in columns)
