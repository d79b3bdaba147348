# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes, who waits for whom, and iterations in words, the same in every view."""

from __future__ import annotations

from rankwise.machine.channels import LITERATURE_NAMES, UNBOUND
from rankwise.quantities import bytes_text, count_text, counted, rounded, seconds_text
from rankwise.report.data import WITH_TRACE, ReportData
from rankwise.report.words import percent, size_text

_CORE_WAITING = 0.01
"""Part of the time, from which on it is told."""


def channel_names(report: ReportData) -> list[str]:
    """Of each channel of the message sizes."""
    others = {UNBOUND: "not known", "all": "all messages"}
    return [
        LITERATURE_NAMES.get(channel, others.get(channel, f"sharing {channel}"))
        for channel in report.sizes.channels
    ]


def size_rows(report: ReportData) -> list[list[str]]:
    """Size, channel, messages, bytes, and of those with a time how many and how fast; without what is empty.

    Where the time is latency for the most part, it stands in place of the bandwidth.
    """
    sizes, found = report.sizes, []
    for at, up_to in enumerate(sizes.up_to_bytes):
        for of, name in enumerate(channel_names(report)):
            if not sizes.messages[of][at]:
                continue
            count, rate, text = sizes.timed[of][at], sizes.bandwidth[of][at], "-"
            if rate is not None:
                text = f"{'≥ ' if sizes.together[of][at] else ''}{bytes_text(rate)}/s"
            elif count:
                text = f"{'≤ ' if sizes.together[of][at] else ''}{seconds_text(sizes.time_s[of][at] / count)} each"
            found.append(
                [
                    size_text(up_to),
                    name,
                    count_text(sizes.messages[of][at]),
                    bytes_text(sizes.bytes[of][at]),
                    count_text(count) if count else "-",
                    text,
                ]
            )
    return found


def size_marks(report: ReportData) -> list[str]:
    """What stands in the rows of messages by size in place of a bandwidth."""
    if report.sizes.not_timed:
        return []
    rows, lines = size_rows(report), []
    if any(row[-1] == "-" for row in rows):
        lines.append(
            "-: no receiver was waiting when these were sent, or collectives sent them, or the clocks are not known "
            "well enough"
        )
    if any(row[-1].endswith("each") for row in rows):
        lines.append(
            "each: the time of one message, more than half of which is latency, in place of a bandwidth"
        )
    return lines


def size_notes(report: ReportData) -> list[str]:
    """What is behind the times of messages, or why there are none."""
    if report.sizes.not_timed:
        return [f"bandwidth reached is not known: {report.sizes.not_timed}"]
    waited = report.summary.runqueue_wait_share or 0.0
    if waited < _CORE_WAITING or not any(map(any, report.sizes.bandwidth)):
        return []
    return [
        f"ranks waited for a core for {percent(waited)} of their time, which is in the times of messages: the "
        "network may be faster"
    ]


def without_bandwidth(report: ReportData) -> str | None:
    """Why most bytes have no bandwidth; `None` where they have, or where none is known at all."""
    whole, without = (
        sum(
            size
            for sizes, rates in zip(report.sizes.bytes, report.sizes.bandwidth, strict=True)
            for size, rate in zip(sizes, rates, strict=True)
            if every or rate is None
        )
        for every in (True, False)
    )
    if report.sizes.not_timed or without <= whole / 2:
        return None
    return (
        f"no bandwidth is known of {percent(without / whole)} of the bytes: collectives sent them, or no receiver was "
        "waiting when they were sent, or their times are mostly latency or too short for what is known of the clocks"
    )


def waits_text(report: ReportData) -> str:
    """How long ranks wait for each other, and for whom most."""
    waits = report.pair_waits
    if waits is None or not waits.most_late:
        return "No rank waited for another one"
    whole_s = sum(waits.waited_s)
    late, late_s = waits.most_late[0]
    most = percent(late_s / whole_s)
    return f"All ranks together waited {seconds_text(whole_s)} for others, {most} of it for rank {late}"


def iterations_text(report: ReportData) -> str:
    """How many there are, and how long they take."""
    found = report.over_time.iterations if report.over_time else None
    if found is None:
        return (
            "No repetitions were found: no calls of the first, the middle or the last rank repeat in one way"
        )
    longest = max(range(len(found.most_s)), key=lambda at: found.most_s[at])
    times = (found.median_s, found.low_s, found.high_s, found.most_s[longest], found.begin_s[longest])
    median, low, high, highest, when = (seconds_text(each) for each in times)
    return (
        f"{rounded(found.count, 'repetition')} of {counted(found.calls, 'MPI call')} on rank {found.rank}, each from "
        f"one {found.anchor} to the next: median {median}, half of them {low} to {high}, at most {highest}, {when} "
        "after the run began"
    )


def no_trace_text(report: ReportData) -> str:
    """Why nothing is known that an exact trace tells."""
    return (report.waiting.why_not if report.waiting else None) or WITH_TRACE
