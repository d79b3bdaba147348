# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution as data that views show, and the size ranges that it is told in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rankwise.errors import RankwiseError

# Upper ends of the size ranges of the paper's figures 3 and 4; the last range has none.
DEFAULT_RANGES = (256, 4096, 65536, 262144)


class ChannelShare(msgspec.Struct, frozen=True):
    """What travels one channel.

    Attributes:
        channel: `package`, `node`, `network`, `unbound`, or a cache level.
        name: For people: intra-CMP, inter-CMP, inter-node, ...
        part_of: The channel that includes this one, for cache levels; `null` otherwise.
        messages: Number of messages of all ranks.
        bytes: Bytes of all ranks.
        message_share: Share of the messages, averaged over ranks; `null` if there are none.
        byte_share: Share of the bytes, averaged over ranks; `null` if there are none.
        message_share_of_all: Share of the messages of all ranks together.
        byte_share_of_all: Share of the bytes of all ranks together.
    """

    channel: str
    name: str
    part_of: str | None
    messages: int
    bytes: int
    message_share: float | None
    byte_share: float | None
    message_share_of_all: float | None
    byte_share_of_all: float | None


class SizeRange(msgspec.Struct, frozen=True):
    """The messages of one size range (over_bytes, up_to_bytes].

    Attributes:
        over_bytes: Lower end, exclusive; `null` for the first range, which includes messages without bytes.
        up_to_bytes: Upper end, inclusive; `null` for the last range.
        messages: Number of messages of all ranks, without those to self.
        bytes: Bytes of all ranks, without those to self.
        message_share: The range's share of all messages ("overall"), averaged over ranks.
        byte_share: The range's share of all bytes, averaged over ranks.
        channels: What travels each channel; the shares of those with `part_of` null add up to 1.
    """

    over_bytes: int | None
    up_to_bytes: int | None
    messages: int
    bytes: int
    message_share: float | None
    byte_share: float | None
    channels: list[ChannelShare]


class EvenShare(msgspec.Struct, frozen=True):
    """Share of a channel if every rank had the same chance to talk to every other."""

    channel: str
    share: float


class MessageDistribution(msgspec.Struct, frozen=True):
    """The distribution under one placement.

    Attributes:
        ranks: Number of ranks.
        nodes_used: Number of nodes with ranks.
        unbound_ranks: Ranks that may use several cores.
        shared_cores: Whether several ranks have the same core to run on.
        total: All sizes.
        ranges: By size.
        even: The even distribution of this placement.
        self_messages: Messages of ranks to themselves, in no share.
        self_bytes: Their bytes.
        unknown_messages: Messages whose destination is not known, in no share.
        unknown_bytes: Their bytes.
    """

    ranks: int
    nodes_used: int
    unbound_ranks: int
    shared_cores: bool
    total: SizeRange
    ranges: list[SizeRange]
    even: list[EvenShare]
    self_messages: int
    self_bytes: int
    unknown_messages: int
    unknown_bytes: int


def check_ranges(ranges: Sequence[int]) -> None:
    """Check upper ends of size ranges that a user gave.

    Raises:
        RankwiseError: Not ascending powers of two, between which a recording cannot tell sizes apart.
    """
    wrong = [size for size in ranges if size < 1 or size & (size - 1)]
    if wrong:
        raise RankwiseError(
            f"size ranges end at powers of two, as those of a recording do; `{wrong[0]}` is none",
            "for example `--ranges 256,4KiB,64KiB,256KiB`",
        )
    if list(ranges) != sorted(set(ranges)):
        raise RankwiseError("size ranges must ascend", "for example `--ranges 256,4KiB,64KiB,256KiB`")
