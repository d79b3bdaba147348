# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a core, and waiting for other ranks told apart from transferring: where a rank's time went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.recording import Recording
from rankwise.recording.traces.clocks import HostClock
from rankwise.report import data

_PARTS = ("core", "waiting", "transfer")


@dataclass(frozen=True)
class CoreParts:
    """A rank's time in four parts that make the whole; all `None` if one is not known.

    Attributes:
        wait_s: It waited for a core.
        mpi_s: Inside MPI on a core, at least.
        compute_s: Outside of MPI on a core, at least.
        unattributed_s: On a core, inside MPI or outside.
    """

    wait_s: float | None = None
    mpi_s: float | None = None
    compute_s: float | None = None
    unattributed_s: float | None = None

    @classmethod
    def of(cls, time_s: float, mpi_s: float | None, wait_s: float | None) -> CoreParts:
        """Of a rank that was inside MPI for `mpi_s` of `time_s`, and waited for a core for `wait_s`, somewhere."""
        if wait_s is None:
            return cls()
        wait_s = min(wait_s, time_s)
        if mpi_s is None:
            return cls(wait_s)
        mpi_s = min(mpi_s, time_s)
        mpi_least_s, compute_least_s = max(mpi_s - wait_s, 0.0), max(time_s - mpi_s - wait_s, 0.0)
        rest_s = max(time_s - wait_s - mpi_least_s - compute_least_s, 0.0)
        return cls(wait_s, mpi_least_s, compute_least_s, rest_s)


def core_parts(recording: Recording) -> list[CoreParts]:
    """By rank, in the order of the table `ranks`."""
    rows = recording.ranks.select("time_s", "mpi_s", "runqueue_wait_s").iter_rows()
    return [CoreParts.of(*row) for row in rows]


@dataclass(frozen=True)
class SplitWaits:
    """Waiting by rank and call, or why it is not known.

    Attributes:
        waits: As `Recording.waits`, of functions whose calls are long enough for what is known of the clocks.
        unsplit: The other ones.
        clocks: Of the hosts.
        clocks_s: How far they may be apart.
        why_not: Why there is nothing; `None` if there is.
    """

    waits: pl.DataFrame | None
    unsplit: pl.DataFrame | None
    clocks: list[HostClock]
    clocks_s: float
    why_not: str | None


def split_waits(recording: Recording) -> SplitWaits | None:
    """What the trace tells; `None` without one."""
    if not recording.context["trace"]["bytes"]:
        return None
    try:
        found, clocks = recording.waits(), recording.clocks()
    except RankwiseError as error:
        why = f"{error.message}; {error.hint}" if error.hint else error.message
        return SplitWaits(None, None, [], 0.0, why)
    # A split that the clocks may shift by more than half of a call says nothing.
    clocks_s = max((max(clock.bound_s, clock.spread_s) for clock in clocks), default=0.0)
    clear = pl.col("time_s").sum().over("call") >= 2 * clocks_s * pl.col("count").sum().over("call")
    return SplitWaits(found.filter(clear), found.filter(~clear), clocks, clocks_s, None)


def waiting(split: SplitWaits | None) -> data.Waiting | None:
    """By MPI function, and the clocks' bounds; `None` for a recording without a trace."""
    if split is None or split.waits is None or split.unsplit is None:
        return None if split is None else data.Waiting([], [], [], split.why_not)
    bounds = [f"{part}_{bound}_s" for part in _PARTS for bound in ("least", "most")]
    by_call = (
        split.waits.sort("waiting_s", "rank", descending=[True, False])
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
    unsplit = (
        split.unsplit.group_by("call")
        .agg(pl.col("count", "time_s").sum(), clocks_s=pl.lit(split.clocks_s))
        .sort(["time_s", "call"], descending=[True, False])
    )
    return data.Waiting(
        calls=[_call(row) for row in by_call.iter_rows(named=True)],
        unsplit=[data.UnsplitCall(**row) for row in unsplit.iter_rows(named=True)],
        clocks=[data.Clock(c.host, c.offset_s, c.bound_s, c.spread_s) for c in split.clocks],
        why_not=None,
    )


def time_parts(
    recording: Recording, parts: list[CoreParts], split: SplitWaits | None
) -> data.TimeParts | None:
    """Each rank's time in parts that make the whole; `None` if calls were not timed.

    Args:
        recording: The run.
        parts: Of `core_parts`.
        split: Of `split_waits`.
    """
    ranks = recording.ranks
    if ranks["mpi_s"].null_count() or ranks["compute_s"].null_count():
        return None
    mpi_s, compute_s = ranks["mpi_s"].to_numpy(), ranks["compute_s"].to_numpy()
    columns = np.zeros((6, len(ranks)))
    for at, part in enumerate(parts):
        if part.mpi_s is None:
            columns[:, at] = compute_s[at], 0, 0, 0, mpi_s[at], 0
        else:
            columns[:, at] = part.compute_s, part.wait_s, 0, 0, part.mpi_s, part.unattributed_s
    why_not: str | None = data.WITH_TRACE
    if split is not None:
        why_not = split.why_not
    if split is not None and split.waits is not None:
        if split.waits.is_empty():
            why_not = "no call that can wait for others is long enough for what is known of the clocks"
        place = {rank: at for at, rank in enumerate(ranks["rank"])}
        for rank, call_s, waiting_s in split.waits.select("rank", "time_s", "waiting_s").iter_rows():
            at = place[rank]
            scale = columns[4, at] / max(mpi_s[at], call_s) if mpi_s[at] > 0 else 0.0
            columns[2, at] += waiting_s * scale
            columns[3, at] += (call_s - waiting_s) * scale
        columns[4] = np.maximum(columns[4] - columns[2] - columns[3], 0.0)
    computation_s, core_s, waiting_s, transfer_s, other_mpi_s, unattributed_s = columns.tolist()
    return data.TimeParts(computation_s, core_s, waiting_s, transfer_s, other_mpi_s, unattributed_s, why_not)


def _call(row: dict[str, Any]) -> data.WaitingCall:
    for part in _PARTS:
        least_s, most_s = row.pop(f"{part}_least_s"), row.pop(f"{part}_most_s")
        row[part] = None if least_s is None else data.Bounds(least_s, most_s)
    return data.WaitingCall(**row)
