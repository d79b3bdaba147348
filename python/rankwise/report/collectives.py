# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations by the algorithm that their messages follow, and by the size of their arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl

from rankwise.findings.algorithm_settings import forced
from rankwise.recording import Recording
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES, CALL_NAMES
from rankwise.report.data import Collective, CollectiveSize

# Settings are of the blocking ones.
_BLOCKING = {
    name: operation
    for name, operation, kind in zip(
        CALL_NAMES.tolist(), CALL_COLLECTIVES.tolist(), CALL_CLASSES.tolist(), strict=True
    )
    if kind == "collective"
}
_KEY = ("call", "algorithm")


def collectives(recording: Recording, time_s: float, ranges: Sequence[int]) -> list[Collective]:
    """One row for each call and algorithm, the most time first.

    Args:
        recording: The run.
        time_s: Time of all ranks, for the shares.
        ranges: Upper ends of the size ranges.
    """
    calls = recording.collectives
    known = pl.when(pl.col("time_s").null_count() == 0).then(pl.col("time_s").sum()).alias("time_s")
    summed = (
        calls.join(recording.communicators.select("communicator", "size"), on="communicator", how="left")
        .group_by(_KEY)
        .agg(
            pl.col("count").sum(),
            known,
            pl.col("size").min().alias("ranks_min"),
            pl.col("size").max().alias("ranks_max"),
            pl.col("bytes").min().alias("bytes_min"),
            pl.col("bytes").max().alias("bytes_max"),
        )
    )
    sent = (
        recording.messages.filter(pl.col("collective")).group_by(_KEY).agg(pl.col("messages", "bytes").sum())
    )
    joined = summed.join(sent, on=_KEY, how="left", nulls_equal=True)
    ordered = joined.sort(["time_s", *_KEY], descending=[True, False, False])
    at = pl.Series("range", np.searchsorted(np.array(ranges, np.int64), calls["bytes"].to_numpy()))
    by_size = (
        calls.with_columns(at, (pl.col("bytes") * pl.col("count")).alias("bytes"))
        .group_by(*_KEY, "range")
        .agg(pl.col("count", "bytes").sum(), known)
        .sort("range")
    )

    def share(part: float | None) -> float | None:
        return part / time_s if part is not None and time_s > 0 else None

    ends = [None, *ranges, None]
    sizes: dict[tuple[str, str | None], list[CollectiveSize]] = defaultdict(list)
    for row in by_size.iter_rows(named=True):
        over, up_to = ends[row["range"]], ends[row["range"] + 1]
        sizes[row["call"], row["algorithm"]].append(
            CollectiveSize(over, up_to, row["count"], row["bytes"], row["time_s"], share(row["time_s"]))
        )
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
            share=share(row["time_s"]),
            messages=row["messages"] or 0,
            bytes=row["bytes"] or 0,
            sizes=sizes[row["call"], row["algorithm"]],
            setting=_setting(recording, row["call"]),
        )
        for row in ordered.iter_rows(named=True)
    ]


def _setting(recording: Recording, call: str) -> str | None:
    if call not in _BLOCKING:
        return None
    settings = (recording.context["run"] or {}).get("settings") or {}
    family = "openmpi" if recording.context["mpi"]["family"] == "openmpi" else "mpich"
    asked = forced(settings, family, _BLOCKING[call])
    return f"{asked.variable}={asked.value}" if asked else None
