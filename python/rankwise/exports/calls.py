# SPDX-License-Identifier: BSD-3-Clause
"""The recorded calls of all ranks on one time axis, as traces of other tools have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.recording.layouts import EVENT_POLL
from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.waits import Timeline

POLLS = "MPI_Test, MPI_Iprobe in vain"
NAMES = np.append(CALL_NAMES, POLLS)
"""Of calls by kind, as of `Calls`."""


@dataclass(frozen=True)
class Calls:
    """One rank's events, in seconds after the first rank has left MPI_Init.

    Attributes:
        kind: Of each event an index of `NAMES`; -1 of samples and losses, which are no calls.
        begin_s: When each began.
        end_s: When it ended.
        init_s: When the rank has left MPI_Init.
    """

    kind: np.ndarray
    begin_s: np.ndarray
    end_s: np.ndarray
    init_s: float


def calls(timeline: Timeline) -> list[Calls]:
    """By world rank, of its first thread; the rows are those of `Timeline.ranks`."""
    found = []
    for events in timeline.on_one_clock():
        kind = events.columns["kind"].astype(np.int64)
        kind[kind > EVENT_POLL] = -1
        kind[kind == EVENT_POLL] = len(CALL_NAMES)
        found.append(Calls(kind, events.called_s, events.end_s, events.start_s))
    first_s = min((each.init_s for each in found), default=0.0)
    return [
        Calls(each.kind, each.begin_s - first_s, each.end_s - first_s, each.init_s - first_s)
        for each in found
    ]
