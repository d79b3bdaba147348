# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a core, and waiting for other ranks told apart from transferring: where a rank's time went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.findings.efficiency import Computation
from rankwise.recording import Recording
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES
from rankwise.recording.traces.clocks import HostClock
from rankwise.recording.traces.waits import CoreShares, Timeline, Waited, core_shares
from rankwise.report import data

_LEAST_OF_MPI = 0.01
_SENDS = "they waited for no receive, and then the library chooses when a send ends"
_WHY_NOT_SPLIT = dict.fromkeys(("send", "isend", "complete"), _SENDS) | {
    "collective": "they waited for no root, and ranks may leave it before all others have come"
}
_NOT_IN_TRACE = "what they wait for is not in the trace"
_PARTS = ("core", "waiting", "transfer")


@dataclass(frozen=True)
class CoreParts:
    """A rank's time in four parts that make the whole; all `None` if one is not known.

    Attributes:
        wait_s: It waited for a core.
        mpi_s: Inside MPI on a core; at least, where there is an unattributed part.
        compute_s: Outside of MPI on a core; likewise.
        unattributed_s: On a core, inside MPI or outside.
    """

    wait_s: float | None = None
    mpi_s: float | None = None
    compute_s: float | None = None
    unattributed_s: float | None = None

    @classmethod
    def of(
        cls,
        time_s: float,
        mpi_s: float | None,
        wait_s: float | None,
        between_s: tuple[float, float] | None = None,
    ) -> CoreParts:
        """Of a rank that was inside MPI for `mpi_s` of `time_s`, and waited for a core for `wait_s`, somewhere.

        Args:
            time_s: From MPI_Init to MPI_Finalize.
            mpi_s: Of that in MPI; `None` if it was not timed.
            wait_s: Of that waiting for a core; `None` if it was not sampled.
            between_s: What it computed, at least and at most; where it is not given, what follows from the others.
        """
        if wait_s is None:
            return cls()
        wait_s = min(wait_s, time_s)
        if mpi_s is None:
            return cls(wait_s)
        mpi_s = min(mpi_s, time_s)
        if between_s is None:
            between_s = (max(time_s - mpi_s - wait_s, 0.0), min(time_s - mpi_s, time_s - wait_s))
        least_s, most_s = (min(each, time_s - wait_s) for each in between_s)
        return cls(wait_s, max(time_s - wait_s - most_s, 0.0), least_s, max(most_s - least_s, 0.0))


def core_parts(recording: Recording, computed: Computation | None) -> list[CoreParts]:
    """By rank, in the order of the table `ranks`.

    Args:
        recording: The run.
        computed: What its ranks computed.
    """
    rows = recording.ranks.select("rank", "time_s", "mpi_s", "runqueue_wait_s").iter_rows()
    if computed is None:
        return [CoreParts.of(time_s, mpi_s, wait_s) for _, time_s, mpi_s, wait_s in rows]
    order = sorted(recording.ranks["rank"].to_list())
    bounds = dict(
        zip(order, zip(computed.least_s.tolist(), computed.most_s.tolist(), strict=True), strict=True)
    )
    return [CoreParts.of(time_s, mpi_s, wait_s, bounds[rank]) for rank, time_s, mpi_s, wait_s in rows]


@dataclass(frozen=True)
class SplitWaits:
    """Waiting by rank and call, or why it is not known.

    Attributes:
        waits: As `Recording.waits`, of functions whose calls are long enough for what is known of the clocks; with
            waiting_core_s and transfer_core_s, what of waiting and transfer was waiting for a core (`CoreShares`).
        unsplit: The other ones.
        clocks: Of the hosts.
        clocks_s: How far they may be apart.
        why_not: Why there is nothing; `None` if there is.
        shares: By rank, where it waited for a core; `None` where that was not sampled.
    """

    waits: pl.DataFrame | None
    unsplit: pl.DataFrame | None
    clocks: list[HostClock]
    clocks_s: float
    why_not: str | None
    shares: list[CoreShares | None]

    def waited_s(self, rank: int, own: Waited) -> np.ndarray:
        """By event of a rank, how long it waited for other ranks, without waiting for a core."""
        share = self.shares[rank]
        return own.waited_s if share is None else own.waited_s - share.waiting_s


def split_waits(recording: Recording, computed: Computation | None) -> SplitWaits | None:
    """What the trace tells; `None` without one.

    Args:
        recording: The run.
        computed: What its ranks computed.
    """
    if not recording.context["trace"]["bytes"]:
        return None
    try:
        found, clocks = recording.waits(), recording.clocks()
    except RankwiseError as error:
        why = f"{error.message}; {error.hint}" if error.hint else error.message
        return SplitWaits(None, None, [], 0.0, why, [])
    timeline = recording.timeline()
    by_rank = [None] * len(timeline.ranks) if computed is None else computed.seconds.tolist()
    shares = [core_shares(*each) for each in zip(timeline.ranks, timeline.waited, by_rank, strict=True)]
    found = found.join(_core_shares(timeline, shares), on=["rank", "call"], how="left", maintain_order="left")
    # A split that the clocks may shift by more than half of a call says nothing.
    clocks_s = max((max(clock.bound_s, clock.spread_s) for clock in clocks), default=0.0)
    clear = pl.col("time_s").sum().over("call") >= 2 * clocks_s * pl.col("count").sum().over("call")
    return SplitWaits(found.filter(clear), found.filter(~clear), clocks, clocks_s, None, shares)


