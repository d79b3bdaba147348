# SPDX-License-Identifier: BSD-3-Clause
"""Point-to-point messages of an exact trace, with the times of both their ends."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.recording.raw import CALL_NAMES
from rankwise.recording.traces.waits import Timeline
from rankwise.report.waiting import SplitWaits

_Integers = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TimedMessages:
    """Messages whose two ends are in the trace, as columns.

    Attributes:
        source: World rank of the sender.
        destination: World rank of the receiver.
        comm: Number of the communicator.
        bytes: Of the message.
        time_s: From when the send and the call that ended the receive had begun until that call ended; NaN where such
            calls are short for what is known of the clocks.
        unsure_s: How far that may be wrong, as the clocks of two hosts are related so far.
        awaited: Whether the receiver was in that call already when the send began.
        together: Whether that call ended several receives.
    """

    source: _Integers
    destination: _Integers
    comm: _Integers
    bytes: _Integers
    time_s: _Floats
    unsure_s: _Floats
    awaited: _Flags
    together: _Flags


def clear_calls(split: SplitWaits) -> set[str]:
    """MPI functions whose calls are long enough for what is known of the clocks."""
    return set() if split.waits is None else set(split.waits["call"])


def timed_messages(timeline: Timeline, clear: Container[str]) -> TimedMessages:
    """All of a trace.

    Args:
        timeline: The traces.
        clear: Of `clear_calls`.
    """
    ranks, messages = timeline.on_one_clock(), timeline.messages
    starts = np.cumsum([0, *(len(each.begin_s) for each in ranks)])
    begin_s, end_s = (
        np.concatenate([getattr(each, name) for each in ranks]) for name in ("begin_s", "end_s")
    )
    kind = np.concatenate([each.columns["kind"] for each in ranks])
    sent_s = begin_s[starts[messages.source] + messages.send]
    call = starts[messages.destination] + messages.receive
    is_clear = np.array([name in clear for name in CALL_NAMES] + [False])[
        np.minimum(kind[call], len(CALL_NAMES))
    ]
    time_s = np.clip(end_s[call] - np.maximum(sent_s, begin_s[call]), 0, None)
    host = np.array(timeline.host)
    bound_s = np.array([max(clock.bound_s, clock.spread_s) for clock in timeline.clocks])
    own, other = host[messages.destination], host[messages.source]
    receives = np.bincount(call, minlength=len(kind))
    return TimedMessages(
        messages.source,
        messages.destination,
        messages.comm,
        messages.bytes,
        np.where(is_clear, time_s, np.nan),
        np.where(own == other, 0.0, bound_s[own] + bound_s[other]),
        sent_s >= begin_s[call],
        receives[call] > 1,
    )
