# SPDX-License-Identifier: BSD-3-Clause
"""Words for what the ranks used of their nodes, the same in every view."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.report.use_data import Counter, RankUse, Use

RANK_USE = ("user", "kernel", "waited", "lost core", "migrated", "faults", "peak", "ran on")


def rank_use(ranks: RankUse, at: int) -> tuple[str, ...]:
    """The row of a rank, for headings `RANK_USE`; a dash for what is not known."""
    times = [ranks.user_s[at], ranks.system_s[at]]
    counts = [ranks.voluntary_switches[at], ranks.involuntary_switches[at], ranks.migrations[at]]
    minor, major = ranks.minor_faults[at], ranks.major_faults[at]
    counts.append(None if minor is None or major is None else minor + major)
    peak = ranks.peak_memory_bytes[at]
    return (
        *("-" if time is None else seconds_text(time) for time in times),
        *("-" if count is None else count_text(count) for count in counts),
        "-" if peak is None else bytes_text(peak),
        ranks.ran_on[at] or "-",
    )


def nothing_notable(use: Use) -> str:
    """That nothing stands out, with the sums."""
    ranks = use.ranks
    lost, moved, peak = (
        [value for value in column if value is not None]
        for column in (ranks.involuntary_switches, ranks.migrations, ranks.peak_memory_bytes)
    )
    parts = []
    if lost:
        parts.append(f"a rank lost its core {count_text(max(lost))} times at most")
    if moved:
        parts.append(f"came to another core {count_text(max(moved))} times at most")
    if peak:
        parts.append(f"and had up to {bytes_text(max(peak))}")
    return "nothing stands out" + (f": {', '.join(parts)}" if parts else "")


def sampled_text(use: Use) -> str:
    """How often was sampled, and what it cost."""
    often = "at the start and the end" if use.interval_s is None else f"every {seconds_text(use.interval_s)}"
    cost = (
        ""
        if use.cost_share is None
        else f", which cost at most {use.cost_share * 100:.2g} % of a rank's time"
    )
    return f"sampled {often}, when an MPI call ended (none inside of long calls){cost}"


def absent_sources(use: Use) -> list[str]:
    """Each source that is not there, with its reason and what would give it."""
    return [
        f"absent: {', '.join(each.sources)}: {each.why}"
        + (f"; {each.remedy}" if each.remedy else "")
        + (f" (on {counted(each.ranks, 'rank')})" if 0 < each.ranks < len(use.ranks.rank) else "")
        for each in use.absent
    ]


def counter_text(counter: Counter, at: int) -> str:
    """What a counter says of a rank; times as times."""
    count = counter.count[at]
    if count is None:
        return "-"
    if counter.counter in ("task-clock", "cpu-clock"):
        return seconds_text(count * 1e-9)
    return count_text(round(count))


def over_time(use: Use) -> list[tuple[str, Sequence[float]]]:
    """What changes while it runs: a label and a value for each piece; without what is not known."""
    columns = {
        "lost cores": [each.involuntary_switches_per_s for each in use.over_time],
        "page faults": [each.faults_per_s for each in use.over_time],
        "in the kernel": [each.system_share for each in use.over_time],
        "waiting for a core": [each.runqueue_wait_share for each in use.over_time],
    }
    return [(label, [v or 0.0 for v in values]) for label, values in columns.items() if any(values)]


def rate_text(label: str, value: float) -> str:
    """A value of `over_time` with its unit."""
    if label in ("in the kernel", "waiting for a core"):
        return f"{value * 100:.1f} %"
    return f"{count_text(round(value))} a second"


def piece_text(use: Use) -> str:
    """How long a piece of `over_time` is."""
    return seconds_text(use.over_time[0].end_s - use.over_time[0].begin_s)
