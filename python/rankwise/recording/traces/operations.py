# SPDX-License-Identifier: BSD-3-Clause
"""What a rank's calls begin and end: blocking, nonblocking and persistent operations in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.recording.layouts import EVENT_POLL, EVENT_SCHED
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES

Columns = dict[str, np.ndarray]

_BLOCKING = ("send", "recv", "sendrecv", "collective")
_NONBLOCKING = ("isend", "irecv", "isendrecv", "icollective")
ALONE_IN_FILES: npt.NDArray[np.bool_] = np.array(
    [
        kind == "io" and not re.search("_all|_ordered", name) and bool(re.search("read|write|sync", name))
        for name, kind in zip(CALL_NAMES.tolist(), CALL_CLASSES.tolist(), strict=True)
    ]
)
"""By kind of call, whether it reads or writes a file for its rank alone: nobody else is waited for."""

_PERSISTENT = ("send_init", "recv_init", "collective_init")
# Shorter gaps between polls are the program's way to ask again.
SPINNING_GAP_S = 1e-6
_ASLEEP, _SAMPLES, _NEXT_S = 0.9, 0.05, 1e-4


@dataclass(frozen=True)
class Operations:
    """Operations of a rank in the order in which they were begun, as columns.

    Attributes:
        given: Event with its arguments: of a persistent one the call that made it.
        begun: Event in which it was begun; of a persistent one that which started it.
        ended: Event in which it ended; -1 where that is not known.
        completion: Index of what ended it among the completions; -1 of blocking ones and where it is not known.
    """

    given: npt.NDArray[np.int64]
    begun: npt.NDArray[np.int64]
    ended: npt.NDArray[np.int64]
    completion: npt.NDArray[np.int64]

    def of(self, classes: np.ndarray, *wanted: str) -> Operations:
        """Those of some classes of calls.

        Args:
            classes: Of all events (`event_classes`).
            wanted: Classes of the calls that have the arguments.
        """
        chosen = np.isin(classes[self.given], wanted)
        return Operations(
            *(column[chosen] for column in (self.given, self.begun, self.ended, self.completion))
        )


def operations(columns: Columns) -> Operations:
    """All operations of a trace.

    A persistent request is begun by each MPI_Start, and ended by the completion after that. Partitioned ones are left
    out.

    Args:
        columns: As `ThreadRecord.events()` gives them.
    """
    classes = event_classes(columns)
    blocking = np.flatnonzero(np.isin(classes, _BLOCKING))
    made = np.flatnonzero(np.isin(classes, _NONBLOCKING))
    offsets: npt.NDArray[np.int64] = columns["completion_offsets"].astype(np.int64)
    owner = np.repeat(np.arange(len(classes)), np.diff(offsets))
    requests = columns["completion_request"].astype(np.int64)
    started, ended = (np.flatnonzero(classes[owner] == of) for of in ("start", "complete"))
    given_by = _by_request(columns, np.flatnonzero(np.isin(classes, _PERSISTENT)))
    init = np.array([given_by.get(number, -1) for number in requests[started].tolist()], np.int64)
    started, init = started[init >= 0], init[init >= 0]
    number = np.concatenate([columns["request"][made].astype(np.int64), requests[started]])
    given = np.concatenate([made, init])
    begun = np.concatenate([made, owner[started]])
    within = np.concatenate([np.zeros(len(made), np.int64), started])
    order = np.lexsort((within, begun))
    number, given, begun = number[order], given[order], begun[order]
    completion = _paired(number, requests[ended])
    completion[completion >= 0] = ended[completion[completion >= 0]]
    end = np.where(completion >= 0, np.append(owner, -1)[completion], -1)
    both = [
        np.concatenate([blocking, given]),
        np.concatenate([blocking, begun]),
        np.concatenate([blocking, end]),
        np.concatenate([np.full(len(blocking), -1), completion]),
    ]
    order = np.argsort(both[1], kind="stable")
    return Operations(*(column[order] for column in both))


def _by_request(columns: Columns, rows: np.ndarray) -> dict[int, int]:
    return dict(zip(columns["request"][rows].tolist(), rows.tolist(), strict=True))


def _paired(begun: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """For each the index of its end: the n-th of a number belongs to the n-th end of that number; -1 without one."""
    numbers = np.unique(np.concatenate([begun, ended]), return_inverse=True)[1].reshape(-1)
    width = len(numbers) + 1
    first, second = (part * width + ordinals(part) for part in (numbers[: len(begun)], numbers[len(begun) :]))
    found = np.full(len(begun), -1, np.int64)
    _, at, to = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    found[at] = to
    return found


def ordinals(values: np.ndarray) -> np.ndarray:
    """For each value how often it came before."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[np.ones(min(len(ordered), 1), bool), ordered[1:] != ordered[:-1]])
    before = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    found = np.empty(len(values), np.int64)
    found[order] = before
    return found


