# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of a run that are compared: time, efficiencies, waiting, calls, messages, counters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.placement.distribution import matrix_of, message_distribution
from rankwise.recording import Recording
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES

Unit = Literal["s", "share", "", "bytes"]

RUN_TIME = ("time", "run time")
_OUTSIDE = [
    str(name) for name, kind in zip(CALL_NAMES, CALL_CLASSES, strict=True) if kind in ("init", "finalize")
]
_USE = {
    "user_s": ("processor time in the program", "s"),
    "system_s": ("processor time in the kernel", "s"),
    "involuntary_switches": ("involuntary switches", ""),
    "migrations": ("migrations", ""),
    "major_faults": ("major page faults", ""),
    "minor_faults": ("minor page faults", ""),
}


class Number(NamedTuple):
    """A number of one run.

    Attributes:
        of: What it belongs to.
        what: Its name.
        unit: Seconds, a share of 1, a count, or bytes.
        value: Of the run.
    """

    of: str
    what: str
    unit: Unit
    value: float

    @property
    def key(self) -> tuple[str, str]:
        """What tells it apart."""
        return self.of, self.what


def numbers(evidence: Evidence) -> dict[tuple[str, str], Number]:
    """All that the recording knows, in the order in which they are shown."""
    parts = (_times, _efficiencies, _waiting, _calls, _messages, _channels, _counters)
    return {number.key: number for part in parts for number in part(evidence)}


def _times(evidence: Evidence) -> Iterator[Number]:
    ranks = evidence.recording.ranks
    yield Number(*RUN_TIME, "s", evidence.elapsed_s)
    for what, column in (("outside MPI, mean rank", "compute_s"), ("in MPI, mean rank", "mpi_s")):
        if len(ranks) and not ranks[column].null_count():
            yield Number("time", what, "s", float(ranks[column].to_numpy().mean()))


def _efficiencies(evidence: Evidence) -> Iterator[Number]:
    found = evidence.efficiency
    for what in ("parallel", "load_balance", "communication", "serialisation", "transfer"):
        value = None if found is None else getattr(found, what)
        if value is not None:
            yield Number("efficiency", what.replace("_", " "), "share", value)


def _waiting(evidence: Evidence) -> Iterator[Number]:
    if evidence.core_waiting is not None:
        yield Number("waiting", "waiting for a core, share of time", "share", evidence.core_waiting)
    try:
        waits = evidence.waits
    except RankwiseError:
        return
    yield Number(
        "waiting",
        "waiting for other ranks, mean rank",
        "s",
        float(waits["waiting_s"].sum()) / _ranks(evidence.recording),
    )


def _calls(evidence: Evidence) -> Iterator[Number]:
    calls = evidence.recording.calls.filter(~pl.col("call").is_in(_OUTSIDE))
    summed = calls.group_by("call").agg(
        pl.col("count").sum(),
        pl.when(pl.col("time_s").null_count() == 0).then(pl.col("time_s").sum()).alias("time_s"),
    )
    ranks = _ranks(evidence.recording)
    for row in summed.sort("time_s", "call", descending=[True, False], nulls_last=True).iter_rows(named=True):
        if row["time_s"] is not None:
            yield Number("calls", f"{row['call']}, mean rank", "s", row["time_s"] / ranks)
        yield Number("calls", f"{row['call']} calls", "", row["count"])


def _messages(evidence: Evidence) -> Iterator[Number]:
    messages = evidence.recording.messages
    yield Number("messages", "messages", "", float(messages["messages"].sum()))
    yield Number("messages", "bytes", "bytes", float(messages["bytes"].sum()))


def _channels(evidence: Evidence) -> Iterator[Number]:
    recording = evidence.recording
    placement, topology = recording.placement, recording.topology
    if placement is None or topology is None:
        return
    found = message_distribution(matrix_of(recording.messages), placement.locations(topology))
    for share in found.total.channels:
        if share.part_of is None and share.message_share_of_all is not None:
            yield Number("placement", f"messages {share.name}", "share", share.message_share_of_all)
            if share.byte_share_of_all is not None:
                yield Number("placement", f"bytes {share.name}", "share", share.byte_share_of_all)


def _counters(evidence: Evidence) -> Iterator[Number]:
    use = evidence.recording.table("rank_use")
    for column, (what, unit) in _USE.items():
        if len(use) == evidence.recording.world_size and not use[column].null_count():
            yield Number("counters", what, unit, float(use[column].to_numpy().sum()))  # type: ignore[arg-type]
    for counter, value in counted(evidence.recording).items():
        yield Number("counters", counter, "", value)


def counted(recording: Recording) -> dict[str, float]:
    """Sum over all ranks of each hardware counter that all of them have."""
    table = recording.table("rank_counters").drop_nulls("count")
    summed = table.group_by("counter", maintain_order=True).agg(
        pl.col("count").sum(), pl.len().alias("ranks")
    )
    return {name: count for name, count, ranks in summed.iter_rows() if ranks == recording.world_size}


def _ranks(recording: Recording) -> int:
    return max(len(np.unique(recording.ranks["rank"].to_numpy())), 1)