def _core_shares(timeline: Timeline, shares: list[CoreShares | None]) -> pl.DataFrame:
    """By rank and call, what of waiting and transfer was waiting for a core."""
    rows = []
    for rank, (events, own, share) in enumerate(zip(timeline.ranks, timeline.waited, shares, strict=True)):
        kinds = np.where(own.concerned, events.columns["kind"], len(CALL_NAMES))
        nothing = np.zeros(len(kinds))
        parts = (nothing, nothing) if share is None else (share.waiting_s, share.transfer_s)
        sums = [np.bincount(kinds, weights=part_s, minlength=len(CALL_NAMES) + 1) for part_s in parts]
        rows += [
            (rank, str(CALL_NAMES[kind]), *(float(each[kind]) for each in sums))
            for kind in np.unique(kinds[own.concerned])
        ]
    return pl.DataFrame(
        rows,
        schema={
            "rank": pl.Int64,
            "call": pl.String,
            "waiting_core_s": pl.Float64,
            "transfer_core_s": pl.Float64,
        },
        orient="row",
    )


def waiting(recording: Recording, split: SplitWaits | None) -> data.Waiting | None:
    """By MPI function, and the clocks' bounds; `None` for a recording without a trace.

    Args:
        recording: The run.
        split: Of `split_waits`.
    """
    if split is None or split.waits is None or split.unsplit is None:
        return None if split is None else data.Waiting([], [], [], split.why_not)
    bounds = [f"{part}_{bound}_s" for part in _PARTS for bound in ("least", "most")]
    by_call = (
        split.waits.with_columns(
            waiting_s=pl.col("waiting_s") - pl.col("waiting_core_s"),
            core_s=pl.col("waiting_core_s") + pl.col("transfer_core_s"),
        )
        .sort("waiting_s", "rank", descending=[True, False])
        .group_by("call", maintain_order=True)
        .agg(
            pl.col("count", "time_s", "waiting_s", "core_s").sum(),
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
        not_split=list(_not_split(recording, pl.concat([split.waits, split.unsplit]))),
    )


def _not_split(recording: Recording, split: pl.DataFrame) -> Iterator[data.NotSplit]:
    """Functions with time in calls that are not among those that can wait for others in a way that is known."""
    calls, known = (each.group_by("call").agg(pl.col("time_s").sum()) for each in (recording.calls, split))
    rest = calls.join(known, on="call", how="left", suffix="_known").select(
        "call", time_s=pl.col("time_s") - pl.col("time_s_known").fill_null(0.0)
    )
    whole_s = float(recording.ranks["mpi_s"].sum() or 0.0)
    for call, time_s in rest.sort("time_s", "call", descending=[True, False]).iter_rows():
        kind = str(CALL_CLASSES[CALL_NAMES.tolist().index(call)])
        if time_s >= _LEAST_OF_MPI * whole_s and kind not in ("init", "finalize"):
            yield data.NotSplit(call, time_s, _WHY_NOT_SPLIT.get(kind, _NOT_IN_TRACE))


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
        names = ("rank", "time_s", "waiting_s", "waiting_core_s", "transfer_core_s")
        for rank, call_s, waiting_s, of_waiting_s, of_transfer_s in split.waits.select(names).iter_rows():
            columns[2:4, place[rank]] += waiting_s - of_waiting_s, call_s - waiting_s - of_transfer_s
        # Calls that were asked for again and again last longer than the time in MPI.
        split_s = columns[2] + columns[3]
        columns[2:4] *= np.minimum(
            1.0, np.divide(columns[4], split_s, out=np.ones_like(split_s), where=split_s > 0)
        )
        columns[4] = np.maximum(columns[4] - columns[2] - columns[3], 0.0)
    computation_s, core_s, waiting_s, transfer_s, other_mpi_s, unattributed_s = columns.tolist()
    return data.TimeParts(computation_s, core_s, waiting_s, transfer_s, other_mpi_s, unattributed_s, why_not)


def _call(row: dict[str, Any]) -> data.WaitingCall:
    for part in _PARTS:
        least_s, most_s = row.pop(f"{part}_least_s"), row.pop(f"{part}_most_s")
        row[part] = None if least_s is None else data.Bounds(least_s, most_s)
    return data.WaitingCall(**row)
