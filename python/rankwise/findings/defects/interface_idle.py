# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of a node use one port of its fabric while another one as fast idles."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import bytes_text, counted

NAME = "interface-idle"
_IDLE = 0.01
_DATA = ("port_rcv_data", "port_xmit_data")
PAGE = """\
A node has several equally fast ports of InfiniBand or Omni-Path, but all its
messages go through one of them.

What to do: let each rank use the port that is nearest to its cores (`lstopo`
shows it). A script between launcher and program can set that for each rank,
for example UCX_NET_DEVICES=mlx5_0:1. To split large messages over two ports:
UCX_MAX_RNDV_RAILS=2. For Omni-Path: PSM2_MULTIRAIL=1. For Intel MPI:
I_MPI_MULTIRAIL=1.

How it is detected: from the state, rate and kind of each port, and from the
bytes that it counted while the program ran. These are the bytes of the whole
node. Ports of Ethernet do not count, because the recording does not say to
which network they belong. Ports of Slingshot do not count, because their rate
is not recorded.

Shown if: one port was busy for 10 % of the run time and 20 ms (in the
direction with more bytes), and the other port moved less than 1 % as much.
Then half of the bytes on the other port could save 5 % and 10 ms.

Its cost: not estimated, because it is not known how many messages waited for
others. With a trace, `rankwise report REC --machine FILE` says what sharing
an interface costs (interface-saturated).

It is wrong if: the idle port belongs to another network, for example that of
the file system (`ibstat` or `opainfo` shows it). Or the run takes as long
with both ports.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The node whose busy port has most to share."""
    known = (
        evidence.recording.table("port_counters").filter(pl.col("counter").is_in(_DATA)).drop_nulls("count")
    )
    if not len(known):
        raise RankwiseError("no port of InfiniBand or Omni-Path was counted from the start to the end")
    moved: dict[tuple[str, str, str], int] = {}
    for host, device, port, count in known.select("host", "device", "port", "count").iter_rows():
        moved[host, device, port] = max(count, moved.get((host, device, port), 0))
    found = []
    limit_s = 2 * max(LEAST_S, LEAST_SHARE * evidence.elapsed_s)
    for node in evidence.recording.context["nodes"]:
        ports = [each for each in node.get("ports", []) if _is_there(each, node["host"], moved)]
        for one in ports:
            at = node["host"], one["device"], one["port"]
            idle = [
                each
                for each in ports
                if each["rate_bytes_per_s"] == one["rate_bytes_per_s"]
                and moved[node["host"], each["device"], each["port"]] < _IDLE * moved[at]
            ]
            busy_s = moved[at] / one["rate_bytes_per_s"]
            if busy_s >= limit_s and idle and len(idle) == len(ports) - 1:
                found.append((busy_s, node["host"], one, idle, moved[at]))
    if not found:
        return []
    busy_s, host, one, idle, size = max(found, key=lambda each: each[0])
    more = f"; the same on {counted(len(found) - 1, 'more node')}" if len(found) > 1 else ""
    names = ", ".join(map(_name, idle))
    return [
        Finding(
            name=NAME,
            sentence=f"all traffic of {host} goes through {_name(one)}, while {names} idle{'s' * (len(idle) == 1)}"
            + more,
            evidence=[
                f"{bytes_text(size)} one way, at {bytes_text(round(one['rate_bytes_per_s']))}/s "
                f"{busy_s / evidence.elapsed_s * 100:.0f} % of the run time"
            ],
            ranks=[],
            cost_s=None,
            estimate="how many messages waited for others at this port is not known",
            do="give each rank the port nearest to its cores (`UCX_NET_DEVICES`), or split large messages "
            "(`UCX_MAX_RNDV_RAILS=2`, `PSM2_MULTIRAIL=1`)",
            command=None,
            confidence="medium",
            refuted_by="the idle port is of another fabric, or a run with both takes as long",
        )
    ]


def _is_there(port: dict[str, Any], host: str, moved: dict[tuple[str, str, str], int]) -> bool:
    fabric = port["active"] and port["link_layer"] == "InfiniBand" and port["rate_bytes_per_s"] > 0
    return fabric and (host, port["device"], port["port"]) in moved


def _name(port: dict[str, Any]) -> str:
    return f"{port['device']}/{port['port']}"
