# SPDX-License-Identifier: BSD-3-Clause
"""Network time by rank and transport, and between nodes."""

from __future__ import annotations

import polars as pl

from rankwise.recording import Recording
from rankwise.report.data.network import Network, NetworkOfRank, NetworkPair, PerformanceVariable

_KINDS = ("send", "receive", "progress", "wait")
_TOTALS = ("calls", "bytes", "time_s", "unsized")


def network(recording: Recording) -> Network:
    """What ranks spent in the transport's own calls; sums over threads, inside MPI and outside."""
    table, about = recording.network_time, recording.context["network"]
    hosts = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    own = recording.ranks.select("rank", pl.col("host").alias("own"))
    return Network(
        why_not=about["why"],
        ranks=[
            NetworkOfRank(
                rank=row["rank"],
                transport=row["transport"],
                **{f"{kind}_s": row[f"{kind}_time_s"] for kind in _KINDS},
                sent_bytes=_bytes(row, "send"),
                received_bytes=_bytes(row, "receive"),
            )
            for row in _wide(table, ["rank", "transport"]).iter_rows(named=True)
        ],
        pairs=[
            NetworkPair(
                transport=row["transport"],
                host=hosts[row["own"]],
                peer_host=hosts.get(row["node"]),
                address=row["address"],
                **{
                    f"{kind}_{total}": row[f"{kind}_{total}"]
                    for kind in ("send", "receive")
                    for total in ("calls", "time_s")
                },
                send_bytes=_bytes(row, "send"),
                receive_bytes=_bytes(row, "receive"),
            )
            for row in _pairs(table.join(own, on="rank")).iter_rows(named=True)
        ],
        outside_mpi_s=float(table.filter(~pl.col("inside_mpi") & (pl.col("kind") != "wait"))["time_s"].sum()),
        variables=_variables(recording.performance_variables),
    )


def _variables(table: pl.DataFrame) -> list[PerformanceVariable]:
    values = pl.col("value")
    of_all = table.group_by("variable", "class").agg(
        pl.len(), values.min().alias("least"), values.max().alias("most")
    )
    return [PerformanceVariable(*row) for row in of_all.sort("variable", "class").rows()]


def _bytes(row: dict[str, int], kind: str) -> int | None:
    return None if row[f"{kind}_unsized"] else row[f"{kind}_bytes"]


def _wide(table: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """A row for each key, with the totals of each kind as columns."""
    return (
        table.group_by(key)
        .agg(
            pl.col(total).filter(pl.col("kind") == kind).sum().alias(f"{kind}_{total}")
            for kind in _KINDS
            for total in _TOTALS
        )
        .sort(key, nulls_last=True)
    )


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    """Addresses of one node as one row; those of nobody each for itself; without rows in which nothing moved."""
    key = ["own", "node", "address", "transport"]
    address = pl.when(pl.col("node").is_null()).then(pl.col("address"))
    summed = _wide(table.with_columns(address.alias("address")), key)
    time = pl.col("send_time_s") + pl.col("receive_time_s")
    moved = pl.col("send_calls") + pl.col("receive_calls") > 0
    return summed.filter(moved).sort([time, *key], descending=[True] + [False] * len(key), nulls_last=True)
