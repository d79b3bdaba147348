# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are on which cores of which node, in a few words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.machine.placement import Placement


def ranks_by_node(placement: Placement) -> list[tuple[str, str, str]]:
    """For each node that has ranks: its name, its ranks, and their cores in the order of the ranks."""
    of_node: dict[int, list[int]] = {}
    for rank, node in enumerate(placement.node.tolist()):
        of_node.setdefault(node, []).append(rank)
    rows = []
    for node in sorted(of_node):
        own = [placement.cores_of(rank) for rank in of_node[node]]
        if all(len(each) == 1 for each in own):
            where = numbers_text([core for (core,) in own])
        elif len(set(own)) == 1:
            where = f"any of {numbers_text(own[0])}"
        else:
            where = " ".join(numbers_text(each).replace(" ", ",") for each in own)
        rows.append((placement.node_names[node], numbers_text(of_node[node]), where))
    return rows


def node_lines(rows: Sequence[tuple[str, str, str]], most: int, rest: str) -> list[str]:
    """Seats in 78 columns: `  node0: ranks 0-3 on cores 0-3`.

    Args:
        rows: Of `seats`.
        most: Nodes shown.
        rest: Where those are that are not shown.
    """
    lines = []
    for node, ranks, cores in rows[:most]:
        _, anywhere, those = cores.rpartition("any of ")
        on = f"any of cores {those}" if anywhere else _noun("core", those)
        line = f"{node}: {_noun('rank', ranks)} on {on}"
        lines += textwrap.wrap(line, 78, initial_indent="  ", subsequent_indent="    ")
    if len(rows) > most:
        lines.append(f"  and {len(rows) - most} more nodes; {rest}")
    return lines


def _noun(noun: str, numbers: str) -> str:
    return f"{noun} {numbers}" if numbers.isdigit() else f"{noun}s {numbers}"


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers in their order, ascending runs as ranges: `0-3 8 10-12`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
