# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes, for the report."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from rankwise.placement.by_node import numbers_text
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text
from rankwise.recording.emulated import is_emulated
from rankwise.report import nodes, tracks
from rankwise.report.notable import notable
from rankwise.report.pieces import edges, grown, share, summed
from rankwise.report.use_data import AbsentSources, Counter, InterruptLine, MaskChange, Moment, RankUse, Use


def use(recording: Recording) -> Use:
    """Everything that was sampled, and why there is nothing of other ranks."""
    context = recording.context["samples"] or {"interval_s": None, "absent": []}
    ranks = _ranks(recording)
    between = edges(recording)
    found = Use(
        why_not=_why_not(recording, ranks.rank),
        emulated=is_emulated(recording.context["run"]),
        interval_s=context["interval_s"],
        cost_share=_cost_share(recording),
        ranks=ranks,
        mask_changes=_mask_changes(recording),
        counters=_counters(recording, ranks.rank),
        cores=nodes.cores(recording),
        interrupts=nodes.interrupt_lines(recording),
        interfaces=nodes.interfaces(recording),
        queues=nodes.queues(recording),
        tcp=nodes.tcp(recording),
        memory=nodes.memory(recording),
        over_time=_over_time(recording, between),
        nodes_over_time=nodes.over_time(recording, between),
        timeline=tracks.timeline(recording),
        absent=_absent(context["absent"]) + _absent_of_nodes(recording),
        notable=[],
    )
    return msgspec.structs.replace(
        found, absent=found.absent + _absent_queues(found.interrupts), notable=notable(recording, found)
    )


def _why_not(recording: Recording, sampled: list[int]) -> str | None:
    """Of ranks that are in the recording and were not sampled."""
    without = sorted(set(recording.ranks["rank"].to_list()) - set(sampled))
    if not without:
        return None
    why = recording.context["not_sampled"] or "the recorder left none"
    return f"no samples of {ranks_text(without) if sampled else 'any rank'}: {why}"


def _cost_share(recording: Recording) -> float | None:
    """Of the rank where it cost most, as if that had taken all samples of its node."""
    own, elapsed_s = (recording.context["samples"] or {}).get("cost_share"), recording.ranks["time_s"].max()
    node_s = max((node["cost_s"] for node in recording.context["nodes"]), default=0.0)
    if own is None or not elapsed_s:
        return None
    return float(own + node_s / elapsed_s)  # type: ignore[operator]


def _ranks(recording: Recording) -> RankUse:
    used = recording.table("rank_use").sort("rank")
    made = ("runqueue_wait_s", "allowed", "ran_on", "threads_ran_on")
    columns: dict[str, list[Any]] = {
        name: used[name].to_list() for name in RankUse.__struct_fields__ if name not in made
    }
    masks = recording.table("rank_masks").sort("time_s").group_by("rank").agg(pl.col("pus").first())
    first = dict(masks.iter_rows())
    waits_s = dict(recording.ranks.select("rank", "runqueue_wait_s").iter_rows())
    return RankUse(
        **columns,
        runqueue_wait_s=[waits_s.get(rank) for rank in columns["rank"]],
        allowed=[numbers_text(first.get(rank, [])) for rank in columns["rank"]],
        ran_on=[numbers_text(pus) for pus in used["ran_on"].to_list()],
        threads_ran_on=[numbers_text(pus or []) for pus in used["threads_ran_on"].to_list()],
    )


def _mask_changes(recording: Recording) -> list[MaskChange]:
    masks = recording.table("rank_masks").sort("rank", "time_s", maintain_order=True)
    later = masks.filter(pl.int_range(pl.len()).over("rank") > 0)
    return [
        MaskChange(rank, time_s, numbers_text(pus), set_by and set_by.rsplit("/", 1)[-1])
        for rank, time_s, pus, set_by in later.select("rank", "time_s", "pus", "set_by").iter_rows()
    ]


def _counters(recording: Recording, ranks: list[int]) -> list[Counter]:
    found = []
    for (name,), rows in recording.table("rank_counters").group_by("counter", maintain_order=True):
        count = dict(rows.select("rank", "count").iter_rows())
        enabled = rows.filter(pl.col("enabled_s") > 0)
        share = enabled.select((pl.col("running_s") / pl.col("enabled_s")).min()).item()
        found.append(
            Counter(
                counter=str(name),
                count=[count.get(rank) for rank in ranks],
                running_share=share,
                user_only=bool(rows["user_only"].any()),
            )
        )
    return found


def _over_time(recording: Recording, edges: np.ndarray | None) -> list[Moment]:
    """Sums over ranks in the pieces between `edges`."""
    samples = recording.table("rank_samples")
    # Without samples in between, start and end say nothing of pieces.
    if edges is None or samples.is_empty() or samples.group_by("rank").len()["len"].max() < 3:  # type: ignore[operator]
        return []
    names = ("user_s", "system_s", "involuntary_switches", "minor_faults", "major_faults", "runqueue_wait_s")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in (*names, "time_s")}
    for _, rows in samples.group_by("rank", maintain_order=True):
        time = rows["time_s"].to_numpy()
        for name, columns in parts.items():
            columns.append(grown(time, rows[name].to_numpy().astype(float), edges))
    sums = {name: summed(columns, edges) for name, columns in parts.items()}
    return [
        Moment(
            begin_s=begin,
            end_s=end,
            system_share=share(sums["system_s"][at], sums["user_s"][at] + sums["system_s"][at]),
            involuntary_switches_per_s=share(sums["involuntary_switches"][at], end - begin),
            faults_per_s=share(sums["minor_faults"][at] + sums["major_faults"][at], end - begin),
            runqueue_wait_share=share(sums["runqueue_wait_s"][at], sums["time_s"][at]),
        )
        for at, (begin, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    ]


def _absent(found: list[dict[str, Any]]) -> list[AbsentSources]:
    grouped: dict[tuple[str, str | None, int], list[str]] = {}
    for each in found:
        source = each["source"].removeprefix("counter:")
        grouped.setdefault((each["why"], each["remedy"], each["ranks"]), []).append(source)
    return [AbsentSources(sources, why, remedy, n, []) for (why, remedy, n), sources in grouped.items()]


def _absent_of_nodes(recording: Recording) -> list[AbsentSources]:
    """Once for all nodes that say the same."""
    index = {host["host"]: at for at, host in enumerate(recording.context["hosts"])}
    of_why: dict[tuple[str, str | None], dict[str, list[int]]] = {}
    for node in recording.context["nodes"]:
        for each in node["absent"]:
            hosts = of_why.setdefault((each["why"], each["remedy"]), {}).setdefault(each["source"], [])
            hosts += [index[node["host"]]] if node["host"] in index else []
    found: dict[tuple[str, str | None, tuple[int, ...]], list[str]] = {}
    for (why, remedy), sources in of_why.items():
        for source, hosts in sources.items():
            found.setdefault((why, remedy, tuple(hosts)), []).append(source)
    return [
        AbsentSources(names, why, remedy, 0, list(hosts)) for (why, remedy, hosts), names in found.items()
    ]


def _absent_queues(lines: list[InterruptLine]) -> list[AbsentSources]:
    """Interfaces with several interrupts spread what they receive by a table that the recorder does not ask for."""
    own = [line.device for line in lines if line.device]
    several = sorted({device for device in own if own.count(device) > 1})
    if not several:
        return []
    why = "the drivers' tables of which queue a connection goes to are not read"
    return [AbsentSources(["RSS"], why, f"`ethtool -x {several[0]}` on the node shows it", 0, [])]
