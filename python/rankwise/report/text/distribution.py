# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution by channel and size, beside the even distribution."""

from __future__ import annotations

import textwrap

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rankwise.placement.by_node import node_lines
from rankwise.placement.distribution_data import MessageDistribution
from rankwise.report.data import PlacedDistribution, ReportData
from rankwise.report.text.tables import table, title
from rankwise.report.words import (
    even_shares,
    one_channel,
    percent,
    placed_notes,
    placed_text,
    range_text,
    together,
)

_NODES_SHOWN = 4


def view(report: ReportData) -> list[RenderableType]:
    """A table for each placement."""
    if not report.distributions:
        hint = "--nodes 4x4 --node 'package:2 core:2'"
        return [
            title("Message distribution"),
            Text("  where the ranks ran is not known; describe nodes to see it, for example"),
            Text(f"  {hint}", style="green"),
        ]
    parts: list[RenderableType] = []
    for placed in report.distributions:
        if parts:
            parts.append(Text(""))
        parts += one(placed)
    return parts


def one(placed: PlacedDistribution) -> list[RenderableType]:
    """The table of one placement, and what to know about it."""
    distribution = placed.distribution
    parts: list[RenderableType] = [
        Text("\n".join(textwrap.wrap(f"Message distribution, {placed_text(placed)}", 78)), style="bold")
    ]
    rows = [(seat.node, seat.ranks, seat.cores) for seat in placed.seats]
    parts += [Text(line, style="dim") for line in node_lines(rows, _NODES_SHOWN, "HTML and JSON have all")]
    if not distribution.total.messages:
        return [*parts, Text("  no messages between ranks")]
    if alone := one_channel(distribution):
        parts.append(Text(textwrap.fill(alone, 78, initial_indent="  ", subsequent_indent="  ")))
    else:
        parts.append(_table(distribution))
    for note in placed_notes(placed):
        parts.append(Text(textwrap.fill(note, 78, initial_indent="  ", subsequent_indent="  "), style="dim"))
    return parts


def _table(distribution: MessageDistribution) -> Table:
    channels = distribution.total.channels
    # With caches or unknown channels 80 columns only hold numbers without their unit.
    tight = len(channels) > 3
    text = _number if tight else percent
    even = even_shares(distribution)
    rows = [("  if even", *(text(even.get(share.channel, 0.0)) for share in channels), "")]
    for what, key in (("messages", "message_share"), ("bytes", "byte_share")):
        if not getattr(distribution.total, what):
            continue
        for part in (distribution.total, *distribution.ranges):
            if not getattr(part, what):
                continue
            label = f"  {what}, all" if part is distribution.total else f"    {range_text(part)}"
            shares = (text(getattr(share, key)) for share in part.channels)
            rows.append((label, *shares, text(getattr(part, key))))
            if part is distribution.total and (totals := together(part, key)):
                rows.append(("    ranks together", *(text(share) for share in totals), ""))
    names = [f"by {share.channel}" if share.part_of else share.name for share in channels]
    title = "  rank averages, %" if tight else "  averages over ranks"
    return table((title, *names, "of all"), rows, gap=1 if tight else 2)


def _number(share: float | None) -> str:
    return percent(share).removesuffix(" %").replace("< ", "<")
