# SPDX-License-Identifier: BSD-3-Clause
"""What tuners decided while the program ran: what was seen, estimated, done, measured, kept or undone."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.report.tuning import TunedChange, gains_of, summary, times_text

_SHOWN, _WIDTH = 8, 80


def view(report: ReportData) -> list[RenderableType]:
    """The changes, those that were carried out first; nothing of a run without a tuner."""
    changes = report.tuning
    if not changes:
        return []
    shown = sorted(changes, key=lambda change: change.applied_s is None)[:_SHOWN]
    shown.sort(key=lambda change: change.proposed_s)
    parts: list[RenderableType] = [title("What `rankwise tune` did"), Text(f"  {summary(changes)}")]
    parts += [line for change in shown for line in _lines(change)]
    if len(changes) > len(shown):
        parts.append(Text(f"  and {len(changes) - len(shown)} more: `rankwise tune show`"))
    return parts


def _lines(change: TunedChange) -> list[Text]:
    rows = [change.seen, change.change, gains_of(change), change.why]
    lines = [f"  {times_text(change)}"]
    for row in rows:
        if row:
            lines += textwrap.wrap(row, _WIDTH, initial_indent="    ", subsequent_indent="      ")
    return [Text(line) for line in lines]
