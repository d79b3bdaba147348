# SPDX-License-Identifier: BSD-3-Clause
"""Who waits for whom."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankwise.recording import Recording
from rankwise.recording.raw import CALL_NAMES
from rankwise.report.communication.messages import clear_calls
from rankwise.report.data.communication import PairWaits, WorstPair
from rankwise.report.hosts import host_of_ranks
from rankwise.report.matrix import MOST_PAIRS, group_of, members_by_node
from rankwise.report.waiting import SplitWaits

_WORST = 16


def pair_waits(recording: Recording, split: SplitWaits | None) -> PairWaits | None:
    """Each rank's waiting by whom it waited for; `None` where waiting is not told apart.

    Args:
        recording: The run.
        split: Of `split_waits`.
    """
    if split is None or split.waits is None:
        return None
    timeline = recording.timeline()
    clear = clear_calls(split)
    is_clear = np.array([name in clear for name in CALL_NAMES])
    found = []
    for rank, (events, own) in enumerate(zip(timeline.ranks, timeline.waited, strict=True)):
        waited_s = split.waited_s(rank, own)
        rows = np.flatnonzero(waited_s > 0)
        rows = rows[is_clear[events.columns["kind"][rows]]]
        found.append(
            pl.DataFrame(
                {
                    "waiting": np.full(len(rows), rank, np.int64),
                    "late": own.late[rows],
                    "call": events.columns["kind"][rows].astype(np.int64),
                    "waited_s": waited_s[rows],
                }
            )
        )
    by_call = (
        pl.concat(found)
        .group_by("waiting", "late", "call")
        .agg(pl.col("waited_s").sum(), pl.len().cast(pl.Int64).alias("calls"))
    )
    longest = by_call.sort("waited_s", "call", descending=[True, False])
    pairs = (
        longest.group_by("waiting", "late", maintain_order=True)
        .agg(
            pl.col("waited_s", "calls").sum(),
            pl.col("call").first(),
            pl.col("waited_s").first().alias("call_s"),
        )
        .sort("waited_s", "waiting", "late", descending=[True, False, False])
    )
    late = (
        pairs.group_by("late")
        .agg(pl.col("waited_s").sum())
        .sort("waited_s", "late", descending=[True, False])
    )
    members = [] if len(pairs) <= MOST_PAIRS else members_by_node(host_of_ranks(recording))
    of = group_of(members, recording.world_size) if members else np.arange(recording.world_size)
    grouped = (
        pairs.with_columns(pl.Series(of[pairs[name].to_numpy()]).alias(name) for name in ("waiting", "late"))
        .group_by("waiting", "late")
        .agg(pl.col("waited_s", "calls").sum())
        .sort("waiting", "late")
    )
    return PairWaits(
        ranks_per_group=max(map(len, members), default=1),
        members=members,
        **{name: grouped[name].to_list() for name in ("waiting", "late", "waited_s", "calls")},
        worst=[
            WorstPair(**row | {"call": str(CALL_NAMES[row["call"]])})
            for row in pairs.head(_WORST).iter_rows(named=True)
        ],
        most_late=list(late.head(_WORST).iter_rows()),
    )
