# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution as stacked bars: one for each size range, with the even distribution above them."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure

from rankwise.placement.distribution import ChannelShare, SizeRange
from rankwise.report.data import PlacedDistribution
from rankwise.report.html.look import BLUE, GREEN, GREY, ORANGE, PINK, SKY, plain_figure
from rankwise.report.words import even_shares, percent, range_text

_COLOURS = {"package": BLUE, "node": ORANGE, "network": PINK, "unbound": GREY}
_CACHE_COLOURS = (SKY, GREEN)


def charts(placed: PlacedDistribution) -> dict[str, figure]:
    """By `messages` and `bytes`, how they are distributed; none without messages."""
    if not placed.distribution.total.messages:
        return {}
    return {
        "messages": _bars(placed, "message_share", "messages"),
        "bytes": _bars(placed, "byte_share", "bytes"),
    }


def legend(placed: PlacedDistribution) -> list[tuple[str, str]]:
    """Label and colour of each part of the bars."""
    found, caches = [], 0
    for share in _narrowest_first(placed.distribution.total.channels):
        if share.part_of:
            colour = _CACHE_COLOURS[caches % len(_CACHE_COLOURS)]
            caches += 1
        else:
            colour = _COLOURS[share.channel]
        found.append(("rest of intra-CMP" if share.channel == "package" and caches else share.name, colour))
    return found


def _bars(placed: PlacedDistribution, key: str, what: str) -> figure:
    distribution = placed.distribution
    even = even_shares(distribution)
    parts = [part for part in (distribution.total, *distribution.ranges) if getattr(part, what)]
    names = ["if even", *(range_text(part) for part in parts)]
    columns: dict[str, Sequence[str | float]] = {
        "name": names,
        "overall": ["", *(percent(getattr(part, key)) for part in parts)],
    }
    labels, colours = zip(*legend(placed), strict=True)
    channels = []
    for share in _narrowest_first(distribution.total.channels):
        channels.append(share.channel)
        own = [
            _own(even, distribution.total.channels, share),
            *(_own_share(part, share.channel, key) for part in parts),
        ]
        columns[share.channel] = own
        columns[f"{share.channel}_text"] = [percent(value) for value in own]
    made = plain_figure(
        height=70 + 30 * len(names),
        title=f"share of {what}",
        y_range=list(reversed(names)),
        x_range=(0, 1),
        tools="save",
    )
    made.hbar_stack(
        channels, y="name", height=0.74, color=colours, source=ColumnDataSource(columns), line_color=None,
    )  # fmt: skip
    tips = [("", "@name"), ("of all", "@overall")]
    tips += [(label, f"@{{{channel}_text}}") for channel, label in zip(channels, labels, strict=True)]
    made.add_tools(HoverTool(tooltips=tips))
    made.xaxis.formatter.update(use_scientific=False)
    made.xaxis.ticker = [0, 0.25, 0.5, 0.75, 1]
    made.xaxis.major_label_overrides = {0: "0", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
    made.ygrid.grid_line_color = None
    return made


def _narrowest_first(channels: list[ChannelShare]) -> list[ChannelShare]:
    return sorted(channels, key=lambda share: share.part_of is None)


def _own_share(part: SizeRange, channel: str, key: str) -> float:
    shares = {share.channel: getattr(share, key) or 0.0 for share in part.channels}
    return _own(shares, part.channels, next(share for share in part.channels if share.channel == channel))


def _own(shares: dict[str, float], channels: list[ChannelShare], of: ChannelShare) -> float:
    """A channel's share without those that are part of it, so that stacked bars end at 1."""
    inner = sum(shares.get(share.channel, 0.0) for share in channels if share.part_of == of.channel)
    return max(shares.get(of.channel, 0.0) - inner, 0.0)
