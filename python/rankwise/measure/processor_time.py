# SPDX-License-Identifier: BSD-3-Clause
"""Overheads where waiting ranks sleep and share their cores: processor time of messages in bursts.

Post-work-wait (measure/tests/overhead.c) times waits. Where a wait sleeps, most of its time is the sleep's, and what
the kernel moves while the rank computes is in no call. So messages cost there what both ends use in bursts of them,
less what ranks use that wait as long. The time of a ping-pong stays what it is: what is no overhead is latency.
"""

from __future__ import annotations

import itertools
import math

import msgspec
import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine, Segment
from rankwise.measure.fitting.fit import measured, rest
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.questions.message_cpu import of_both_ends, per_byte, per_message, waiting

_WAITING = "what ranks that wait use as long"
_SMALL = "what small messages use, and ranks that wait"
DIFFERENT = 1.3  # times as much for a byte
_AS_SENDER = "as at the sender: what else a wait takes is sleep"


def charge_processor_time(machine: Machine, samples: pl.DataFrame) -> Machine:
    """The machine with overheads from processor time; as it is where that was not measured.

    Args:
        machine: As fitted.
        samples: Of all tests and launches.
    """
    waits = waiting(samples)
    senders, receivers = per_message(samples, waits)
    sizes = sorted(senders.keys() & receivers.keys())
    links = []
    for link in machine.link_classes:
        if link.channel == NETWORK and sizes:
            exchanged = per_byte(samples, waits)
            link = _of_bursts(link, senders, receivers, sizes, exchanged, of_both_ends(samples, waits))
        elif link.channel != NETWORK and waits.cpu:
            link = _as_senders(link)
        links.append(link)
    return msgspec.structs.replace(machine, link_classes=links)


def _of_bursts(
    link: LinkClass,
    senders: dict[int, Median],
    receivers: dict[int, Median],
    sizes: list[int],
    exchanged: dict[int, Median],
    both_ends: Median | None,
) -> LinkClass:
    """Overheads of a message from bursts; of its bytes from exchanges of all ranks, where those were made.

    Where messages of exchanges cost more than those of bursts, their ends share what they cost as those of bursts do.
    """
    small, large = sizes[0], sizes[-1]
    o, o_receive = (rest(side[small], _WAITING) for side in (senders, receivers))
    together = o.value + o_receive.value
    if both_ends and both_ends.value > together:
        o, o_receive = (_as_part(both_ends, each, together) for each in (o, o_receive))
    of_bytes = None
    if large > small and not exchanged:
        ends = [(side[small], side[large]) for side in (senders, receivers)]
        slope, low, high = (
            sum(getattr(more, to) - getattr(less, of) for less, more in ends) / 2 / (large - small)
            for to, of in (("value", "value"), ("low", "high"), ("high", "low"))
        )
        count = min(more.count for _, more in ends)
        of_bytes = rest(Median(slope, low, high, count), _SMALL)
    segments, above = [], 0
    for segment in link.segments:
        for up_to, size in _parts(exchanged, above, segment.up_to_bytes):
            part = msgspec.structs.replace(segment, up_to_bytes=up_to)
            segments.append(_charged(part, o, o_receive, rest(exchanged[size], _SMALL) if size else of_bytes))
        above = segment.up_to_bytes or above
    return msgspec.structs.replace(link, segments=segments)


def _as_part(whole: Median, end: Estimate, together: float) -> Estimate:
    """An end's part of what both cost; an end of which nothing was left has none, and half where both are so."""
    if together and not end.value:
        return end
    part = end.value / together if together else 0.5
    return measured(part * whole.value, part * max(0.0, whole.low), part * whole.high, whole.count)


def _parts(
    exchanged: dict[int, Median], above: int, up_to: int | None
) -> list[tuple[int | None, int | None]]:
    """A segment's parts, and the size whose bytes tell what those of each cost.

    A way of sending that costs more for each byte need not take longer, so the ping-pong does not tell where it
    begins: between sizes in one segment whose bytes surely cost differently, at their geometric mean.
    """
    if not exchanged:
        return [(up_to, None)]
    inside = sorted(size for size in exchanged if above < size <= (up_to or size))
    if not inside:
        border = up_to or above or 1
        return [(up_to, min(exchanged, key=lambda size: abs(math.log(size / border))))]
    parts: list[tuple[int | None, int | None]] = []
    for size, larger in itertools.pairwise(inside):
        less, more = sorted((exchanged[size], exchanged[larger]), key=lambda cost: cost.value)
        if more.value > DIFFERENT * less.value and more.low > less.high:
            parts.append((round(math.sqrt(size * larger)), size))
    return [*parts, (up_to, inside[-1])]


def _as_senders(link: LinkClass) -> LinkClass:
    segments = []
    for segment in link.segments:
        as_sender = Estimate(segment.o_s.value, "assumed", source=_AS_SENDER)
        segments.append(_charged(segment, segment.o_s, as_sender, None))
    return msgspec.structs.replace(link, segments=segments)


def _charged(segment: Segment, o: Estimate, o_receive: Estimate, of_bytes: Estimate | None) -> Segment:
    """A segment whose overheads are at most these, and as much more latency."""
    timed = segment.o_receive_s or segment.o_s
    own = min(segment.o_s, o, key=lambda each: each.value)
    receiver = min(timed, o_receive, key=lambda each: each.value)
    more = segment.o_s.value + timed.value - own.value - receiver.value
    return msgspec.structs.replace(
        segment,
        o_s=own,
        o_receive_s=receiver,
        O_s_per_byte=of_bytes or segment.O_s_per_byte,
        L_s=_later(segment.L_s, more),
    )


def _later(latency: Estimate, more: float) -> Estimate:
    if latency.low is None or latency.high is None:
        return msgspec.structs.replace(latency, value=latency.value + more)
    value, low, high = (each + more for each in (latency.value, latency.low, latency.high))
    return measured(value, low, high, latency.samples or 0)