def event_classes(columns: Columns) -> np.ndarray:
    """The class of each event's call; `event` for polls, samples and losses, which are no calls."""
    classes: np.ndarray = np.append(CALL_CLASSES, "event")
    found: np.ndarray = classes[np.minimum(columns["kind"], len(CALL_CLASSES))]
    return found


def waiting_begins(
    columns: Columns, begin_s: np.ndarray, end_s: np.ndarray, slept_s: float
) -> tuple[npt.NDArray[np.float64], float]:
    """When each event began to wait, and how long the gaps between polls are that waited.

    A completion or a probe after polls that found nothing waits since the first of them, if the rank only asked again
    and again: gaps of less than a microsecond, or gaps in which it slept, which it did for `slept_s` outside MPI at
    least for nine tenths of all gaps between polls. A receive waits since the probe of
    the same message right before it.

    Args:
        columns: As `ThreadRecord.events()` gives them.
        begin_s: When each event began.
        end_s: When it ended.
        slept_s: How long the rank was outside MPI without using or awaiting a core.
    """
    since, asked_s = begin_s.copy(), 0.0
    kinds, classes = columns["kind"], event_classes(columns)
    # A sample between polls divides them into two events; it takes no time.
    rows = np.flatnonzero(kinds != EVENT_SCHED)
    polls = kinds[rows] == EVENT_POLL
    if polls.any():
        behind = np.concatenate([[False], polls[:-1]])
        again = polls & behind
        ends = behind & np.isin(classes[rows], ("complete", "probe"))
        gap_s = begin_s[rows] - np.concatenate([begin_s[rows[:1]], end_s[rows[:-1]]])
        works = (again | ends) & (gap_s >= SPINNING_GAP_S * np.maximum(columns["count"][rows], 1))
        # To wake up and ask takes a little of each gap, and to take samples a little of the polls' time.
        little_s = _SAMPLES * float((end_s - begin_s)[rows[polls]].sum())
        if gap_s[works].sum() * _ASLEEP > slept_s + little_s:
            again, ends = again & ~works, ends & ~works
        first = np.flatnonzero(polls & ~again)
        # The events after the polls that belong together; where it worked again these begin anew.
        after = np.append(first[1:], len(rows))
        after = np.minimum(after, first + 1 + _following(again, first))
        asks = np.append(ends, False)[after]
        since[rows[after[asks]]] = begin_s[rows[first[asks]]]
        asked_s = float(gap_s[again | ends].sum())
        since[rows[again]] = end_s[rows[np.flatnonzero(again) - 1]]
    calls = np.flatnonzero(kinds < EVENT_POLL)
    receives, probes = calls[1:], calls[:-1]
    found = (classes[receives] == "recv") & (classes[probes] == "probe")
    found &= begin_s[receives] - end_s[probes] < _NEXT_S
    for name in ("comm", "recv_peer", "recv_tag"):
        found &= columns[name][receives] == columns[name][probes]
    since[receives[found]] = since[probes[found]]
    return since, asked_s


def _following(flags: npt.NDArray[np.bool_], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many flags are set in a row right behind each place."""
    unset = np.append(np.flatnonzero(~flags), len(flags))
    found: npt.NDArray[np.int64] = unset[np.searchsorted(unset, at + 1)] - at - 1
    return found
