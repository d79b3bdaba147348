# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix as digits: each digit less is half the bytes."""

from __future__ import annotations

import math
import textwrap

from rich.console import RenderableType
from rich.text import Text

from rankwise.quantities import bytes_text
from rankwise.report.data import ReportData
from rankwise.report.matrix import coarser
from rankwise.report.text.tables import title

_MOST_GROUPS = 32
_WIDE_UP_TO = 24  # with three columns a cell, 80 columns hold this many
# Backgrounds from dark to light (viridis), each with a readable foreground; digits say the same without colour.
_SHADES = (53, 54, 60, 24, 30, 36, 35, 71, 149, 227)
_DARK_TEXT_FROM = 6


def view(report: ReportData) -> list[RenderableType]:
    """A row for each sender, a column for each receiver."""
    matrix = coarser(report.matrix, _MOST_GROUPS)
    if not matrix.source:
        return []
    # Rows without bytes (zero-byte messages only) still show that there are messages.
    weights = {
        (source, destination): max(size, 1)
        for source, destination, size in zip(matrix.source, matrix.destination, matrix.bytes, strict=True)
    }
    most = max(weights.values())
    width = 3 if matrix.groups <= _WIDE_UP_TO else 2
    step = 1 if width == 3 and matrix.ranks_per_group == 1 else 4
    unit = "a rank" if matrix.ranks_per_group == 1 else f"{matrix.ranks_per_group} ranks"
    firsts = [some[0] for some in matrix.members] or list(
        range(0, matrix.groups * matrix.ranks_per_group, matrix.ranks_per_group)
    )
    if matrix.members:
        unit = f"up to {unit}"
    parts: list[RenderableType] = [
        title(f"Communication matrix: bytes sent, {unit} a row, to whom by column"),
        Text(_column_names(firsts, width, step), style="dim"),
    ]
    for source in range(matrix.groups):
        row = Text(f"{firsts[source]:>7} ", style="dim")
        for destination in range(matrix.groups):
            _cell(row, weights.get((source, destination)), most, width)
        parts.append(row)
    scale = (
        f"9: {bytes_text(most / 2)} to {bytes_text(most)}; each smaller digit: half of that; "
        f"0: up to {bytes_text(most / 2**9)}"
    )
    parts.append(Text(" " * 8 + scale, style="dim"))
    if matrix.members:
        parts.append(Text(" " * 8 + "node after node; a row may have ranks of two", style="dim"))
    first, *others = report.pattern.lines()
    for line in (f"pattern: {first}", *others):
        parts += [Text(f"  {each}") for each in textwrap.wrap(line, 76)]
    return parts


def digit(size: float, most: float) -> int:
    """9 for (most/2, most], 8 for (most/4, most/2], ..., 0 for all that is less."""
    return max(0, 9 - int(math.floor(math.log2(most / size))))


def _cell(row: Text, size: int | None, most: int, width: int) -> None:
    if size is None:
        row.append("·".rjust(width), style="dim")
        return
    value = digit(size, most)
    foreground = "black" if value >= _DARK_TEXT_FROM else "white"
    row.append(str(value).rjust(width), style=f"{foreground} on color({_SHADES[value]}) not dim")


def _column_names(firsts: list[int], width: int, step: int) -> str:
    line = [" "] * (8 + len(firsts) * width + 8)
    for group in range(0, len(firsts), step):
        name = str(firsts[group])
        end = 8 + (group + 1) * width
        start = max(end - len(name), 0)
        line[start:end] = name[-(end - start) :]
    return "".join(line).rstrip()
