# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import seconds_text
from rankwise.report import use_words as words
from rankwise.report.data import ReportData
from rankwise.report.finding_words import named_in_use
from rankwise.report.hosts import short_names
from rankwise.report.text import tracks
from rankwise.report.text.columns import columns
from rankwise.report.text.tables import title
from rankwise.report.use_data import Use

# Rows of a table.
_SHOWN = 32
_LONG = 60  # a list of numbers that is longer is shown by how many it has
_DIGITS = "·123456789"
_Row = TypeVar("_Row")


def view(report: ReportData) -> list[RenderableType]:
    """What stands out, all tables, of many rows the worst, and what is absent."""
    use = report.use
    stands_out = use.notable or ([words.nothing_notable(use)] if use.ranks.rank else [])
    named = named_in_use(report)
    tables = [
        _ranks(use, named),
        _counters(use, named),
        _masks(use),
        _cores(report),
        _interrupts(report),
        _queues(report),
    ]
    tables += [_interfaces(report), _tcp(report), _lines(words.memory_use(use, report.program.hosts))]
    tables += [_over_time(use), tracks.view(report)]
    parts: list[RenderableType] = [title("What the ranks used"), *_lines(stands_out)]
    for each in tables:
        parts += [Text(""), *each] if each else []
    return [
        *parts,
        Text(""),
        *_lines([*words.sampled_text(use), *words.absent_sources(use, report.program.hosts)]),
    ]


def _ranks(use: Use, named: Collection[int]) -> list[RenderableType]:
    places, more = _worst(words.worst_ranks(use, named), *words.rank_order(named))
    rows = [
        (str(use.ranks.rank[at]), *map(_short, words.rank_use(use.ranks, at)))
        for at in words.named_first(use, places, named)
    ]
    return [*columns(("rank", *words.RANK_USE), [("", rows)]), *more, *_lines(words.rank_notes(use))]


def _counters(use: Use, named: Collection[int]) -> list[RenderableType]:
    places, more = _worst(words.worst_ranks(use, named), *words.rank_order(named))
    rows = [
        (str(use.ranks.rank[at]), *(words.counter_text(each, at) for each in use.counters))
        for at in words.named_first(use, places, named)
    ]
    return (
        [*columns(("rank", *map(words.counter_heading, use.counters)), [("", rows)]), *more]
        if use.counters
        else []
    )


def _masks(use: Use) -> list[RenderableType]:
    changes, more = _worst(use.mask_changes, "changes", "that were first")
    rows = [
        (f"rank {each.rank}", seconds_text(each.time_s), _short(each.pus), words.set_by(each))
        for each in changes
    ]
    return [*columns(("changes of allowed", "after", "PUs from then on", "set by"), [("", rows)]), *more]


def _cores(report: ReportData) -> list[RenderableType]:
    lines = words.lines_by_core(report.use)
    cores, more = _worst(words.worst_cores(report.use), "PUs", "with most time in interrupts")
    rows = [
        (core.host, (str(core.pu), *map(_short, words.core_use(core, lines.get((core.host, core.pu))))))
        for core in sorted(cores, key=lambda core: (-1 if core.host is None else core.host, core.pu))
    ]
    found = columns(("PU", *words.CORE_USE), _by_host(report, rows))
    return [*found, *more, *_lines(words.CORE_NOTES)] if found else []


def _interrupts(report: ReportData) -> list[RenderableType]:
    """Those of networks first."""
    shown, more = _worst(
        sorted(report.use.interrupts, key=lambda line: line.device is None),
        "lines",
        "of networks, then with the most",
    )
    found: list[RenderableType] = []
    several = len({line.host for line in report.use.interrupts}) > 1
    names = short_names(report.program.hosts)
    if shown:
        found.append(Text("  interrupts by line", style="bold"))
    for line in shown:
        count, most, name, what = words.interrupt_line(line)
        host = f"{names[line.host]} " if several and line.host is not None else ""
        text = f"{count:>7} most on {most:<15} {host}{name}: {what}"
        wrapped = textwrap.wrap(
            text, 78, initial_indent="  ", subsequent_indent=" " * 12, break_on_hyphens=False
        )
        found += map(Text, wrapped)
    return [*found, *more]


