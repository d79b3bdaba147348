# SPDX-License-Identifier: BSD-3-Clause
"""Plain tables for 80 columns: a title in the first heading, numbers to the right, no lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

COLUMNS = 80
_GAP = 2


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), gap: int = _GAP
) -> Table:
    """A table. Where it is too wide, the last column of text is cut, and no other, nor a heading.

    Args:
        headings: Column headings; the first is the title.
        rows: Texts.
        left: Columns of text, aligned to the left; the others hold numbers.
        gap: Spaces between columns.
    """
    cells = [list(row) for row in rows]
    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for at, heading in enumerate(headings):
        cut = at == left[-1]
        made.add_column(
            Text(heading, no_wrap=True),
            justify="left" if at in left else "right",
            min_width=cell_len(heading) if cut else _width(heading, cells, at),
            no_wrap=not cut,
        )
    for row in cells:
        made.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    return made


def room(headings: Sequence[str], rows: Iterable[Sequence[str]], columns: int) -> int:
    """How wide one more column may be.

    Args:
        headings: Of the columns that there are.
        rows: Their texts.
        columns: Of the terminal.
    """
    cells = [list(row) for row in rows]
    return columns - sum(_width(heading, cells, at) + _GAP for at, heading in enumerate(headings))


def _width(heading: str, cells: Sequence[Sequence[str]], at: int) -> int:
    return max(map(cell_len, (heading, *(row[at] for row in cells))))


def title(text: str) -> Text:
    """The heading of a view that is not a table."""
    return Text(text, style="bold")
