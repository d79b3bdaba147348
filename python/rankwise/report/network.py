# SPDX-License-Identifier: BSD-3-Clause
"""Network time by rank, and between nodes."""

from __future__ import annotations

import polars as pl

from rankwise.recording import Recording
from rankwise.report.data import Network, NetworkOfRank, NetworkPair

_TOTALS = ("calls", "bytes", "time_s")


def network(recording: Recording) -> Network:
    """What ranks spent in socket calls; sums over threads, inside MPI and outside."""
    table, about = recording.network_time, recording.context["network"]
    hosts = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    by_rank = _wide(table, ["rank"])
    own = recording.ranks.select("rank", pl.col("host").alias("own"))
    between = _wide(table.filter(pl.col("kind") != "wait").join(own, on="rank"), ["own", "node", "address"])
    pairs = [
        NetworkPair(
            host=hosts[row["own"]],
            peer_host=hosts.get(row["node"]),
            address=row["address"] if row["node"] is None else None,
            **{name: row[name] for name in _names("send", "receive")},
        )
        for row in _merged(between).iter_rows(named=True)
    ]
    return Network(
        why_not=about["why"],
        ranks=[
            NetworkOfRank(
                rank=row["rank"],
                **{f"{kind}_s": row[f"{kind}_time_s"] for kind in ("send", "receive", "progress", "wait")},
                sent_bytes=row["send_bytes"],
                received_bytes=row["receive_bytes"],
            )
            for row in by_rank.iter_rows(named=True)
        ],
        pairs=pairs,
        outside_mpi_s=float(table.filter(~pl.col("inside_mpi") & (pl.col("kind") != "wait"))["time_s"].sum()),
    )


def _names(*kinds: str) -> list[str]:
    return [f"{kind}_{total}" for kind in kinds for total in _TOTALS]


def _wide(table: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """A row for each key, with the totals of each kind as columns."""
    kinds = ("send", "receive", "progress", "wait")
    return (
        table.group_by(key)
        .agg(
            pl.col(total).filter(pl.col("kind") == kind).sum().alias(f"{kind}_{total}")
            for kind in kinds
            for total in _TOTALS
        )
        .sort(key, nulls_last=True)
    )


def _merged(between: pl.DataFrame) -> pl.DataFrame:
    """Addresses of one node as one row; those of nobody each for itself; without rows in which nothing moved."""
    address = pl.when(pl.col("node").is_null()).then(pl.col("address"))
    summed = between.group_by("own", "node", address.alias("address")).agg(
        pl.col(_names("send", "receive", "progress", "wait")).sum()
    )
    time = pl.col("send_time_s") + pl.col("receive_time_s")
    moved = pl.col("send_calls") + pl.col("receive_calls") > 0
    return summed.filter(moved).sort(
        [time, "own", "node", "address"], descending=[True, False, False, False], nulls_last=True
    )
