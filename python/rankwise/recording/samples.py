# SPDX-License-Identifier: BSD-3-Clause
"""Samples over time of a rank or a node, and what is noted about them (formats/recording.h, rw_samples and rw_note)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwise.quantities import counted
from rankwise.recording.layouts import (
    MOST_FACT_BITS,
    MOST_TIME_BITS,
    NOT_KNOWN,
    NOT_READ,
    NOTE,
    NOTE_ABSENT,
    NOTE_ALLOWED,
    NOTE_COLUMNS,
    NOTE_FACT,
    NOTE_RAN_ON,
    NOTE_SET_BY,
    NOTE_THREADS_RAN_ON,
    NOTE_VARIABLE,
    SAMPLES,
)

# As many PUs as rw_rank.affinity has bits.
MOST_PUS = 8192
# Numbers of these and more are damage.
MOST_COUNTED = 1 << MOST_TIME_BITS
_MOST_FACT = 1 << MOST_FACT_BITS
# MPI's own variables may be any number; sums over ranks are to be one, too.
_MOST_VARIABLE = 1e100
# What only grows in a process.
_GROWING = (
    *("user_ns", "system_ns", "on_core_ns", "runqueue_wait_ns", "migrations", "moves_seen"),
    *("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"),
    *("thread_looks", "threads_busy", "threads_crowded"),
)
_MOST_COLUMNS = 1 << 20
_COUNTER = "counter:"
# Some drivers count below 0; recorders leave that out, but those up to 2026 did not.
_OF_DRIVERS = ("interface:", "port:", _COUNTER)
_HARDWARE = (
    "run where the processor's counters can be read: on the machine, or in a virtual machine that has them"
)
_ALLOW = "`sysctl kernel.perf_event_paranoid=1` or CAP_PERFMON; in a container a seccomp profile with perf_event_open"


@dataclass(frozen=True)
class Absent:
    """A source that gave nothing.

    Attributes:
        source: Its name.
        why: The reason.
        remedy: What would give it; `None` where nothing would.
    """

    source: str
    why: str
    remedy: str | None


@dataclass(frozen=True)
class Sampled:
    """Rows of numbers that count from some beginning.

    Attributes:
        columns: What a column is -> its first index; `what:of which` has several columns where its count says so.
        counts: How many columns each has.
        ticks: Of each row, ascending.
        values: Rows x columns, NaN where a row has no such number.
        absent: Sources that gave nothing.
        allowed: (ticks, OS PUs): what the first thread might use from then on.
        ran_on: OS PUs on which it was seen; `None` if it did not come to the end.
        facts: What is known only once.
        variables: MPI's performance variables: name -> class, value, of how many values that is the sum.
        head: The fields of rw_samples.
        threads_ran_on: OS PUs on which threads that were ready to run were seen; `None` if nobody looked.
        left_out: Rows x columns, whether a number was left out of a row because it takes long.
        lost_facts: Names of facts whose numbers are damaged.
        problems: What is damaged of it and was left out, one sentence each.
        set_by: Index of `allowed` -> file whose code set it; empty where no call was seen, absent where that is not
            known.
    """

    columns: dict[str, int]
    counts: dict[str, int]
    ticks: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    absent: list[Absent]
    allowed: list[tuple[int, list[int]]]
    ran_on: list[int] | None
    facts: dict[str, int]
    variables: dict[str, tuple[str, float, int]]
    head: dict[str, int] = field(default_factory=dict)
    threads_ran_on: list[int] | None = None
    left_out: npt.NDArray[np.bool_] | None = None
    set_by: dict[int, str] = field(default_factory=dict)
    lost_facts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def part(self, rows: slice) -> Sampled:
        """Some of its rows."""
        left_out = None if self.left_out is None else self.left_out[rows]
        return replace(self, ticks=self.ticks[rows], values=self.values[rows], left_out=left_out)

    def column(self, name: str, index: int = 0) -> npt.NDArray[np.float64]:
        """One column by the name of its group; NaN where there is none."""
        if name not in self.columns or index >= self.counts[name]:
            return np.full(len(self.ticks), np.nan)
        return self.values[:, self.columns[name] + index]

    def group(self, name: str, count: int) -> npt.NDArray[np.float64]:
        """The first columns of a group, rows x columns; NaN where there are none."""
        found = np.full((len(self.ticks), count), np.nan)
        there = min(self.counts.get(name, 0), count)
        if there:
            found[:, :there] = self.values[:, self.columns[name] : self.columns[name] + there]
        return found

    def since_start(self, name: str, index: int = 0) -> npt.NDArray[np.float64]:
        """What it counted since the first sample."""
        column = self.column(name, index)
        return column - column[0] if len(column) else column

    def total(self, name: str, index: int = 0) -> float | None:
        """What it counted from the first to the last sample that has it; `None` if that is not known, or below 0."""
        column = self.column(name, index)
        known = column[~np.isnan(column)]
        return float(known[-1] - known[0]) if len(known) > 1 and known[-1] >= known[0] else None

    def lost(self, sources: Mapping[str, str], start: int, seconds_per_tick: float) -> list[Absent]:
        """Sources that could not be read from some row on, and those that take too long to be in most rows.

        Args:
            sources: What a column is (before a colon) -> the source's name.
            start: Ticks at the start.
            seconds_per_tick: Of its ticks.
        """
        found = []
        for what, source in sources.items():
            at = [
                self.columns[name] + part
                for name in self.columns
                if name.partition(":")[0] == what
                for part in range(self.counts[name])
            ]
            known = ~np.isnan(self.values[:, at]).all(axis=1) if at else np.zeros(0, bool)
            rows = np.flatnonzero(known)
            if not len(rows):
                continue
            # Left out or not is the same for all numbers of a source.
            after = rows[-1] + 1
            later = (
                np.zeros(len(self.ticks) - after, bool)
                if self.left_out is None
                else self.left_out[after:, at[0]]
            )
            if not later.all():
                until_s = max(int(self.ticks[rows[-1]]) - start, 0) * seconds_per_tick
                found.append(Absent(source, f"could not be read after {until_s:.3g} s", _CLOSED))
            elif self.left_out is not None and self.left_out[:, at[0]].mean() > _MOSTLY:
                why = f"reading takes so long that it is in {len(rows)} of {len(self.ticks)} samples only"
                found.append(Absent(f"{source} between start and end", why, _LONGER))
        return found

    @property
    def counters(self) -> list[str]:
        """Names of the counters of perf_event."""
        return [name[len(_COUNTER) :] for name in self.columns if name.startswith(_COUNTER)]

    def counted(self, counter: str) -> npt.NDArray[np.float64]:
        """A counter since the first sample; NaN where it is not known, all NaN where it never ran or fell below that.

        A counter that took turns with others is scaled by enabled over running time, between two samples each, so
        that it never falls. Where it did not run between two of them, the next one counts for both; at the end it is
        taken to go on as before.
        """
        parts = np.stack([self.column(_COUNTER + counter, part) for part in range(3)])
        found = np.full(parts.shape[1], np.nan)
        rows = np.flatnonzero(~np.isnan(parts[0]))
        _, on, counting = np.diff(parts[:, rows])
        kept = rows[np.concatenate([[True], (counting > 0) | (on == 0)])[: len(rows)]]
        grown, on, counting = np.diff(parts[:, kept])
        if not (counting > 0).any():
            return found
        scale = np.divide(on, counting, out=np.ones_like(on), where=counting > 0)
        found[kept] = np.concatenate([[0.0], np.cumsum(grown * scale)])
        if kept[-1] != rows[-1]:
            enabled = parts[1]
            rate = found[kept[-1]] / (enabled[kept[-1]] - enabled[rows[0]])
            found[rows[-1]] = found[kept[-1]] + rate * (enabled[rows[-1]] - enabled[kept[-1]])
        can_be = np.isnan(found) | ((found >= 0) & (found < MOST_COUNTED))
        return found if can_be.all() else np.full(len(found), np.nan)


_MOSTLY = 0.5
_LONGER = "longer runs: it may take 1/500 of the time"
_SECCOMP = "a kernel with CONFIG_PERF_EVENTS; in a container a seccomp profile with perf_event_open"
_FILES = "allow more open files: `ulimit -n 4096`"
MOUNTED = "/proc and /sys mounted whole: without `subset=pid`, and not masked by a container"
_CLOSED = "a program that leaves open what it did not open: the recorder's descriptors are 1000 to 1063, or 896 to 959"


def decode(rows: bytes, notes: bytes) -> Sampled | None:
    """What is in the two runs of a rank or of a node, as far as it is whole; `None` if there are none."""
    if len(rows) < SAMPLES.itemsize:
        return None
    head = dict(zip(SAMPLES.names or (), np.frombuffer(rows, SAMPLES, 1)[0].item(), strict=True))
    noted = _Noted()
    for name in ("asked_ns", "cost_ticks", "aside_ticks"):
        if head[name] >= MOST_COUNTED:
            head[name] = 0
            noted.problems.append(f"`{name}` of its samples is damaged and was left out")
    for ticks, kind, count, text in _notes(notes):
        noted.take(ticks, kind, count, text, min(head["columns"], _MOST_COLUMNS))
    width = head["columns"] + 1
    there = (len(rows) - SAMPLES.itemsize) // (8 * width)
    table = np.frombuffer(rows, "<u8", there * width, SAMPLES.itemsize).reshape(there, width)
    # Rows that were half written have no ticks; while rows were taken out, some were there twice.
    ticks_of, order = np.unique(table[:, 0], return_index=True)
    sound = (ticks_of > 0) & (ticks_of < MOST_COUNTED)
    kept = table[order[sound], 1:]
    left_out = kept == NOT_READ
    not_known = left_out | (kept == NOT_KNOWN)
    too_large = ~not_known & (kept >= _limits(noted.columns, noted.counts, kept))
    values = np.where(not_known | too_large, np.nan, kept.astype(np.float64))
    for name, first in noted.columns.items():
        if name.startswith(_OF_DRIVERS) and too_large[:, first : first + noted.counts[name]].any():
            too_large[:, first : first + noted.counts[name]] = False
            noted.absent.append(Absent(name, "the kernel or a driver told numbers that are too large", None))
    if number := int(too_large.sum() + (ticks_of >= MOST_COUNTED).sum()):
        noted.problems.append(f"{counted(number, 'damaged number')} left out of its samples")
    sampled = Sampled(
        noted.columns,
        noted.counts,
        ticks_of[sound].astype(np.int64),
        values,
        noted.absent,
        noted.allowed,
        noted.ran_on,
        noted.facts,
        noted.variables,
        head,
        noted.threads_ran_on,
        left_out,
        noted.set_by,
        tuple(noted.lost_facts),
    )
    return replace(sampled, absent=noted.absent + _unlikely(sampled), problems=tuple(noted.problems))


@dataclass
class _Noted:
    """What the notes of samples say, as the attributes of `Sampled` have it."""

    columns: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    absent: list[Absent] = field(default_factory=list)
    allowed: list[tuple[int, list[int]]] = field(default_factory=list)
    ran_on: list[int] | None = None
    threads_ran_on: list[int] | None = None
    facts: dict[str, int] = field(default_factory=dict)
    lost_facts: list[str] = field(default_factory=list)
    variables: dict[str, tuple[str, float, int]] = field(default_factory=dict)
    set_by: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    used: int = 0  # of the columns

    def take(self, ticks: int, kind: int, count: int, text: str, most_columns: int) -> None:
        """The next note."""
        name, _, rest = text.partition("\t")
        if kind == NOTE_COLUMNS and self.used + count <= most_columns:
            self._take_columns(name, count)
        elif kind == NOTE_ABSENT:
            self.absent.append(_absent(name, count, rest))
        elif kind == NOTE_ALLOWED:
            self.allowed.append((ticks, pus_of(text)))
        elif kind == NOTE_SET_BY and self.allowed:
            self.set_by[len(self.allowed) - 1] = text
        elif kind == NOTE_RAN_ON:
            self.ran_on = pus_of(text)
        elif kind == NOTE_THREADS_RAN_ON:
            self.threads_ran_on = pus_of(text)
        elif kind == NOTE_FACT:
            self._take_fact(name, rest)
        elif kind == NOTE_VARIABLE:
            self._take_variable(name, rest, count)

    def _take_columns(self, name: str, count: int) -> None:
        what, _, of = name.partition(":")
        if what == "memory" and _whole(of, MOST_PUS) is None:
            self.problems.append("a damaged name of a column of its samples was left out")
        else:
            self.columns.setdefault(name, self.used)
            self.counts.setdefault(name, count)
        self.used += count

    def _take_fact(self, name: str, text: str) -> None:
        if (fact := _whole(text, _MOST_FACT)) is not None:
            self.facts[name] = fact
        else:
            self.lost_facts.append(name)
            self.problems.append(f"the number of `{name}` is damaged and was left out")

    def _take_variable(self, name: str, text: str, count: int) -> None:
        of_class, _, variable = name.partition(":")
        # Recorders up to 2026 wrote it as the program's locale has it.
        if (value := _number(text.replace(",", "."))) is None:
            self.problems.append(f"the number of MPI's variable `{variable}` is damaged and was left out")
        elif abs(value) < _MOST_VARIABLE:
            self.variables[variable] = (of_class, value, count)
        else:
            why = f"the MPI library says {value:.3g}"
            self.absent.append(Absent(f"MPI's variable {variable}", why, None))


def _limits(columns: dict[str, int], counts: dict[str, int], rows: npt.NDArray[np.uint64]) -> Any:
    """What the numbers of each column are below."""
    if not len(rows):
        return np.uint64(MOST_COUNTED)
    limits = np.full(rows.shape[1], MOST_COUNTED, np.uint64)
    for name, first in columns.items():
        if name == "cpu" or name.endswith("_kib"):
            limits[first : first + counts[name]] = MOST_PUS if name == "cpu" else _MOST_FACT
    return limits


def _unlikely(sampled: Sampled) -> list[Absent]:
    """What counted what it cannot have: counters of virtual machines may, and all begin anew after a restart."""
    found = []
    for name in _GROWING:
        column = sampled.column(name)
        known = column[~np.isnan(column)]
        if len(known) > 1 and known[-1] < known[0]:
            found.append(Absent(name, "it counted backwards", None))
    for name in sampled.counters:
        rows = np.count_nonzero(~np.isnan(sampled.column(_COUNTER + name)))
        ran = sampled.total(_COUNTER + name, 2) != 0
        if rows > 1 and ran and np.isnan(sampled.counted(name)).all():
            found.append(Absent(_COUNTER + name, "it counted backwards, or more than it can", None))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str, limit: int) -> int | None:
    """A decimal number below a limit."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(limit))):
        return None
    return number if (number := int(text)) < limit else None


