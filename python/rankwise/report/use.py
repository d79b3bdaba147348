# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used of their nodes, for the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.placement.by_node import numbers_text
from rankwise.quantities import count_text, seconds_text
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text
from rankwise.report import nodes, tracks
from rankwise.report.pieces import PIECES, grown, share
from rankwise.report.use_data import AbsentSources, Counter, MaskChange, Moment, RankUse, Use

# Of a rank, from here on it stands out.
_MIGRATIONS_PER_S, _SWITCHES_PER_S, _MAJOR_FAULTS_PER_S, _SYSTEM_SHARE = 1.0, 100.0, 10.0, 0.2
_TURNS = 0.999


def use(recording: Recording) -> Use | None:
    """Everything that was sampled; `None` where nothing was."""
    context = recording.context.get("samples")
    if context is None:
        return None
    ranks = _ranks(recording)
    changes = _mask_changes(recording)
    counters = _counters(recording, ranks.rank)
    cores, lines = nodes.cores(recording), nodes.interrupt_lines(recording)
    interfaces, tcp = nodes.interfaces(recording), nodes.tcp(recording)
    return Use(
        interval_s=context["interval_s"],
        cost_share=_cost_share(recording),
        ranks=ranks,
        mask_changes=changes,
        counters=counters,
        cores=cores,
        interrupts=lines,
        interfaces=interfaces,
        tcp=tcp,
        memory=nodes.memory(recording),
        over_time=_over_time(recording),
        nodes_over_time=nodes.over_time(recording),
        timeline=tracks.timeline(recording),
        absent=_absent(context["absent"]) + _absent_of_nodes(recording.context["nodes"]),
        notable=_notable(recording, ranks, changes, counters)
        + nodes.notable(recording, cores, lines, interfaces, tcp),
    )


def _cost_share(recording: Recording) -> float | None:
    """Of the rank where it cost most, as if that had taken all samples of its node."""
    own, elapsed_s = recording.context["samples"]["cost_share"], recording.ranks["time_s"].max()
    node_s = max((node["cost_s"] for node in recording.context["nodes"]), default=0.0)
    if own is None or not elapsed_s:
        return None
    return float(own + node_s / elapsed_s)  # type: ignore[operator]


def _ranks(recording: Recording) -> RankUse:
    used = recording.table("rank_use")
    columns: dict[str, list[Any]] = {
        name: used[name].to_list() for name in RankUse.__struct_fields__ if name not in ("allowed", "ran_on")
    }
    masks = recording.table("rank_masks").sort("time_s").group_by("rank").agg(pl.col("pus").first())
    first = dict(masks.iter_rows())
    return RankUse(
        **columns,
        allowed=[numbers_text(first.get(rank, [])) for rank in columns["rank"]],
        ran_on=[numbers_text(pus) for pus in used["ran_on"].to_list()],
    )


def _mask_changes(recording: Recording) -> list[MaskChange]:
    masks = recording.table("rank_masks").sort("rank", "time_s", maintain_order=True)
    later = masks.filter(pl.int_range(pl.len()).over("rank") > 0)
    return [MaskChange(rank, time_s, numbers_text(pus)) for rank, time_s, pus in later.iter_rows()]


def _counters(recording: Recording, ranks: list[int]) -> list[Counter]:
    found = []
    for (name,), rows in recording.table("rank_counters").group_by("counter", maintain_order=True):
        count = dict(rows.select("rank", "count").iter_rows())
        shares = rows.filter(pl.col("enabled_s") > 0).select(pl.col("running_s") / pl.col("enabled_s"))
        found.append(
            Counter(
                counter=str(name),
                count=[count.get(rank) for rank in ranks],
                running_share=float(shares.min().item()) if len(shares) else None,
                user_only=bool(rows["user_only"].any()),
            )
        )
    return found


