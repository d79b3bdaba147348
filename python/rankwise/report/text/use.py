# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes: what stands out, a table by rank, counters, over time, and what is absent."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report import use_words as words
from rankwise.report.data import ReportData
from rankwise.report.text.tables import table, title
from rankwise.report.use_data import Use

_ALL_UP_TO, _SHOWN = 16, 8
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
    parts.append(table(("  by rank", *words.RANK_USE), _rank_rows(use), gap=2))
    hidden = len(use.ranks.rank) - _SHOWN
    if len(use.ranks.rank) > _ALL_UP_TO:
        parts.append(Text(f"  the {_SHOWN} that lost their core most; {hidden} more in the HTML report"))
    parts += _over_time(use)
    return parts + _lines([words.sampled_text(use)]) + absent


def _rank_rows(use: Use) -> list[tuple[str, ...]]:
    ranks = use.ranks
    order = list(range(len(ranks.rank)))
    if len(order) > _ALL_UP_TO:
        order.sort(key=lambda at: ranks.involuntary_switches[at] or 0, reverse=True)
        order = order[:_SHOWN]
    return [(f"  {ranks.rank[at]}", *words.rank_use(ranks, at)) for at in order]


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
