# SPDX-License-Identifier: BSD-3-Clause
"""Calls by the place in the program they came from, all ranks together."""

from __future__ import annotations

from collections.abc import Container

import polars as pl

from rankwise.recording import Recording
from rankwise.report.data import CallSite

_PLACE = ("call", "module", "offset", "function", "symbol", "file", "line")


def call_sites(recording: Recording, time_s: float, outside: Container[str]) -> list[CallSite]:
    """The most time first, then the most calls; empty without `--callsites`.

    Args:
        recording: The run.
        time_s: Time of all ranks, for the shares.
        outside: Functions that are no part of that, so that their calls have no share.
    """
    times, sizes = pl.col("time_s"), pl.col("bytes")
    summed = (
        recording.call_sites.group_by(_PLACE)
        .agg(
            pl.col("count").sum(),
            pl.when(times.null_count() == 0).then(times.sum()).alias("time_s"),
            pl.when(sizes.null_count() == 0).then(sizes.sum()).alias("bytes"),
        )
        .sort(["time_s", "count", *_PLACE], descending=[True, True, *[False] * len(_PLACE)], nulls_last=True)
    )
    return [
        CallSite(
            **row,
            share=row["time_s"] / time_s
            if row["time_s"] is not None and time_s > 0 and row["call"] not in outside
            else None,
        )
        for row in summed.iter_rows(named=True)
    ]
