# SPDX-License-Identifier: BSD-3-Clause
"""Messages by channel and size, and how fast those went whose time is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwise.placement.distribution import CommMatrix
from rankwise.report.communication.messages import TimedMessages
from rankwise.report.data.communication import MessageSizes
from rankwise.report.placements import Placed

_ALL = "all"
_CACHE_LINE = 64
_Channels = Callable[[np.ndarray, np.ndarray], npt.NDArray[np.int64]]
_Table = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def message_sizes(
    messages: CommMatrix, placed: Placed | None, timed: TimedMessages | None, why_not: str | None
) -> MessageSizes:
    """By channel and range of sizes.

    Args:
        messages: All that were sent.
        placed: Where the ranks ran; `None` if that is not known.
        timed: Those from point to point with their times; `None` without an exact trace.
        why_not: Why there are no times then.
    """
    locations = None if placed is None else placed.placement.locations(placed.topology)
    names = (_ALL,) if locations is None else locations.channels

    def channels(source: np.ndarray, destination: np.ndarray) -> npt.NDArray[np.int64]:
        if locations is None:
            return np.zeros(len(source), np.int64)
        return locations.between(source, destination).astype(np.int64)

    sent = (messages.destination >= 0) & (messages.destination != messages.source)
    up_to, size = np.unique(messages.bytes_up_to[sent], return_inverse=True)
    channel = channels(messages.source[sent], messages.destination[sent])

    def table(at: np.ndarray, of: np.ndarray, column: np.ndarray) -> np.ndarray:
        cells = np.bincount(of * len(up_to) + at, weights=column, minlength=len(names) * len(up_to))
        return cells.reshape(len(names), len(up_to))

    counts, volumes = (table(size, channel, each[sent]) for each in (messages.messages, messages.bytes))
    known = [np.zeros_like(counts)] * 4
    if timed is not None:
        known = _timed(timed, up_to, channels, table)
        if not known[0].any():
            why_not = (
                "no receiver was waiting when its message was sent, or the clocks are not known well enough"
            )
    there = np.flatnonzero(counts.sum(axis=1))

    def columns(cells: np.ndarray) -> list[list[int]]:
        found: list[list[int]] = cells[there].astype(np.int64).tolist()
        return found

    return MessageSizes(
        placement=None if placed is None else placed.name,
        channels=[names[at] for at in there],
        up_to_bytes=up_to.tolist(),
        messages=columns(counts),
        bytes=columns(volumes),
        timed=columns(known[0]),
        timed_bytes=columns(known[1]),
        time_s=known[2][there].tolist(),
        together=columns(known[3]),
        bandwidth=[_bandwidth(up_to, *(each[at] for each in known[:3])) for at in there],
        not_timed=why_not,
    )


def _timed(timed: TimedMessages, up_to: np.ndarray, channels: _Channels, table: _Table) -> list[np.ndarray]:
    """Messages that were waited for, their bytes and time, and how many ended in a call with others.

    Nothing of a channel and size whose times are shorter than twice what is known of the clocks.
    """
    # Larger than all others: what the trace has, and the table of messages has not.
    size = np.searchsorted(up_to, timed.bytes)
    use = timed.awaited & ~np.isnan(timed.time_s) & (timed.source != timed.destination) & (size < len(up_to))
    at, of = size[use], channels(timed.source[use], timed.destination[use])
    one = np.ones(len(at))
    cells = [table(at, of, each) for each in (one, timed.bytes[use], timed.time_s[use], timed.together[use])]
    known = (cells[2] > 0) & (cells[2] >= 2 * table(at, of, timed.unsure_s[use]))
    return [np.where(known, each, 0) for each in cells]


def _bandwidth(
    up_to: np.ndarray, timed: np.ndarray, timed_bytes: np.ndarray, time_s: np.ndarray
) -> list[float | None]:
    """Of a channel by range of sizes; `None` where more than half of the time is latency, or nothing is known."""
    small = (up_to <= _CACHE_LINE) & (timed > 0)
    latency_s = float(time_s[small].sum() / timed[small].sum()) if small.any() else 0.0
    there = (up_to > _CACHE_LINE) & (time_s > 0) & (timed_bytes > 0)
    there &= time_s >= 2 * latency_s * timed
    rate = np.divide(timed_bytes, time_s, out=np.zeros(len(up_to)), where=there)
    return [value if known else None for value, known in zip(rate.tolist(), there.tolist(), strict=True)]