def _notes(log: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Ticks, kind, count and text of each."""
    at = 0
    while at + NOTE.itemsize <= len(log):
        note: Any = np.frombuffer(log, NOTE, 1, at)[0]
        at += NOTE.itemsize
        length = int(note["bytes"])
        if length > len(log) - at:
            return
        text = log[at : at + length].decode(errors="replace")
        yield int(note["ticks"]), int(note["kind"]), int(note["count"]), text
        at += (length + 7) // 8 * 8


def pus_of(text: str) -> list[int]:
    """Numbers of a list as the kernel writes it: `0-3,8`; what is none is left out."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        last = last or first
        if first.isdecimal() and last.isdecimal() and max(len(first), len(last)) < 6:
            found.update(range(int(first), min(int(last), MOST_PUS - 1) + 1))
    return sorted(found)


def _absent(source: str, number: int, why: str) -> Absent:
    """A reason for people: what errno says, and what would change it."""
    if source.startswith(_COUNTER):
        return absent_counter(source, number, why)
    said = _said(number, why)
    remedy = None
    if source == "migrations":
        remedy = f"{_ALLOW}; or a kernel with CONFIG_SCHED_DEBUG"
    elif source.startswith("memory bandwidth"):
        denied = number in (errno.EACCES, errno.EPERM)
        remedy = "`sysctl kernel.perf_event_paranoid=0` or CAP_PERFMON" if denied else _HARDWARE
    elif number == errno.EMFILE:
        remedy = _FILES
    elif number in (errno.EACCES, errno.EPERM):
        remedy = "root, or a container that shows these files"
    elif number == errno.ENOENT:
        remedy = MOUNTED
    return Absent(source, said, remedy)


def _said(number: int, why: str) -> str:
    error = f"{errno.errorcode.get(number, number)}: {os.strerror(number)}" if number else ""
    return "; ".join(part for part in (error, why) if part)


def absent_counter(source: str, number: int, why: str) -> Absent:
    """Why a counter of perf_event could not be opened, and what would give it.

    Args:
        source: Its name.
        number: errno; 0 if it was not even tried.
        why: What else is known of it.
    """
    said = _said(number, why)
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return Absent(source, f"the kernel offers no such counter here ({said})", _HARDWARE)
    if number in (errno.EACCES, errno.EPERM):
        return Absent(source, f"the kernel does not allow it ({said})", _ALLOW)
    if number == errno.ENOSYS:
        return Absent(
            source, f"the kernel has no perf_event, or a seccomp profile hides it ({said})", _SECCOMP
        )
    remedy = None
    if number == errno.EMFILE:
        remedy = _FILES
    elif "not found" in why:
        remedy = "another name: `perf list` has perf's, `showevtinfo` libpfm4's; or a raw code, rNNN"
    elif "libpfm" in why:
        remedy = "install libpfm4 on the nodes, or give perf's name or rNNN"
    elif "its code is not known" in why:
        remedy = "`--counters` with the code of this processor's manual, rNNN, or a name of libpfm4"
    return Absent(source, said, remedy)
