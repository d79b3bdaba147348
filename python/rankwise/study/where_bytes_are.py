# SPDX-License-Identifier: BSD-3-Clause
"""Where the bytes are that ranks of one node copy, which decides what the copies share.

A ping-pong and a ring send the same buffer over and over without writing it: the receiver's cache keeps it. What a
collective passes on was just written by another core: it is fresh, and comes from that core's cache. So do eager
messages, which are copied through memory that both ranks share. What does not fit the caches comes from memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from rankwise.machine.channels import NETWORK
from rankwise.machine.machine import LinkClass, Machine

Where = Literal["own cache", "third-level caches", "another cache", "memory"]
SHARED_BY: dict[Where, str | None] = {
    "own cache": None,
    "third-level caches": "fabric",
    "another cache": "between_caches",
    "memory": "memory",
}
"""Which resource of the machine file such copies share."""


@dataclass(frozen=True)
class Caches:
    """A rank's share of the caches.

    Attributes:
        second_bytes: Its core's own.
        third_bytes: Its part of the one that cores share.
    """

    second_bytes: int
    third_bytes: int

    def where(self, message_bytes: int, buffers_bytes: int, eager_bytes: int, fresh: bool) -> Where:
        """Where the bytes of a message are when they are copied.

        Args:
            message_bytes: Of one message.
            buffers_bytes: What the rank sends from and receives into in the whole call.
            eager_bytes: Largest message that is copied through shared memory.
            fresh: Whether another core has written what is sent.
        """
        if message_bytes <= eager_bytes:
            return "another cache"
        if buffers_bytes > self.third_bytes and (not fresh or message_bytes >= self.third_bytes):
            return "memory"
        if fresh:
            return "another cache"
        return "own cache" if buffers_bytes <= self.second_bytes else "third-level caches"


def with_bytes(machine: Machine, where: Where, in_memory: bool = False) -> Machine:
    """The machine as copies find it whose bytes are there.

    Args:
        machine: With its resources `memory`, `fabric` and `between_caches`, as far as it has them.
        where: Where what is sent is.
        in_memory: Whether what is received goes to memory, even where what is sent is in a cache.
    """
    shared = {SHARED_BY[where]} | ({"memory"} if in_memory else set())
    kept = [each for each in machine.resources if each.name not in SHARED_BY.values() or each.name in shared]
    links = machine.link_classes
    if where == "another cache":
        links = [_fresh(link) for link in links]
    return msgspec.structs.replace(machine, resources=kept, link_classes=links)


def _fresh(link: LinkClass) -> LinkClass:
    """Larger messages at the rate of the largest that are copied through shared memory."""
    if link.channel == NETWORK or link.eager_limit_bytes is None:
        return link
    limit = link.eager_limit_bytes.value
    eager = [each for each in link.segments if each.up_to_bytes is not None and each.up_to_bytes <= limit]
    if not eager:
        return link
    rate = eager[-1].G_s_per_byte
    segments = [
        msgspec.structs.replace(each, G_s_per_byte=rate)
        if each.up_to_bytes is None or each.up_to_bytes > limit
        else each
        for each in link.segments
    ]
    return msgspec.structs.replace(link, segments=segments)
