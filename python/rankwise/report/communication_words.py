# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes, who waits for whom, and iterations in words, the same in every view."""

from __future__ import annotations

from rankwise.machine.channels import LITERATURE_NAMES, UNBOUND
from rankwise.quantities import bytes_text, count_text, counted, rounded, seconds_text
from rankwise.report.data import WITH_TRACE, ReportData
from rankwise.report.words import percent, size_text


def channel_names(report: ReportData) -> list[str]:
    """Of each channel of the message sizes."""
    others = {UNBOUND: "not known", "all": "all messages"}
    return [
        LITERATURE_NAMES.get(channel, others.get(channel, f"sharing {channel}"))
        for channel in report.sizes.channels
    ]


def size_rows(report: ReportData) -> list[list[str]]:
    """Size, channel, messages, bytes, and of those with a time how many and how fast; without what is empty."""
    sizes, found = report.sizes, []
    for at, up_to in enumerate(sizes.up_to_bytes):
        for of, name in enumerate(channel_names(report)):
            if not sizes.messages[of][at]:
                continue
            time_s, timed_bytes = sizes.time_s[of][at], sizes.timed_bytes[of][at]
            rate = f"{bytes_text(timed_bytes / time_s)}/s" if time_s > 0 and timed_bytes else "-"
            found.append(
                [
                    size_text(up_to),
                    name,
                    count_text(sizes.messages[of][at]),
                    bytes_text(sizes.bytes[of][at]),
                    count_text(sizes.timed[of][at]) if sizes.timed[of][at] else "-",
                    f"≥ {rate}" if rate != "-" and sizes.together[of][at] else rate,
                ]
            )
    return found


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
            "No iterations were found: no calls of the first, the middle or the last rank repeat in one way"
        )
    longest = max(range(len(found.most_s)), key=lambda at: found.most_s[at])
    counts = [
        round((end - begin) / mean) if mean else 1
        for begin, end, mean in zip(found.begin_s, found.end_s, found.mean_s, strict=True)
    ]
    mean_s = sum(mean * count for mean, count in zip(found.mean_s, counts, strict=True)) / max(sum(counts), 1)
    times = (mean_s, found.most_s[longest], found.begin_s[longest])
    mean, highest, when = (seconds_text(each) for each in times)
    return (
        f"{rounded(found.count, 'iteration')} of {counted(found.calls, 'MPI call')} on rank {found.rank}, each from "
        f"one {found.anchor} to the next: {mean} in the mean, at most {highest}, {when} after the run began"
    )


def no_trace_text(report: ReportData) -> str:
    """Why nothing is known that an exact trace tells."""
    return (report.waiting.why_not if report.waiting else None) or WITH_TRACE
