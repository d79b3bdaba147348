# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring, for the report."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.recording import Recording
from rankwise.report import data

_PARTS = ("core", "waiting", "transfer")


def waiting(recording: Recording) -> data.Waiting | None:
    """By MPI function, and the clocks' bounds; `None` for a recording without a trace."""
    if not recording.context["trace"]["bytes"]:
        return None
    try:
        found, clocks = recording.waits(), recording.clocks()
    except RankwiseError as error:
        return data.Waiting([], [], [], f"{error.message}; {error.hint}" if error.hint else error.message)
    bounds = [f"{part}_{bound}_s" for part in _PARTS for bound in ("least", "most")]
    by_call = (
        found.sort("waiting_s", "rank", descending=[True, False])
        .group_by("call", maintain_order=True)
        .agg(
            pl.col("count", "time_s", "waiting_s").sum(),
            *(
                pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)
                for name in bounds
            ),
            pl.col("waiting_s").first().alias("most_s"),
            pl.col("rank").first().alias("most_rank"),
        )
        .sort(["time_s", "call"], descending=[True, False])
    )
    # A split that the clocks may shift by more than half of a call says nothing.
    clocks_s = max((max(clock.bound_s, clock.spread_s) for clock in clocks), default=0.0)
    clear = pl.col("time_s") >= 2 * clocks_s * pl.col("count")
    unsplit = by_call.filter(~clear).select("call", "count", "time_s", clocks_s=pl.lit(clocks_s))
    return data.Waiting(
        calls=[_call(row) for row in by_call.filter(clear).iter_rows(named=True)],
        unsplit=[data.UnsplitCall(**row) for row in unsplit.iter_rows(named=True)],
        clocks=[data.Clock(c.host, c.offset_s, c.bound_s, c.spread_s) for c in clocks],
        why_not=None,
    )


def _call(row: dict[str, Any]) -> data.WaitingCall:
    for part in _PARTS:
        least_s, most_s = row.pop(f"{part}_least_s"), row.pop(f"{part}_most_s")
        row[part] = None if least_s is None else data.Bounds(least_s, most_s)
    return data.WaitingCall(**row)