def _queues(report: ReportData) -> list[RenderableType]:
    groups, more = _worst(
        words.queue_use(report.use, report.program.hosts), "kinds of nodes", "that are first"
    )
    return [*columns(("queues of", *words.QUEUE_USE[1:]), groups, left=(1, 2, 3)), *more]


def _interfaces(report: ReportData) -> list[RenderableType]:
    shown, more = _worst(
        words.worst_interfaces(report.use), "interfaces", "with losses, then with the most bytes"
    )
    rows = [
        (each.host, (each.interface, *map(_short, words.interface_use(each))))
        for each in sorted(shown, key=lambda each: each.host)
    ]
    found = columns(("interface", *words.INTERFACE_USE), _by_host(report, rows))
    notes = [
        *(words.INTERFACE_NOTES if found else ()),
        *words.idle_interfaces(report.use, report.program.hosts),
    ]
    return [*found, *more, *_lines(notes)]


def _tcp(report: ReportData) -> list[RenderableType]:
    names = short_names(report.program.hosts)
    shown, more = _worst(words.worst_tcp(report.use), "nodes", "that sent most again")
    rows = [(names[each.host], *words.tcp_use(each)) for each in shown]
    return [*columns(("TCP of", *words.TCP_USE), [("", rows)], left=(5,)), *more]


def _by_host(
    report: ReportData, rows: Sequence[tuple[int | None, Sequence[str]]]
) -> list[tuple[str, list[Sequence[str]]]]:
    """Rows below the name of their host, where there are several."""
    names = short_names(report.program.hosts)
    groups: dict[int | None, list[Sequence[str]]] = {}
    for host, row in rows:
        groups.setdefault(host, []).append(row)
    several = len(names) > 1

    def label(host: int | None) -> str:
        return words.MACHINE if host is None else names[host] if several else ""

    return [(label(host), own) for host, own in groups.items()]


def _worst(rows: Sequence[_Row], what: str, order: str) -> tuple[Sequence[_Row], list[RenderableType]]:
    """The first rows, and a line that says of which the others are."""
    more = len(rows) - _SHOWN
    if more <= 0:
        return rows, []
    return rows[:_SHOWN], _lines([f"the {_SHOWN} {what} {order}; {more} more in `rankwise report --json`"])


def _short(cell: str) -> str:
    """A long list of numbers as how many there are."""
    if len(cell) <= _LONG or not cell.replace("-", " ").replace(" ", "").isdecimal():
        return cell
    bounds = [part.partition("-") for part in cell.split()]
    return f"{sum(int(last or first) - int(first) + 1 for first, _, last in bounds)} of them"


def _over_time(use: Use) -> list[RenderableType]:
    """A digit for each piece of the run: `9` is the most there was, each digit less is a ninth less."""
    found: list[RenderableType] = []
    for label, values in words.over_time(use):
        most = words.most(values)
        drawn = "".join(
            "?" if value is None else _DIGITS[round(9 * value / most) if most else 0] for value in values
        )
        highest = f"9 is {words.rate_text(label, most)}" if most else "none"
        found.append(Text(f"  {label:<22}{drawn}  {highest}"))
    if found:
        if any(None in values for _, values in words.over_time(use)):
            found.insert(0, Text("  ?: not known"))
        heading = f"  over time: a digit is {words.piece_text(use)}; counts are spread evenly between samples"
        found.insert(0, Text(heading, style="bold"))
    return found


def _lines(sentences: Sequence[str]) -> list[RenderableType]:
    return [
        Text(textwrap.fill(each, 79, initial_indent="  ", subsequent_indent="    ")) for each in sentences
    ]
