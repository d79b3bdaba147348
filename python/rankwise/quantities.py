# SPDX-License-Identifier: BSD-3-Clause
"""Numbers for people: counts, sizes and times with three digits and a unit."""

from __future__ import annotations

from typing import Protocol

CLOCKS = ("task-clock", "cpu-clock")
"""perf's counters that are times, in nanoseconds."""


def count_text(value: int) -> str:
    """A count: `999`, `1.24 k`, `320 k`, `1.2 M`."""
    return _scaled(value, 1000.0, ("", "k", "M", "G", "T")) if value >= 1000 else str(value)


def counted(count: int, noun: str) -> str:
    """How many of what, in full, so that two numbers of a sentence can be compared: `1 rank`, `99999 ranks`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def rounded(count: int, noun: str) -> str:
    """About how many of what there are many of: `1 message`, `9536 messages`, `38.4 k messages`."""
    return counted(count, noun) if count < 10_000 else f"{count_text(count)} {noun}s"


def share_text(share: float, digits: int = 0, sign: str = "") -> str:
    """A part of 1 in per cent: `20 %`; with digits behind the point and a `+` before what is more, `+6.3 %`."""
    return f"{100 * share:{sign}.{digits}f} %"


def bytes_text(value: float) -> str:
    """A size in powers of 1000: `999 B`, `1.24 kB`, `38 MB`."""
    return _scaled(value, 1000.0, ("B", "kB", "MB", "GB", "TB", "PB")) if value >= 1000 else f"{value:.0f} B"


def seconds_text(value: float) -> str:
    """A time: `310 ns`, `4.2 us`, `1.5 ms`, `9.1 s`, `2 h 03 min`."""
    if value >= 3600:
        return f"{int(value // 3600)} h {int(value % 3600 // 60):02d} min"
    if value == 0:
        return "0 s"
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    # What three digits make 1000 of is 1 of the next unit.
    scale, unit = next((each for each in units if value >= 0.9995 * each[0]), units[-1])
    return f"{_three(value / scale)} {unit}"


class _Interval(Protocol):
    @property
    def low_s(self) -> float: ...
    @property
    def high_s(self) -> float: ...


def interval_text(interval: _Interval | None) -> str | None:
    """`1.2 s - 1.4 s` of anything with `low_s` and `high_s`; `None` of `None`."""
    return f"{seconds_text(interval.low_s)} - {seconds_text(interval.high_s)}" if interval else None


def _scaled(value: float, base: float, units: tuple[str, ...]) -> str:
    at = 0
    while value >= base * 0.9995 and at + 1 < len(units):
        value, at = value / base, at + 1
    return f"{_three(value)} {units[at]}".rstrip()


def _three(value: float) -> str:
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
