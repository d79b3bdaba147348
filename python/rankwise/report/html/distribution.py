# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution as stacked bars: one for each size range, with the even distribution above them."""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.placement.distribution_data import ChannelShare
from rankwise.report.data import PlacedDistribution
from rankwise.report.html.look import BLUE, DARK, GREEN, ORANGE, PINK, SKY
from rankwise.report.html.stack import Piece
from rankwise.report.words import even_shares, percent, range_text

_COLOURS = {"package": BLUE, "node": ORANGE, "network": PINK, "unbound": DARK}
_CACHE_COLOURS = (SKY, GREEN)

Bar = tuple[str, list[Piece], str]
"""Name, pieces, and the share of all messages or bytes as text."""


def bars(placed: PlacedDistribution) -> list[tuple[str, list[Bar]]]:
    """Of `messages` and `bytes`, how they are distributed."""
    return [
        ("messages", _bars(placed, "messages", "message_share")),
        ("bytes", _bars(placed, "bytes", "byte_share")),
    ]


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


def _bars(placed: PlacedDistribution, what: str, key: str) -> list[Bar]:
    distribution = placed.distribution
    found = [("if even", _pieces(placed, "if even", even_shares(distribution)), "")]
    for part in (distribution.total, *distribution.ranges):
        if getattr(part, what):
            shares = {share.channel: getattr(share, key) or 0.0 for share in part.channels}
            found.append(
                (range_text(part), _pieces(placed, range_text(part), shares), percent(getattr(part, key)))
            )
    return found


def _pieces(placed: PlacedDistribution, name: str, shares: Mapping[str, float]) -> list[Piece]:
    """Each channel's share without those that are part of it, so that bars end at 1."""
    channels = placed.distribution.total.channels
    found = []
    for share, (label, colour) in zip(_narrowest_first(channels), legend(placed), strict=True):
        inner = sum(shares.get(each.channel, 0.0) for each in channels if each.part_of == share.channel)
        own = max(shares.get(share.channel, 0.0) - inner, 0.0)
        found.append(Piece(own, colour, f"{name}: {label} {percent(own)}"))
    return found


def _narrowest_first(channels: list[ChannelShare]) -> list[ChannelShare]:
    return sorted(channels, key=lambda share: share.part_of is None)