def _over_time(recording: Recording) -> list[Moment]:
    """Sums over ranks in pieces of equal length; between two samples what is counted grows evenly."""
    samples = recording.table("rank_samples")
    end_s = samples.select(pl.max("time_s")).item()
    if not end_s or samples.group_by("rank").len()["len"].max() < 3:  # type: ignore[operator]
        return []
    edges = np.linspace(0, end_s, PIECES + 1)
    names = ("user_s", "system_s", "involuntary_switches", "minor_faults", "major_faults", "runqueue_wait_s")
    sums = {name: np.zeros(PIECES) for name in (*names, "time_s")}
    for _, rows in samples.group_by("rank"):
        time = rows["time_s"].to_numpy()
        for name in names:
            sums[name] += grown(time, rows[name].to_numpy().astype(float), edges)
        sums["time_s"] += grown(time, time, edges)
    length = end_s / PIECES
    return [
        Moment(
            begin_s=float(edges[at]),
            end_s=float(edges[at + 1]),
            system_share=share(sums["system_s"][at], sums["user_s"][at] + sums["system_s"][at]),
            involuntary_switches_per_s=share(sums["involuntary_switches"][at], length),
            faults_per_s=share(sums["minor_faults"][at] + sums["major_faults"][at], length),
            runqueue_wait_share=share(sums["runqueue_wait_s"][at], sums["time_s"][at]),
        )
        for at in range(PIECES)
    ]


def _absent(found: list[dict[str, Any]]) -> list[AbsentSources]:
    grouped: dict[tuple[str, str | None, int], list[str]] = {}
    for each in found:
        source = each["source"].removeprefix("counter:")
        grouped.setdefault((each["why"], each["remedy"], each["ranks"]), []).append(source)
    return [AbsentSources(sources, why, remedy, n) for (why, remedy, n), sources in grouped.items()]


def _absent_of_nodes(found: list[dict[str, Any]]) -> list[AbsentSources]:
    """Once for all nodes that say the same."""
    seen: dict[tuple[str, str | None], list[str]] = {}
    for node in found:
        for each in node["absent"]:
            sources = seen.setdefault((each["why"], each["remedy"]), [])
            if each["source"] not in sources:
                sources.append(each["source"])
    return [AbsentSources(sources, why, remedy, 0) for (why, remedy), sources in seen.items()]


def _notable(
    recording: Recording, ranks: RankUse, changes: list[MaskChange], counters: list[Counter]
) -> list[str]:
    time_s = dict(recording.ranks.select("rank", "time_s").iter_rows())
    found = []
    if changes:
        changed = sorted({change.rank for change in changes})
        first = min(changes, key=lambda change: change.time_s)
        found.append(
            f"the cores that {ranks_text(changed)} might use changed while it ran: "
            f"rank {first.rank} had {_pus(first.pus)} from {seconds_text(first.time_s)} on"
        )
    for name, limit, what in (
        ("migrations", _MIGRATIONS_PER_S, "came to another core"),
        ("involuntary_switches", _SWITCHES_PER_S, "lost the core to something else"),
        ("major_faults", _MAJOR_FAULTS_PER_S, "waited for pages from a disk"),
    ):
        counts = getattr(ranks, name)
        rates = {
            rank: count / time_s[rank]
            for rank, count in zip(ranks.rank, counts, strict=True)
            if count is not None and time_s.get(rank, 0) > 0
        }
        high = [rank for rank, rate in rates.items() if rate > limit]
        if high:
            most = max(high, key=lambda rank: rates[rank])
            times = count_text(round(counts[ranks.rank.index(most)]))
            found.append(f"{ranks_text(high)} {what} often: rank {most} {times} times")
    system = {
        rank: in_kernel / (user + in_kernel)
        for rank, user, in_kernel in zip(ranks.rank, ranks.user_s, ranks.system_s, strict=True)
        if user is not None and in_kernel is not None and user + in_kernel > 0
    }
    high = [rank for rank, share in system.items() if share > _SYSTEM_SHARE]
    if high:
        most = max(high, key=lambda rank: system[rank])
        found.append(f"much processor time in the kernel: {system[most] * 100:.0f} % of that of rank {most}")
    turns = [
        each.counter for each in counters if each.running_share is not None and each.running_share < _TURNS
    ]
    if turns:
        found.append(f"counters took turns, and what they counted is scaled: {', '.join(turns)}")
    return found


def _pus(text: str) -> str:
    return f"PU {text}" if text.isdecimal() else f"PUs {text}"
