# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations as themselves, with the algorithm that their messages follow."""

from __future__ import annotations

import polars as pl

from rankwise.recording import Recording
from rankwise.report.data import Collective


def collectives(recording: Recording, time_s: float) -> list[Collective]:
    """One row for each call and algorithm, the most time first.

    Args:
        recording: The run.
        time_s: Time of all ranks, for the shares.
    """
    sizes = recording.communicators.select("communicator", "size")
    summed = (
        recording.collectives.join(sizes, on="communicator", how="left")
        .group_by("call", "algorithm")
        .agg(
            pl.col("count").sum(),
            pl.when(pl.col("time_s").null_count() == 0).then(pl.col("time_s").sum()).alias("time_s"),
            pl.col("size").min().alias("ranks_min"),
            pl.col("size").max().alias("ranks_max"),
            pl.col("bytes").min().alias("bytes_min"),
            pl.col("bytes").max().alias("bytes_max"),
        )
    )
    sent = (
        recording.messages.filter(pl.col("collective"))
        .group_by("call", "algorithm")
        .agg(pl.col("messages", "bytes").sum())
    )
    joined = summed.join(sent, on=["call", "algorithm"], how="left", nulls_equal=True)
    ordered = joined.sort(["time_s", "call", "algorithm"], descending=[True, False, False])
    return [
        Collective(
            call=row["call"],
            algorithm=row["algorithm"],
            calls=row["count"],
            ranks_min=row["ranks_min"],
            ranks_max=row["ranks_max"],
            bytes_min=row["bytes_min"],
            bytes_max=row["bytes_max"],
            time_s=row["time_s"],
            share=row["time_s"] / time_s if row["time_s"] is not None and time_s > 0 else None,
            messages=row["messages"] or 0,
            bytes=row["bytes"] or 0,
        )
        for row in ordered.iter_rows(named=True)
    ]
