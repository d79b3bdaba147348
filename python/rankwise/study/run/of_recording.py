# SPDX-License-Identifier: BSD-3-Clause
"""What a recording of a case says of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec
import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.placement.distribution import matrix_of, message_distribution
from rankwise.recording.recording import Recording
from rankwise.study.cases import Outcome

# In these a rank waits for others; the rest of MPI is taken for sending, as mpiP's split in the papers.
_WAITING = (
    "MPI_Wait",
    "MPI_Recv",
    "MPI_Probe",
    "MPI_Mprobe",
    "MPI_Mrecv",
    "MPI_Test",
    "MPI_Iprobe",
    "MPI_Barrier",
)
# The recorder's names, the papers' counters first.
_MISSES = ("l2-misses", "cache-misses")
_STALLS = ("resource-stalls", "stalled-cycles-backend", "stalled-cycles-frontend")


def outcome_of(recording: Recording, time_s: float) -> Outcome:
    """One run."""
    ranks = recording.ranks.sort("rank")
    waiting = dict(
        recording.calls.filter(pl.col("call").str.contains("^(" + "|".join(_WAITING) + ")"))
        .group_by("rank")
        .agg(pl.col("time_s").sum())
        .iter_rows()
    )
    in_mpi, computed = ranks["mpi_s"].fill_null(0.0).to_list(), ranks["compute_s"].fill_null(0.0).to_list()
    waits = [
        min(waiting.get(rank) or 0.0, mpi) for rank, mpi in zip(ranks["rank"].to_list(), in_mpi, strict=True)
    ]
    network_s, messages, size, why = _network(recording)
    counters, missing = _counters(recording)
    return Outcome(
        time_s=time_s,
        computation_s=computed,
        waiting_s=waits,
        sending_s=[mpi - wait for mpi, wait in zip(in_mpi, waits, strict=True)],
        network_messages=messages,
        network_bytes=size,
        network_s=network_s,
        cache_misses=counters.get("misses"),
        stalls=counters.get("stalls"),
        interrupts=_interrupts(recording),
        why_not="; ".join(filter(None, [why, missing])),
    )


def of_several(outcomes: Sequence[Outcome]) -> Outcome:
    """Several runs of one case: that of the median time, with the lowest and the highest."""
    times = [outcome.time_s for outcome in outcomes]
    middle = min(outcomes, key=lambda outcome: abs(outcome.time_s - median(times)))
    return msgspec.structs.replace(
        middle, time_s=median(times), low_s=min(times), high_s=max(times), runs=len(outcomes)
    )


def _network(recording: Recording) -> tuple[float | None, int, int, str]:
    """Time in the transport's calls, messages and bytes between nodes, and why the first is not known."""
    table = recording.network_time
    time_s = float(table["time_s"].sum()) if len(table) else None
    why = "" if len(table) else "network time: the recorder did not see the transport's calls"
    topology, placement = recording.topology, recording.placement
    if topology is None or placement is None:
        return time_s, 0, 0, why
    found = message_distribution(matrix_of(recording.messages), placement.locations(topology)).total
    network = next((each for each in found.channels if each.channel == NETWORK), None)
    return time_s, network.messages if network else 0, network.bytes if network else 0, why


def _counters(recording: Recording) -> tuple[dict[str, float], str]:
    """Cache misses and stalled cycles of all ranks, as far as they were counted, and why the others were not."""
    counts = (
        recording.table("rank_counters").drop_nulls("count").group_by("counter").agg(pl.col("count").sum())
    )
    by_name: dict[str, float] = dict(counts.iter_rows())
    found: dict[str, float] = {}
    for what, names in (("misses", _MISSES), ("stalls", _STALLS)):
        known = [by_name[name] for name in names if name in by_name]
        found |= {what: known[0]} if known else {}
    lacking = [
        words for words, what in (("cache misses", "misses"), ("stalls", "stalls")) if what not in found
    ]
    return found, f"{' and '.join(lacking)}: the kernel offers no such counter here" if lacking else ""


def _interrupts(recording: Recording) -> dict[str, float] | None:
    """Of the first node, by PU of the kernel's number."""
    table = recording.table("interrupts")
    if not len(table):
        return None
    first = table["host"][0]
    sums = table.filter(pl.col("host") == first).group_by("pu").agg(pl.col("count").sum()).sort("pu")
    return {str(pu): float(count) for pu, count in sums.iter_rows() if pu is not None}
