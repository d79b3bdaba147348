# SPDX-License-Identifier: BSD-3-Clause
"""Nodes, packages, caches and cores with their ranks on them, and the bytes between nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from rankwise.placement.by_node import numbers_text
from rankwise.quantities import bytes_text, counted
from rankwise.report import FIRST_NODES
from rankwise.report.data import ReportData
from rankwise.report.data.map import MapNode, NodeKind, PlacedMap
from rankwise.report.hosts import short_names
from rankwise.report.text.tables import title

_WIDTH = 79
_MOST_NODES, _MOST_LINKS = 64, 16
# Of each level from the package inwards; what is deeper is not drawn.
_BRACKETS = (("[", "]"), ("(", ")"), ("<", ">"))
# Alike cores that are more than these are shown once with their number, and of more ranks on a core only some.
_ALIKE = 3
_RANKS = 16


def first(report: ReportData) -> list[RenderableType]:
    """The nodes with the most bytes to and from others, under each placement."""
    return _view(report, FIRST_NODES, 0)


def view(report: ReportData) -> list[RenderableType]:
    """More of them, and between which nodes the bytes go."""
    return _view(report, _MOST_NODES, _MOST_LINKS)


def _view(report: ReportData, most_nodes: int, most_links: int) -> list[RenderableType]:
    parts: list[RenderableType] = []
    placed, legend = report.map.placed, ""
    for each in placed:
        name = f"Map, {each.name}" if len(placed) > 1 else "Map"
        if len(each.nodes) > 1:
            name += f": {bytes_text(sum(node.sent_bytes for node in each.nodes))} between nodes"
        parts += [*([Text("")] if parts else []), title(name)]
        parts += _nodes(each, report.map.kinds, most_nodes)
        parts += _links(each, most_links)
        # One legend for all that are alike.
        drawn = _legend(report, each)
        parts += _wrapped(drawn, "  ", "dim") if drawn != legend else []
        legend = drawn
    if not parts:
        lines = _wrapped("where the ranks ran is not known; describe nodes to see it, for example", "  ")
        return [title("Map"), *lines, Text("  --nodes 4x4 --node 'package:2 core:2'", style="green")]
    return parts


def _nodes(placed: PlacedMap, kinds: Sequence[NodeKind], most: int) -> list[RenderableType]:
    names = short_names([node.name for node in placed.nodes])
    order = list(range(len(names)))
    if len(order) > most:
        order.sort(key=lambda at: (-placed.nodes[at].sent_bytes - placed.nodes[at].received_bytes, at))
    rows = []
    for at in order[:most]:
        node = placed.nodes[at]
        sent = f"{bytes_text(node.inside_bytes)} inside"
        if len(names) > 1:
            sent += f", {bytes_text(node.sent_bytes)} sent, {bytes_text(node.received_bytes)} received"
        moved = [
            f"interface {each.name}: {_known(each.rx_bytes)} received, {_known(each.tx_bytes)} sent"
            for each in node.interfaces
        ]
        rows.append((f"{names[at]}  {_drawn(node, kinds[node.kind])}", [sent, *moved]))
    # Beside each other where that is so for all.
    beside = all(len(cores) + len("; ".join(said)) + 5 <= _WIDTH for cores, said in rows)
    parts: list[RenderableType] = []
    for cores, said in rows:
        if beside:
            parts.append(Text(f"  {cores}{'; '.join(said):>{_WIDTH - 2 - len(cores)}}"))
            continue
        parts += _wrapped(cores, "  ") + _wrapped("; ".join(said), "    ", "dim")
    if more := len(order) - len(order[:most]):
        parts += _wrapped(f"{counted(len(order), 'node')}; {more} with fewer bytes are not shown", "  ")
    return parts


def _drawn(node: MapNode, kind: NodeKind) -> str:
    """Its cores with their ranks, in brackets what they share."""
    on: list[list[int]] = [[] for _ in kind.pus]
    anywhere = []
    for rank, cores in zip(node.ranks, node.cores, strict=True):
        anywhere += [] if cores else [rank]
        for core in cores:
            on[core].append(rank)

    def core_text(core: int) -> str:
        own = [str(rank) for rank in on[core]]
        text = ",".join(own if len(own) <= _ALIKE else [*own[:2], "..", own[-1]])
        return (text or "-") + ("!" if set(kind.pus[core]) & set(node.interrupt_pus) else "")

    def build(
        cores: Sequence[int], levels: Sequence[tuple[str, Sequence[int]]], brackets: Sequence[tuple[str, str]]
    ) -> str:
        if not levels or not brackets:
            return _runs([core_text(core) for core in cores])
        of = levels[0][1]
        groups: dict[int, list[int]] = {}
        for core in cores:
            groups.setdefault(of[core], []).append(core)
        begin, end = brackets[0]
        return " ".join(f"{begin}{build(some, levels[1:], brackets[1:])}{end}" for some in groups.values())

    text = build(range(len(on)), _levels(kind), _BRACKETS)
    if not anywhere:
        return text
    ranks = numbers_text(anywhere[:_RANKS]) + (" ..." if len(anywhere) > _RANKS else "")
    where = f"on any of {counted(len(on), 'core')}: {counted(len(anywhere), 'rank')}, {ranks}"
    return where if len(anywhere) == len(node.ranks) else f"{text}; {where}"


def _runs(texts: Sequence[str]) -> str:
    """`0-7` for ranks that follow each other on cores that do, `- x8` for cores that are alike."""
    alike = [(text, len(list(same))) for text, same in groupby(texts)]

    def key(at: int) -> object:
        text, count = alike[at]
        return int(text) - at if count == 1 and text.isdecimal() else (text, count)

    found = []
    for _, run in groupby(range(len(alike)), key):
        (first, count), *others = [alike[at] for at in run]
        if count > _ALIKE:
            found.append(f"{first} x{count}")
        elif len(others) > 1:
            found.append(f"{first}-{others[-1][0]}")
        else:
            found += [first] * count + [text for text, _ in others]
    return " ".join(found)


def _levels(kind: NodeKind) -> list[tuple[str, Sequence[int]]]:
    """The package; NUMA node and shared caches from the largest, where each says something new."""
    levels = [
        ("package", kind.packages),
        ("NUMA node", kind.numa_nodes),
        *((each.name, each.of_core) for each in reversed(kind.caches)),
    ]
    found: list[tuple[str, Sequence[int]]] = []
    seen = []
    for name, of in levels:
        grouping = [of.index(each) for each in of]
        if name == "package" or (len(set(of)) > 1 and grouping not in seen):
            found.append((name, of))
        seen.append(grouping)
    return found


def _legend(report: ReportData, placed: PlacedMap) -> str:
    kinds = [report.map.kinds[at] for at in sorted({node.kind for node in placed.nodes})]
    parts = []
    for at, brackets in enumerate(_BRACKETS):
        names = dict.fromkeys(levels[at][0] for levels in map(_levels, kinds) if len(levels) > at)
        if names:
            parts.append(f"{brackets[0]} {brackets[1]} {' or '.join(names)}")
    parts += ["numbers are ranks"]
    used = ({core for cores in node.cores for core in cores} for node in placed.nodes)
    of = (len(report.map.kinds[node.kind].pus) for node in placed.nodes)
    if any(0 < len(cores) < all_cores for cores, all_cores in zip(used, of, strict=True)):
        parts.append("- a core without one")
    if any(node.interrupt_pus for node in placed.nodes):
        parts.append("! takes a network interface's interrupts")
    elif report.use.emulated:
        parts.append("which core takes a network interface's interrupts is not known in a lab")
    return "; ".join(parts)


def _links(placed: PlacedMap, most: int) -> list[RenderableType]:
    names = short_names([node.name for node in placed.nodes])
    links = placed.links
    rows = sorted(
        (-size, source, destination)
        for source, destination, size in zip(links.source, links.destination, links.bytes, strict=True)
        if source != destination
    )
    parts: list[RenderableType] = []
    for size, source, destination in rows[:most]:
        parts += _wrapped(f"{bytes_text(-size):>8}  from {names[source]} to {names[destination]}", "  ")
    more = len(rows) + links.left_out - most
    if most and more > 0:
        parts += _wrapped(f"{more} more pairs of nodes with fewer bytes", "  ")
    return parts


def _known(size: int | None) -> str:
    return "?" if size is None else bytes_text(size)


def _wrapped(text: str, indent: str, style: str = "") -> list[RenderableType]:
    lines = textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
    return [Text(line, style=style) for line in lines]
