# SPDX-License-Identifier: BSD-3-Clause
"""A study on a terminal of 80 columns: the verdict first, then its tables and the paper's statements."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from rankwise.report.text.columns import columns
from rankwise.study.result import ClaimOutcome, StudyResult, Table, Target
from rankwise.study.show.cells import cell_text, target_cells, verdict_text

_WIDTH = 80
_HEADING = 14
_MOST_ROWS = 40


def render(result: StudyResult) -> list[RenderableType]:
    """Paragraphs and tables in the order in which they are read."""
    shown: list[RenderableType] = [
        Text(f"{result.title}: {result.how}, {', '.join(result.on)}", style="bold")
    ]
    shown += [
        Text(line)
        for line in textwrap.wrap(result.verdict, _WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    ]
    if result.targets:
        shown += ["", *_targets(result.targets)]
    for table in result.tables:
        shown += ["", *_table(table)]
    if result.claims:
        shown += ["", *_claims(result.claims)]
    for note in result.notes:
        shown += [Text(line) for line in textwrap.wrap(note, _WIDTH)]
    for each in result.missing:
        shown += [Text(line) for line in textwrap.wrap(f"not known: {each}", _WIDTH)]
    return shown


def _table(table: Table) -> list[RenderableType]:
    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_MOST_ROWS]]
    texts = [at for at in range(1, len(table.columns)) if any(isinstance(row[at], str) for row in table.rows)]
    headings = ["\n".join(textwrap.wrap(name, _HEADING, break_on_hyphens=False)) for name in table.columns]
    shown: list[RenderableType] = [Text(line, style="bold") for line in textwrap.wrap(table.title, _WIDTH)]
    shown += columns(headings, [("", rows)], texts)
    if len(table.rows) > _MOST_ROWS:
        shown.append(Text(f"  {len(table.rows) - _MOST_ROWS} more rows with --json"))
    shown += [Text(line) for note in table.notes for line in textwrap.wrap(note, _WIDTH)]
    return shown


def _targets(targets: Sequence[Target]) -> list[RenderableType]:
    rows = [target_cells(each) for each in targets]
    headings = ["", "found", "target", ""]
    return [Text("Targets", style="bold"), *columns(headings, [("", rows)], [1, 2, 3])]


def _claims(claims: Sequence[ClaimOutcome]) -> list[RenderableType]:
    shown: list[RenderableType] = [Text("What the paper says of it", style="bold")]
    for each in claims:
        lines = [
            f"{verdict_text(each)}: {each.claim}, {each.statement}",
            f"  paper: {each.paper}",
            f"  here: {each.ours} ({each.how})",
        ]
        lines += [f"  {each.why}"] if each.why else []
        for line in lines:
            indent = "  " if line[0] != " " else "    "
            shown += [
                Text(part)
                for part in textwrap.wrap(
                    line.strip(),
                    _WIDTH,
                    initial_indent=indent,
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )
            ]
    return shown
