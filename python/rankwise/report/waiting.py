# SPDX-License-Identifier: BSD-3-Clause
"""Waiting told apart from transferring, for the report."""

from __future__ import annotations

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.recording import Recording
from rankwise.report import data


def waiting(recording: Recording) -> data.Waiting | None:
    """By MPI function, and the clocks' bounds; `None` for a recording without a trace."""
    if not recording.context["trace"]["bytes"]:
        return None
    try:
        found, clocks = recording.waits(), recording.clocks()
    except RankwiseError as error:
        return data.Waiting([], [], f"{error.message}; {error.hint}" if error.hint else error.message)
    by_call = (
        found.sort("waiting_s", "rank", descending=[True, False])
        .group_by("call", maintain_order=True)
        .agg(
            pl.col("time_s").sum(),
            pl.col("waiting_s").sum(),
            pl.col("waiting_s").first().alias("most_s"),
            pl.col("rank").first().alias("most_rank"),
        )
        .sort(["time_s", "call"], descending=[True, False])
    )
    return data.Waiting(
        calls=[data.WaitingCall(**row) for row in by_call.iter_rows(named=True)],
        clocks=[data.Clock(c.host, c.offset_s, c.bound_s, c.spread_s) for c in clocks],
        why_not=None,
    )
