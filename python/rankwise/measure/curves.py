# SPDX-License-Identifier: BSD-3-Clause
"""Measured curves beside their fits: numbers for plots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rankwise.machine.machine import Segment
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.machine_file import Found


@dataclass(frozen=True)
class Curve:
    """Half a round trip by size on one channel.

    Attributes:
        channel: Its name.
        sizes: Bytes, 1 and more.
        times_s: Medians.
        low_s: Lower ends of their intervals.
        high_s: Upper ends.
        lines: The fit, as one pair of arrays (sizes, times) for each segment.
        limit: Eager limit in bytes, if it was found.
        worst_error: Largest distance of a median from its line, relative to the smaller of the two.
        worst_bytes: The size where it is.
        worst: What was timed there.
    """

    channel: str
    sizes: np.ndarray
    times_s: np.ndarray
    low_s: np.ndarray
    high_s: np.ndarray
    lines: list[tuple[np.ndarray, np.ndarray]]
    limit: float | None
    worst_error: float
    worst_bytes: int
    worst: Median


def curves(channels: Iterable[Found]) -> list[Curve]:
    """One for each channel that was fitted."""
    return [_curve(found) for found in channels]


def _curve(found: Found) -> Curve:
    sizes = [size for size in found.points.sizes("pingpong") if size]
    medians = [found.points.median("pingpong", size) for size in sizes]
    lines, first = [], 1.0
    for segment in found.fit.segments:
        last = float(segment.up_to_bytes or sizes[-1])
        last = min(last, float(sizes[-1]))
        if last >= first:
            x = np.unique(np.concatenate([np.geomspace(first, last, 40), [first, last]]))
            lines.append((x, np.array([_time(segment, size) for size in x])))
        first = last + 1
    limit = found.fit.eager_limit
    return Curve(
        channel=found.channel,
        sizes=np.array(sizes, dtype=float),
        times_s=np.array([each.value for each in medians]),
        low_s=np.array([each.low for each in medians]),
        high_s=np.array([each.high for each in medians]),
        lines=lines,
        worst_error=found.fit.worst_error,
        worst_bytes=found.fit.worst_bytes,
        worst=found.fit.worst,
        limit=limit.value if limit is not None and limit.obtained == "measured" and limit.value > 0 else None,
    )


def _time(segment: Segment, size: float) -> float:
    receive = segment.o_receive_s or segment.o_s
    start = segment.L_s.value + segment.o_s.value + receive.value
    return start + (size - 1) * segment.G_s_per_byte.value
