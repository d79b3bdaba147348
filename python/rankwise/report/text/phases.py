# SPDX-License-Identifier: BSD-3-Clause
"""Iterations of the program; the HTML report draws what its ranks did over time."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.report.communication_words import iterations_text
from rankwise.report.data import ReportData
from rankwise.report.text.tables import title
from rankwise.sentences import uncapital


def view(report: ReportData) -> list[RenderableType]:
    """How many there are, and how long they take."""
    if report.over_time is None or report.over_time.why_not:
        return []
    lines = [uncapital(iterations_text(report)), "phases are drawn in the HTML report"]
    return [
        title("Phases and iterations"),
        *(
            Text(line)
            for each in lines
            for line in textwrap.wrap(each, 79, initial_indent="  ", subsequent_indent="    ")
        ),
    ]
