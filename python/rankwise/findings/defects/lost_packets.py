# SPDX-License-Identifier: BSD-3-Clause
"""Network interfaces lose packets."""

from __future__ import annotations

import polars as pl

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import count_text, counted

NAME = "lost-packets"
_LOST = ("rx_errors", "rx_dropped", "tx_errors", "tx_dropped")
_LEAST_SHARE, _LEAST = 1e-4, 10
_LEAST_OF_NODE = 0.01
PAGE = """\
A network interface of a node dropped packets, or had errors, while the
program ran.

What to do: see which count grows (`ip -s -s link`, `ethtool -S`). Then try
larger ring buffers (`ethtool -G`), more queues on more cores, or another
cable.

How it is detected: from the kernel's counts of each interface
(/proc/net/dev), and of each port of an InfiniBand, Omni-Path or Slingshot
adapter. They are counts of the whole node.

Shown if: 1 packet in 10 000 was lost, and at least 10, on an interface with
at least 1 % of the packets of the node's busiest one. An interface always
drops a few packets, of protocols that it does not know; these are fewer.

Its cost: not estimated, because it is not known which messages waited.

It is wrong if: the lost packets did not belong to the program, but to
protocols that this node does not know.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The interface that lost most."""
    last = _lost(evidence)
    if not len(last):
        return []
    row = last.row(0, named=True)
    return [
        Finding(
            name=NAME,
            sentence=f"packets were lost, or had errors: {count_text(int(row['lost']))} at {row['interface']} of "
            f"{row['host']}, of {count_text(int(row['packets']))}"
            + (f"; the same on {counted(len(last) - 1, 'more interface')}" if len(last) > 1 else ""),
            evidence=[],
            ranks=[],
            cost_s=None,
            estimate="which messages waited for it is not known",
            do="see which count grows: `ip -s -s link`, `ethtool -S`",
            command=None,
            confidence="medium",
            refuted_by="the packets were of other programs, or of protocols that the node does not know",
        )
    ]


def _lost(evidence: Evidence) -> pl.DataFrame:
    """host, interface, lost, packets; the most first."""
    interfaces = (
        evidence.recording.table("interface_samples")
        .group_by("host", "interface", maintain_order=True)
        .agg(pl.col(*_LOST, "rx_packets", "tx_packets").drop_nulls().last())
        .select(
            "host",
            "interface",
            lost=pl.sum_horizontal(*_LOST, ignore_nulls=False).cast(pl.Float64),
            packets=(pl.col("rx_packets") + pl.col("tx_packets")).cast(pl.Float64),
        )
    )
    counter, count = pl.col("counter"), pl.col("count").cast(pl.Float64)
    ports = (
        evidence.recording.table("port_counters")
        .group_by("host", "device", "port", maintain_order=True)
        .agg(
            lost=count.filter(counter.str.contains("error|discard|dropped")).sum(),
            packets=count.filter(counter.is_in(["port_rcv_packets", "port_xmit_packets"])).sum(),
        )
        .select("host", pl.col("device").alias("interface"), "lost", "packets")
    )
    main = pl.col("packets") >= _LEAST_OF_NODE * pl.col("packets").max().over("host")
    return (
        pl.concat([interfaces, ports], how="vertical_relaxed")
        .drop_nulls()
        .filter(main)
        .filter((pl.col("lost") >= _LEAST) & (pl.col("lost") >= _LEAST_SHARE * pl.col("packets")))
        .sort("lost", descending=True)
    )
