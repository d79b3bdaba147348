# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's counters of each node's data interface."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rankwise.lab.addresses import DATA_INTERFACE
from rankwise.lab.state import Lab


class InterfaceCounters(msgspec.Struct, frozen=True):
    """Ethernet frames of one interface, headers included; drops are frames the interface had no room for."""

    host: str
    tx_bytes: int
    tx_packets: int
    rx_bytes: int
    rx_packets: int
    dropped_packets: int


def read_counters(lab: Lab) -> list[InterfaceCounters]:
    """Counters of all nodes, in order, since the lab came up."""
    return [_of_process(node.host, node.pid) for node in lab.nodes]


def difference(before: list[InterfaceCounters], after: list[InterfaceCounters]) -> list[InterfaceCounters]:
    """What was counted between two readings."""
    names = [name for name in InterfaceCounters.__struct_fields__ if name != "host"]
    return [
        InterfaceCounters(new.host, **{name: getattr(new, name) - getattr(old, name) for name in names})
        for old, new in zip(before, after, strict=True)
    ]


def _of_process(host: str, pid: int) -> InterfaceCounters:
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == DATA_INTERFACE:
            # Receive: bytes packets errs drop fifo frame compressed multicast; then transmit.
            field = [int(number) for number in numbers.split()]
            return InterfaceCounters(host, field[8], field[9], field[0], field[1], field[3] + field[11])
    raise OSError(f"node `{host}` has no interface `{DATA_INTERFACE}`")
