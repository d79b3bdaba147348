# SPDX-License-Identifier: BSD-3-Clause
"""A study as Markdown, for documents."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.study.result import ClaimOutcome, StudyResult, Table
from rankwise.study.show.cells import cell_text, outcome_text, target_cells


def render(result: StudyResult) -> str:
    """The whole document."""
    parts = [f"# {result.title}", result.verdict]
    if result.targets:
        rows = [target_cells(each) for each in result.targets]
        parts.append(_rows(["target", "found", "asked for", "outcome"], rows))
    parts += [_table(table) for table in result.tables]
    if result.claims:
        parts += ["## Statements", claims_table(result.claims)]
    parts += result.notes
    parts += [f"Not known: {each}" for each in result.missing]
    return "\n\n".join(parts) + "\n"


def claims_table(claims: Sequence[ClaimOutcome]) -> str:
    """What papers say beside what was found."""
    rows = [
        [
            each.claim,
            each.statement,
            each.paper,
            each.ours,
            each.how,
            outcome_text(each),
        ]
        for each in claims
    ]
    return _rows(["claim", "statement", "paper", "here", "how", "outcome"], rows)


def _table(table: Table) -> str:
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    return "\n\n".join([f"## {table.title}", _rows(table.columns, rows), *table.notes])


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
