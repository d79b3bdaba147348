# SPDX-License-Identifier: BSD-3-Clause
"""Plain tables for 80 columns: a title in the first heading, numbers to the right, no lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), gap: int = 2
) -> Table:
    """A table.

    Args:
        headings: Column headings; the first is the title.
        rows: Texts.
        left: Columns of text, aligned to the left; the others hold numbers.
        gap: Spaces between columns.
    """
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for at, heading in enumerate(headings):
        made.add_column(
            heading,
            justify="left" if at in left else "right",
            no_wrap=True,
            overflow="ellipsis",
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def title(text: str) -> Text:
    """The heading of a view that is not a table."""
    return Text(text, style="bold")
