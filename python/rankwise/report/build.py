# SPDX-License-Identifier: BSD-3-Clause
"""Recording and placements -> the report's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import rankwise
from rankwise.findings.catalogue import findings_of
from rankwise.findings.data import Convention
from rankwise.findings.efficiency import of_recording
from rankwise.findings.evidence import Evidence
from rankwise.findings.on_machine import OnMachine
from rankwise.findings.pattern import pattern_of_recording
from rankwise.findings.transfer import transfer_split
from rankwise.placement.by_node import ranks_by_node
from rankwise.placement.distribution import CommMatrix, matrix_of, message_distribution
from rankwise.placement.distribution_data import DEFAULT_RANGES
from rankwise.recording import Recording
from rankwise.recording.ending import brief
from rankwise.report import data
from rankwise.report.call_sites import call_sites
from rankwise.report.collectives import collectives
from rankwise.report.communication.messages import clear_calls, timed_messages
from rankwise.report.communication.over_time import over_time
from rankwise.report.communication.parts import matrix_parts
from rankwise.report.communication.sizes import message_sizes
from rankwise.report.communication.waits import pair_waits
from rankwise.report.gaps import gaps, notes
from rankwise.report.hosts import host_of_ranks
from rankwise.report.map import node_map
from rankwise.report.matrix import detailed
from rankwise.report.network import network
from rankwise.report.placements import Placed, recorded_placement
from rankwise.report.predicted.predict import better_placement, predicted
from rankwise.report.tuning import tuning
from rankwise.report.use import use
from rankwise.report.waiting import CoreParts, core_parts, split_waits, time_parts, waiting

# A rank's time is from the end of the first to the start of the last.
_OUTSIDE = ("MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Session_finalize", "MPI_Finalize")


def build(
    recording: Recording,
    asked: Sequence[Placed] = (),
    ranges: Sequence[int] = DEFAULT_RANGES,
    on_machine: OnMachine | None = None,
    convention: Convention = "dimemas",
) -> data.ReportData:
    """Everything that a report of this recording shows.

    Args:
        recording: The run.
        asked: Placements besides the one of the run.
        ranges: Upper ends of the size ranges, powers of two.
        on_machine: The run predicted on a machine, for what findings cost.
        convention: Of the ideal time of the efficiencies.
    """
    ranks = recording.ranks
    time_s = _total(ranks["time_s"]) or 0.0
    columns = matrix_of(recording.messages)
    ran = recorded_placement(recording)
    evidence = Evidence(recording, on_machine)
    parts = core_parts(recording, evidence.computation)
    findings, not_looked_for = findings_of(evidence)
    tuned, tuning_unknown = tuning(recording)
    split = split_waits(recording, evidence.computation)
    used = use(recording)
    placed = ([ran] if ran else []) + list(asked)
    timed = None
    if split is not None and split.waits is not None:
        timed = timed_messages(recording.timeline(), clear_calls(split))
    matrix = detailed(columns, host_of_ranks(recording))
    best = better_placement(on_machine) if on_machine else None
    return data.ReportData(
        schema=data.SCHEMA,
        rankwise=rankwise.__version__,
        recording=str(recording.path),
        program=_program(recording),
        summary=_summary(recording, time_s, parts),
        findings=findings,
        not_looked_for=not_looked_for,
        efficiency=evidence.efficiency
        if convention == "dimemas"
        else of_recording(recording, convention, evidence.replayed),
        transfer_split=transfer_split(on_machine) if on_machine else None,
        gaps=gaps(recording),
        ranks=_ranks(recording, parts),
        time=time_parts(recording, parts, split),
        map=node_map(placed + ([best] if best else []), columns, used, recording),
        calls=_calls(recording.calls, time_s, _total(ranks["mpi_s"])),
        call_sites=call_sites(recording, time_s, _OUTSIDE),
        collectives=collectives(recording, time_s, ranges),
        waiting=waiting(recording, split),
        use=used,
        network=network(recording),
        matrix=matrix,
        matrix_parts=matrix_parts(recording, matrix, timed),
        pair_waits=pair_waits(recording, split),
        sizes=message_sizes(columns, ran, timed, split.why_not if split else data.WITH_TRACE),
        over_time=over_time(recording, split),
        pattern=pattern_of_recording(recording),
        distributions=[_placed(each, columns, ranges) for each in placed],
        notes=notes(recording, _part_share(parts, "wait_s", time_s)) + tuning_unknown,
        tuning=tuned,
        predicted=predicted(on_machine, asked) if on_machine else None,
    )


def _program(recording: Recording) -> data.Program:
    context = recording.context
    run = context["run"] or {}
    return data.Program(
        name=recording.program_name,
        command=run.get("command") or [],
        world_size=recording.world_size,
        hosts=[host["host"] for host in context["hosts"]],
        mpi=recording.mpi_text,
        started_s=run.get("start_s"),
        elapsed_s=float(recording.ranks.select(pl.max("time_s")).item() or 0),
        exit_status=run.get("exit_status"),
        generated=recording.generated,
        ending=_ending(context.get("ending")),
    )


def _ending(found: dict[str, Any] | None) -> data.Ending | None:
    if found is None:
        return None
    return data.Ending(
        kind=found["kind"],
        ranks=found["ranks"],
        waiting=[data.CallOfHungRanks(**each) for each in found["waiting"]],
        hung_s=found["hung_s"],
        brief=brief(found),
        text=found["text"],
    )


def _summary(recording: Recording, time_s: float, parts: list[CoreParts]) -> data.Summary:
    messages = recording.messages
    inside = messages.filter(pl.col("collective"))
    per_rank = recording.calls.group_by("rank").agg(pl.col("count").sum()).join(recording.ranks, on="rank")
    rates = per_rank.filter(pl.col("time_s") > 0).select(pl.col("count") / pl.col("time_s"))
    return data.Summary(
        mpi_share=_share(_total(recording.ranks["mpi_s"]), time_s),
        runqueue_wait_share=_part_share(parts, "wait_s", time_s),
        mpi_on_core_share=_part_share(parts, "mpi_s", time_s),
        compute_on_core_share=_part_share(parts, "compute_s", time_s),
        unattributed_share=_part_share(parts, "unattributed_s", time_s),
        mpi_calls=int(recording.calls["count"].sum()),
        messages=int(messages["messages"].sum()),
        bytes=int(messages["bytes"].sum()),
        collective_messages=int(inside["messages"].sum()),
        collective_bytes=int(inside["bytes"].sum()),
        calls_per_s=float(rates.max().item()) if len(rates) else None,
        call_cost_s=recording.context["recorder"]["call_cost_s"],
        recording_share=recording.context["recorder"]["share"],
        recording_aside_s=recording.context["recorder"]["aside_s"],
    )


def _ranks(recording: Recording, parts: list[CoreParts]) -> data.Ranks:
    ranks = recording.ranks
    hosts = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    return data.Ranks(
        rank=ranks["rank"].to_list(),
        host=[hosts[name] for name in ranks["host"]],
        time_s=ranks["time_s"].to_list(),
        mpi_s=ranks["mpi_s"].to_list(),
        compute_s=ranks["compute_s"].to_list(),
        runqueue_wait_s=[part.wait_s for part in parts],
        mpi_on_core_s=[part.mpi_s for part in parts],
        compute_on_core_s=[part.compute_s for part in parts],
        unattributed_s=[part.unattributed_s for part in parts],
        partial=ranks["partial"].to_list(),
    )


def _part_share(parts: list[CoreParts], name: str, time_s: float) -> float | None:
    known = [getattr(part, name) for part in parts]
    return None if None in known else _share(sum(known), time_s)


def _total(column: pl.Series) -> float | None:
    """Sum; `None` if something is not known."""
    return None if column.null_count() else float(column.to_frame().sum().item())


def _calls(calls: pl.DataFrame, time_s: float, mpi_s: float | None) -> list[data.Call]:
    summed = (
        calls.group_by("call")
        .agg(
            pl.col("count", "bytes").sum(),
            pl.when(pl.col("time_s").null_count() == 0).then(pl.col("time_s").sum()).alias("time_s"),
            pl.col("max_s").max(),
        )
        .with_columns(pl.col("call").is_in(_OUTSIDE).alias("outside"))
        .sort(["outside", "time_s", "count", "call"], descending=[False, True, True, False])
    )
    return [
        data.Call(
            call=row["call"],
            count=row["count"],
            time_s=row["time_s"],
            share=None if row["outside"] else _share(row["time_s"], time_s),
            share_of_mpi=None if row["outside"] else _share(row["time_s"], mpi_s),
            max_s=row["max_s"],
            bytes=row["bytes"],
        )
        for row in summed.iter_rows(named=True)
    ]


def _placed(placed: Placed, columns: CommMatrix, ranges: Sequence[int]) -> data.PlacedDistribution:
    placement = placed.placement
    found = message_distribution(
        columns,
        placement.locations(placed.topology),
        ranges,
        unbound_ranks=int((~placement.bound).sum()),
        shared_cores=_oversubscribed(placed),
    )
    return data.PlacedDistribution(
        name=placed.name,
        allocation=placement.allocation,
        nodes=placed.nodes,
        core_order=placed.core_order,
        seats=[data.Seat(*each) for each in ranks_by_node(placement)],
        distribution=found,
    )


def _oversubscribed(placed: Placed) -> bool:
    """Whether there are more ranks than cores on a node, or two bound to the same core."""
    per_node = np.bincount(placed.placement.node, minlength=len(placed.topology.nodes))
    crowded = any(count > node.cores for count, node in zip(per_node, placed.topology.nodes, strict=True))
    one_core = placed.placement.bound
    seats = placed.placement.cores[placed.placement.core_start[:-1]][one_core]
    pairs = np.stack([placed.placement.node[one_core], seats])
    return crowded or len(np.unique(pairs, axis=1).T) < pairs.shape[1]


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
