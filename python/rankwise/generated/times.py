# SPDX-License-Identifier: BSD-3-Clause
"""How long each call of a generated recording takes: what a replay of its schedule says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.explain.timeline import CALC
from rankwise.generated.calls import NONBLOCKING, Calls


@dataclass(frozen=True)
class Replayed:
    """One rank's operations of a replay, in their order.

    Attributes:
        kind: As of `rankwise.explain.timeline.Timeline`.
        begin: In picoseconds, likewise.
        end: Likewise.
        call: Number of the call that each belongs to; computation belongs to the call behind it.
    """

    kind: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    call: np.ndarray


def by_rank(timeline: dict[str, np.ndarray], origin: np.ndarray) -> Callable[[int], Replayed]:
    """Parts of a timeline by rank; `origin` has the number of each operation's call."""
    order = np.argsort(timeline["rank"], kind="stable")
    ends = np.searchsorted(timeline["rank"][order], np.arange(timeline["rank"].max(initial=0) + 2))

    def part(rank: int) -> Replayed:
        own = order[ends[rank] : ends[rank + 1]]
        return Replayed(timeline["kind"][own], timeline["begin"][own], timeline["end"][own], origin[own])

    return part


def times_of(calls: Calls, replayed: Replayed) -> tuple[np.ndarray, np.ndarray]:
    """Computation before each call, and time inside each, in picoseconds.

    A call begins when the computation before it ends. It ends when all has ended that the rank waits for in it, and no
    earlier than the next computation begins; calls that only begin something take no time beside that.
    """
    count = len(calls.call)
    first = np.flatnonzero(np.diff(replayed.call, prepend=-1) != 0)
    first = first[(replayed.kind[first] == CALC) & (calls.gap_ps[replayed.call[first]] > 0)]
    computed = replayed.call[first]
    others = np.ones(len(replayed.call), dtype=bool)
    others[first] = False
    done = np.zeros(count, dtype=np.int64)
    np.maximum.at(done, replayed.call[others], replayed.end[others])
    ended = np.where(np.isin(calls.kind, NONBLOCKING), 0, done)
    ended_by, made_by = calls.waits
    np.maximum.at(ended, ended_by, done[made_by])
    begun = np.zeros(count, dtype=np.int64)
    begun[computed] = replayed.end[first]
    behind = np.zeros(count + 1, dtype=np.int64)
    behind[computed] = replayed.begin[first]
    # The ends of computation and of calls, in their order; what has no time of its own has that before it.
    steps = np.empty(2 * count + 1, dtype=np.int64)
    steps[0] = behind[0]
    steps[1::2] = begun
    steps[2::2] = np.maximum(ended, behind[1:])
    reached = np.maximum.accumulate(steps)
    gaps = reached[1::2] - reached[:-1:2]
    gaps[0] += reached[0]
    return gaps, reached[2::2] - reached[1::2]
