# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure --compare`: machine files side by side."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli.terminal import Terminal

if TYPE_CHECKING:
    from rankwise.machine.compare import Quantity
    from rankwise.machine.machine import Machine

_WIDTH = 80
_FIRST = 24
_AT_ONCE = 4


def run(args: argparse.Namespace) -> int:
    """Print the comparison; of more machines than fit beside each other, one table after the other."""
    from rankwise.errors import RankwiseError
    from rankwise.machine.compare import compare
    from rankwise.machine.file import load

    if len(args.compare) < 2:
        raise RankwiseError(
            "one machine has nothing to be compared with",
            f"for example `rankwise measure --compare {args.compare[0]} other.machine.toml`",
            status=2,
        )
    terminal = Terminal(args)
    machines = [load(path) for path in args.compare]
    quantities = compare(machines)
    names = [_short(path) for path in args.compare]
    if args.json:
        terminal.json(_document(args.compare, machines, quantities))
        return 0
    for first in range(0, len(names), _AT_ONCE):
        chosen = list(range(first, min(first + _AT_ONCE, len(names))))
        terminal.result("\n".join(_table(names, quantities, chosen)) + "\n")
    terminal.result(
        "`~` assumed, or follows from assumed numbers; `*` differs from the first machine\n"
        "by more than both intervals; `=` does not. Without a mark: no interval."
    )
    return 0


def _short(path: str) -> str:
    return Path(path).name.removesuffix(".toml").removesuffix(".machine")


def _table(names: list[str], quantities: Sequence[Quantity], chosen: list[int]) -> list[str]:
    width = (_WIDTH - _FIRST) // max(2, len(chosen))
    heads = [textwrap.wrap(names[at].replace("-", "- "), width - 2) or [""] for at in chosen]
    heads = [[line.replace("- ", "-") for line in head] for head in heads]
    deep = max(map(len, heads))
    lines = []
    for level in range(deep):
        cells = [head[level - deep + len(head)] if level >= deep - len(head) else "" for head in heads]
        lines.append(_line("", cells, width))
    lines.append("─" * (_FIRST + width * len(chosen)))
    before = None
    for quantity in quantities:
        if all(quantity.values[at] is None for at in chosen):
            continue
        if quantity.of != before:
            lines += ["", quantity.of] if before is not None else [quantity.of]
            before = quantity.of
        lines.append(_line(f"  {quantity.key}", [_cell(quantity, at, width) for at in chosen], width))
    return lines


def _line(first: str, cells: list[str], width: int) -> str:
    return (first[: _FIRST - 1].ljust(_FIRST) + "".join(cell.rjust(width) for cell in cells)).rstrip()


def _cell(quantity: Quantity, at: int, width: int) -> str:
    from rankwise.quantities import bytes_text, seconds_text

    value = quantity.values[at]
    if value is None:
        return "-  "
    if isinstance(value, str):
        return (value if len(value) < width - 2 else value[: width - 4] + "…") + "  "
    text = seconds_text(value.value) if quantity.unit == "s" else bytes_text(value.value)
    if quantity.unit == "bytes/s":
        text += "/s"
    mark = " "
    if value.obtained == "assumed":
        mark = "~"
    elif at and (significant := quantity.significant(at)) is not None:
        mark = "*" if significant else "="
    return f"{text} {mark}"


def _document(
    paths: list[str], machines: Sequence[Machine], quantities: Sequence[Quantity]
) -> dict[str, Any]:
    import msgspec

    from rankwise.machine.file import fingerprint

    return {
        "schema": "rankwise.machine-comparison/1",
        "machines": [
            {"file": path, "name": machine.name, "sha256": fingerprint(path)}
            for path, machine in zip(paths, machines, strict=True)
        ],
        "quantities": [
            {
                "of": quantity.of,
                "key": quantity.key,
                "unit": quantity.unit or None,
                "values": msgspec.to_builtins(quantity.values),
                "differs_from_first": [quantity.significant(at) for at in range(len(quantity.values))],
            }
            for quantity in quantities
        ],
    }
