# SPDX-License-Identifier: BSD-3-Clause
"""How long each traced call of each rank took, from when the last rank has left MPI_Init."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.recording.raw import Thread
from rankwise.recording.span import Span


@dataclass(frozen=True)
class CallTimes:
    """One rank's events, a row each, in the order of its trace.

    Attributes:
        call: Number of the function (`_core.trace.calls()`); larger ones are samples, which take no time.
        before_s: Outside MPI since the event before.
        inside_s: Inside the call; of the first and last calls only what lies within the span.
    """

    call: np.ndarray
    before_s: np.ndarray
    inside_s: np.ndarray


def call_times(threads: Sequence[Thread], span: Span) -> list[CallTimes]:
    """The calls of each rank.

    A rank that left MPI_Init before the last one waits for it in its first calls: that is before the span.

    Args:
        threads: The first thread of each rank, in their order.
        span: Of the run.
    """
    found = []
    for thread, until_s in zip(threads, span.rank_s, strict=True):
        events = thread.record.events()
        before_s, lasts_s = (
            thread.seconds(1) * events[key].astype(np.float64) for key in ("gap_ticks", "duration_ticks")
        )
        ends_s = np.cumsum(before_s + lasts_s)
        own_s = thread.seconds(int(thread.rank["finalize_ticks"]) - int(thread.rank["init_ticks"]))
        begins_s = np.maximum(ends_s - lasts_s, own_s - until_s)
        inside_s = np.maximum(np.minimum(ends_s, own_s) - begins_s, 0.0)
        found.append(CallTimes(events["kind"].astype(np.int64), before_s, inside_s))
    return found
