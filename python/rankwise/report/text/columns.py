# SPDX-License-Identifier: BSD-3-Clause
"""Tables with many columns: in as many blocks as fit, one below the other, and no cell is ever cut."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

_WIDTH, _INDENT, _WRAPPED = 80, "  ", 30
Group = tuple[str, Sequence[Sequence[str]]]


def columns(
    headings: Sequence[str], groups: Sequence[Group], left: Sequence[int] = ()
) -> list[RenderableType]:
    """A table.

    Args:
        headings: Of each column; lines of one are below each other. The first column is in each block.
        groups: A line above its rows (none if it is empty), and the rows.
        left: Columns of text, beside the first; the others hold numbers.
    """
    rows = [row for _, group in groups for row in group]
    if not rows:
        return []
    wrapped = {at: [_wrapped(row[at]) for row in rows] for at in range(len(headings))}
    lines = {at: headings[at].split("\n") for at in range(len(headings))}
    width = {
        at: max(cell_len(line) for cell in [lines[at], *wrapped[at]] for line in cell)
        for at in range(len(headings))
    }
    found: list[RenderableType] = []
    for block in _blocks(width):
        high = max(len(lines[at]) for at in block)
        head = [[""] * (high - len(lines[at])) + lines[at] for at in block]
        found += [Text(line, style="bold") for line in _lines(head, block, width, left)]
        at_row = 0
        for label, group in groups:
            if label:
                found.append(Text(_INDENT + label))
            for _ in group:
                cells = [wrapped[at][at_row] for at in block]
                found += map(Text, _lines(cells, block, width, left))
                at_row += 1
    return found


def _wrapped(cell: str) -> list[str]:
    return textwrap.wrap(cell, _WRAPPED, break_on_hyphens=False) or [""]


def _blocks(width: dict[int, int]) -> list[list[int]]:
    """Which columns are beside each other."""
    found: list[list[int]] = []
    first = len(_INDENT) + width[0]
    used = _WIDTH + 1
    for at in range(1, len(width)):
        if used + 1 + width[at] > _WIDTH:
            found.append([0])
            used = first
        found[-1].append(at)
        used += 1 + width[at]
    return found or [[0]]


def _lines(
    cells: Sequence[Sequence[str]], block: Sequence[int], width: dict[int, int], left: Sequence[int]
) -> list[str]:
    """A row: the first column and those of text to the left, the others to the right."""
    made = []
    for line in range(max(map(len, cells))):
        parts = [cell[line] if line < len(cell) else "" for cell in cells]
        padded = [
            part + blank if at == 0 or at in left else blank + part
            for at, part in zip(block, parts, strict=True)
            for blank in [" " * (width[at] - cell_len(part))]
        ]
        made.append((_INDENT + " ".join(padded)).rstrip())
    return made
