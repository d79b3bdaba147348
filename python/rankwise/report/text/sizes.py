# SPDX-License-Identifier: BSD-3-Clause
"""Messages by size and channel, with the bandwidth reached."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report.communication_words import size_marks, size_notes, size_rows
from rankwise.report.data import ReportData
from rankwise.report.text.columns import columns
from rankwise.report.text.tables import title


def view(report: ReportData) -> list[RenderableType]:
    """A row for each size and channel that has messages."""
    rows = size_rows(report)
    if not rows:
        return []
    headings = ("up to", "channel", "messages", "bytes", "with a time", "bandwidth")
    parts = [title("Message sizes"), *columns(headings, [("", rows)], left=(1,))]
    for note in size_marks(report) + size_notes(report):
        lines = textwrap.wrap(note, 79, initial_indent="  ", subsequent_indent="    ")
        parts += [Text(line) for line in lines]
    return parts
