# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pages in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def share(value: float | None, sign: str = "", digits: int = 0) -> str:
    """A part as percent."""
    return "unknown" if value is None else f"{100 * value:{sign}.{digits}f} %"
