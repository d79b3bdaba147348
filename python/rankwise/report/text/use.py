# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes: what stands out, a table by rank, counters, over time, and what is absent."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import use_words as words
from rankwise.report.data import ReportData
from rankwise.report.text import tracks
from rankwise.report.text.tables import table, title
from rankwise.report.use_data import Use

_ALL_UP_TO, _SHOWN, _LINES = 16, 8, 5
_DIGITS = "·123456789"


def view(report: ReportData) -> list[RenderableType]:
    """One sentence where nothing stands out, else what does and the tables."""
    use = report.use
    if use is None:
        return []
    heading = "What the ranks used"
    absent = _lines(words.absent_sources(use))
    if not use.notable:
        return [title(heading), *_lines([words.nothing_notable(use)]), *absent]
    parts: list[RenderableType] = [title(heading), *_lines(use.notable)]
    parts.append(table(("  by rank", *words.RANK_USE), _rank_rows(use), gap=1))
    hidden = len(use.ranks.rank) - _SHOWN
    if len(use.ranks.rank) > _ALL_UP_TO:
        parts.append(Text(f"  the {_SHOWN} that lost their core most; {hidden} more in the HTML report"))
    parts += _cores(report, use) + _interrupts(report, use) + _interfaces(report, use) + _over_time(use)
    parts += _lines(words.memory_use(use, report.program.hosts)) + tracks.view(report)
    return parts + _lines([words.sampled_text(use)]) + absent


def _rank_rows(use: Use) -> list[tuple[str, ...]]:
    ranks = use.ranks
    order = list(range(len(ranks.rank)))
    if len(order) > _ALL_UP_TO:
        order.sort(key=lambda at: ranks.involuntary_switches[at] or 0, reverse=True)
        order = order[:_SHOWN]
    return [(f"  {ranks.rank[at]}", *words.rank_use(ranks, at)) for at in order]


def _cores(report: ReportData, use: Use) -> list[RenderableType]:
    """All of few cores; of many, those with the most interrupts."""
    shown = use.cores
    if len(shown) > _ALL_UP_TO:
        shown = sorted(shown, key=lambda core: -(core.interrupts or 0))[:_SHOWN]
    rows = [(f"  {_host(report, core.host)}{core.pu}", *words.core_use(core)) for core in shown]
    if not rows:
        return []
    found: list[RenderableType] = [table(("  by core", *words.CORE_USE), rows, gap=1)]
    if len(use.cores) > len(shown):
        found.append(Text(f"  the {_SHOWN} with the most interrupts; {len(use.cores) - _SHOWN} more in HTML"))
    return found


def _interrupts(report: ReportData, use: Use) -> list[RenderableType]:
    """The lines with the most interrupts, those of networks first."""
    lines = sorted(use.interrupts, key=lambda line: line.device is None)[:_LINES]
    if not lines:
        return []
    several = len(report.program.hosts) > 1
    texts = [
        words.interrupt_line(line, report.program.hosts[line.host] if several else None) for line in lines
    ]
    return [Text("  by interrupt", style="bold"), *(Text(f"  {text}"[:80]) for text in texts)]


def _interfaces(report: ReportData, use: Use) -> list[RenderableType]:
    rows = [
        (f"  {_host(report, each.host)}{each.interface}", *words.interface_use(each))
        for each in use.interfaces
        if not each.idle
    ]
    found: list[RenderableType] = []
    if rows:
        found.append(table(("  by interface", *words.INTERFACE_USE), rows[:_ALL_UP_TO], gap=1))
    if len(rows) > _ALL_UP_TO:
        found.append(Text(f"  and {len(rows) - _ALL_UP_TO} more in the HTML report"))
    return found + _lines(words.idle_interfaces(use, report.program.hosts))


def _host(report: ReportData, host: int) -> str:
    return f"{report.program.hosts[host]} " if len(report.program.hosts) > 1 else ""


def _over_time(use: Use) -> list[RenderableType]:
    """A digit for each piece of the run: `9` is the most there was, each digit less is a ninth less."""
    found: list[RenderableType] = []
    for label, values in words.over_time(use):
        most = max(values)
        drawn = "".join(_DIGITS[round(9 * value / most)] for value in values)
        found.append(Text(f"  {label:<26}{drawn}  9 is {words.rate_text(label, most)}"))
    if found:
        found.insert(0, Text(f"  over time, {words.piece_text(use)} a digit", style="bold"))
    return found


def _lines(sentences: list[str]) -> list[RenderableType]:
    return [
        Text(textwrap.fill(each, 79, initial_indent="  ", subsequent_indent="    ")) for each in sentences
    ]
