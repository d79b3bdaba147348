# SPDX-License-Identifier: BSD-3-Clause
"""The switch's counters of each node's data interface."""

from __future__ import annotations

import struct

import msgspec

from rankwise.lab.state import Lab

COUNTERS = "counters"
# `struct account` and `struct counters` of lab/switch_port.h.
_PROCESSOR, _PORT = struct.Struct("=Q"), struct.Struct("=5Q")


class InterfaceCounters(msgspec.Struct, frozen=True):
    """Ethernet frames of one interface, headers included; drops are frames its queues had no room for."""

    host: str
    tx_bytes: int
    tx_packets: int
    rx_bytes: int
    rx_packets: int
    dropped_packets: int


def read_counters(lab: Lab) -> list[InterfaceCounters]:
    """Counters of all nodes, in order, since the lab came up."""
    content = (lab.directory / COUNTERS).read_bytes()
    return [
        InterfaceCounters(node.host, *numbers)
        for node, numbers in zip(lab.nodes, _PORT.iter_unpack(content[_PROCESSOR.size :]), strict=True)
    ]


def difference(before: list[InterfaceCounters], after: list[InterfaceCounters]) -> list[InterfaceCounters]:
    """What was counted between two readings."""
    names = [name for name in InterfaceCounters.__struct_fields__ if name != "host"]
    return [
        InterfaceCounters(new.host, **{name: getattr(new, name) - getattr(old, name) for name in names})
        for old, new in zip(before, after, strict=True)
    ]
