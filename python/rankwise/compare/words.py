# SPDX-License-Identifier: BSD-3-Clause
"""Differences in words, the same in every view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankwise.compare.comparison import Comparison, Difference
from rankwise.compare.scaling import Scaling
from rankwise.findings.finding import LEAST_SHARE
from rankwise.quantities import CLOCKS, bytes_text, count_text, counted, seconds_text

_LEAST_CHANGE = 0.02
_LEAST_TIME = 0.005
_MANY_TIMES = 10
# perf's name alone does not say how these differ from the involuntary switches above them.
_NAMES = {"context-switches": "context-switches, voluntary too"}


class Side(NamedTuple):
    """A run of one side: its program, on how many ranks and nodes, 0 where these are not known."""

    name: str
    ranks: int
    nodes: int


def name_of(each: Difference) -> str:
    """`load balance efficiency`, `MPI_Send, mean rank`."""
    return f"{each.what} efficiency" if each.of == "efficiency" else what_of(each)


def what_of(each: Difference) -> str:
    """The same below a heading that says what it belongs to."""
    return _NAMES.get(each.what, each.what)


def headline(found: Comparison, programs: Sequence[Side]) -> str:
    """The first line: `ft: before 16 ranks, 4 nodes, 2.81 s; after 16 ranks, 4 nodes, 3.06 s; +9.1 %`.

    Args:
        found: What changed.
        programs: A run before and one after.
    """
    time = found.run_time
    name = " and ".join(dict.fromkeys(each.name for each in programs))
    said = [
        ", ".join(
            [
                f"{side} {counted(each.ranks, 'rank')}",
                *([counted(each.nodes, "node")] if each.nodes else []),
                value_text(time, value),
            ]
        )
        for side, each, value in zip(("before", "after"), programs, (time.before, time.after), strict=True)
    ]
    return f"{name}: {'; '.join([*said, change_text(time)])}"


def scaling_headline(found: Scaling, name: str) -> str:
    """The first line of a series: `mg: 4 to 16 ranks, strong scaling, 3.70 times as fast, ideal 4`."""
    first, last = found.rows[0], found.rows[-1]
    said = "as fast" if found.kind == "strong" else "the work in the same time"
    return (
        f"{name}: {first.ranks} to {last.ranks} ranks, {found.kind} scaling, {last.speed_up:.2f} times {said}, "
        f"ideal {last.ranks / first.ranks:.3g}"
    )


def value_text(each: Difference, value: float) -> str:
    """A value with its unit."""
    if each.what in CLOCKS:
        return seconds_text(value * 1e-9)
    if each.unit == "s":
        return seconds_text(value)
    if each.unit == "share":
        return f"{value * 100:.1f} %"
    return bytes_text(value) if each.unit == "bytes" else count_text(round(value))


def signed_text(each: Difference, value: float) -> str:
    """The same of a difference, with its sign."""
    if each.unit == "share":
        return f"{value * 100:+.1f} points"
    return f"{'-' if value < 0 else '+'}{value_text(each, abs(value))}"


def change_text(each: Difference) -> str:
    """`-12.5 %`, `x 12`, `new`, `gone`, `+3.1 points` of what is a share."""
    if each.unit == "share":
        return signed_text(each, each.after - each.before)
    if each.ratio is None:
        return "new"
    if each.ratio >= _MANY_TIMES:
        return f"x {each.ratio:.3g}"
    return "gone" if each.after == 0 else f"{(each.ratio - 1) * 100:+.1f} %"


def noise_text(each: Difference) -> str:
    """Whether it is more than noise; empty where that cannot be told."""
    return {True: "more than noise", False: "noise", None: ""}[each.beyond_noise]


def interval_text(each: Difference) -> str | None:
    """Between what the difference is, and how sure that is; `None` with one run a side."""
    if each.low is None or each.high is None or each.confidence is None:
        return None
    return (
        f"between {signed_text(each, each.low)} and {signed_text(each, each.high)} with "
        f"{each.confidence * 100:.0f} % confidence"
    )


def runs_text(paths: list[str]) -> str:
    """The path of one run, or how many there are and the first of them."""
    if len(paths) == 1:
        return paths[0]
    return f"{len(paths)} runs: {', '.join(paths[:3])}" + (", ..." if len(paths) > 3 else "")


def shown(found: Comparison) -> list[Difference]:
    """What changed besides the run time, without times that hardly count."""
    time = found.run_time
    least_s = _LEAST_TIME * max(time.before, time.after)
    return [each for each in found.differences if each is not time and _is_shown(each, least_s)]


def _is_shown(each: Difference, least_s: float) -> bool:
    in_s = 1e-9 if each.what in CLOCKS else 1.0 if each.unit == "s" else None
    if each.before == each.after or (in_s and in_s * max(each.before, each.after) < least_s):
        return False
    if each.beyond_noise is not None:
        return each.beyond_noise
    if each.unit == "share":
        return abs(each.after - each.before) >= _LEAST_CHANGE
    return each.ratio is None or abs(each.ratio - 1) >= _LEAST_CHANGE


def without_cores(found: Scaling) -> str | None:
    """A sentence without a full stop where ranks waited for a core in some runs: these do not scale as they would."""
    rows = [
        row for row in found.rows if row.core_wait_share is not None and row.core_wait_share >= LEAST_SHARE
    ]
    if not rows:
        return None
    first, *others = [
        (f"{100 * (row.core_wait_share or 0):.0f} %", counted(row.ranks, "rank")) for row in rows
    ]
    shares = [
        f"{first[0]} of their time with {first[1]}",
        *(f"{share} with {ranks}" for share, ranks in others),
    ]
    return (
        f"ranks waited for a core for {', '.join(shares)}: there were more ranks than cores, or other "
        "programs ran there. So this is not how the program scales with a core for each rank"
    )
