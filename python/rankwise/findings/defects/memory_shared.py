# SPDX-License-Identifier: BSD-3-Clause
"""Ranks share a memory or cache that is saturated, while another of their node has fewer ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import bytes_text, counted, seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "memory-shared"
_SATURATED, _IDLE = 0.8, 0.5
_DO = {
    "srun": "give srun `--distribution=block:cyclic`",
    "orterun": "map by socket or NUMA node (`--map-by numa --bind-to core`)",
    "prterun": "map by package or NUMA node (`--map-by numa --bind-to core`)",
    "hydra": "map by socket or NUMA node (`-bind-to core -map-by numa`)",
}
PAGE = """\
Ranks of a node use the same memory (of one socket or NUMA node) or the same
cache, and slow each other down there. Another memory or cache of the node has
fewer ranks.

What to do: bind the ranks to sockets or NUMA nodes in turn. The NAS
benchmarks ran up to 53 % slower with two ranks of a node on one socket than
with one on each (Narayanaswamy, Balaji & Feng: network sharing in multicore
architectures).

How it is detected: this needs a machine file (`--machine`), and one of two
things. With a trace, Rankwise replays the run with the same ranks spread over
the sockets, NUMA nodes or caches of their nodes. In this replay only copies
of messages use the memory, because a recording does not say how much of the
computation waits for memory. Or the recording has counters of the memory
controllers: the bytes that each socket read and wrote.

Shown if: the run with the ranks spread is predicted to save 10 % of its time
and 10 ms. It must save 10 % also if the numbers of the machine file are a
little different (within their intervals). Or one socket moved, all the time,
at least 80 % of what the machine file says its memory can carry, while a
socket with fewer ranks moved at most half as many bytes.

Its cost: the predicted time of the recorded placement, minus that with the
ranks spread. It is never more than a memory that costs nothing would save.
From counters alone the cost is not known.

It is wrong if: the same run takes as long with the ranks spread. Remember
that counters of memory controllers include all programs of the node.
"""


def find(evidence: Evidence) -> list[Finding]:
    """In messages, else in what memory controllers moved."""
    try:
        best = evidence.memory_spread
    except RankwiseError:
        found = list(_by_controllers(evidence))
        if not found:
            raise
        return found[:1]
    if best is None or best.saved_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
        return list(_by_controllers(evidence))[:1]
    there = evidence.on_machine
    moved = np.flatnonzero(best.placement.cores != there.recorded.cores).tolist()
    return [
        _finding(
            evidence,
            f"ranks share {best.resource} and wait for it, while others of their nodes have fewer ranks",
            [
                f"{seconds_text(best.lost_s)} of {seconds_text(there.prediction.makespan_s)} would be saved if it "
                "took no time"
            ],
            moved,
            best.saved_s,
        )
    ]


def _by_controllers(evidence: Evidence) -> Iterator[Finding]:
    """Sockets that moved what they can, beside one with fewer ranks."""
    recorded, topology = evidence.recording.placement, evidence.recording.topology
    capacity = next(
        (
            each.total_bytes_per_s()
            for each in evidence.on_machine.machine.resources
            if each.kind == "memory" and each.per == "package"
        ),
        None,
    )
    samples = (
        evidence.recording.table("memory_samples")
        .drop_nulls(["read_bytes", "written_bytes"])
        .group_by("host", "pu", maintain_order=True)
        .agg(moved=(pl.col("read_bytes") + pl.col("written_bytes")).last(), time_s=pl.col("time_s").last())
        .filter(pl.col("time_s") > 0)
    )
    if recorded is None or topology is None or not recorded.bound.all() or not capacity:
        return
    for host in samples["host"].unique(maintain_order=True).to_list():
        node = recorded.node_names.index(host) if host in recorded.node_names else None
        if node is None:
            continue
        packages, core_of = topology.nodes[node].packages, topology.nodes[node].core_of_pu
        rates = {
            packages[core_of[row["pu"]]]: row["moved"] / row["time_s"]
            for row in samples.filter(host=host).iter_rows(named=True)
            if row["pu"] in core_of
        }
        mine = np.flatnonzero(recorded.node == node)
        of_package = {
            each: [r for r in mine.tolist() if packages[recorded.cores[r]] == each] for each in rates
        }
        full = max(rates, key=lambda each: rates[each], default=None)
        idle = min(rates, key=lambda each: rates[each], default=None)
        if full is None or idle is None or rates[full] < _SATURATED * capacity:
            continue
        if rates[idle] <= _IDLE * rates[full] and len(of_package[full]) > len(of_package[idle]) + 1:
            yield _finding(
                evidence,
                f"{ranks_text(of_package[full])} share the memory of socket {full} of {host}, while socket {idle} has "
                f"{counted(len(of_package[idle]), 'rank')}",
                [
                    f"socket {full} moved {bytes_text(round(rates[full]))}/s of {bytes_text(round(capacity))}/s that "
                    f"it can, socket {idle} {bytes_text(round(rates[idle]))}/s"
                ],
                of_package[full],
                None,
            )


def _finding(
    evidence: Evidence, sentence: str, lines: list[str], ranks: list[int], cost_s: float | None
) -> Finding:
    launcher = ((evidence.recording.context["run"] or {}).get("launcher") or {}).get("kind", "")
    return Finding(
        name=NAME,
        sentence=sentence,
        evidence=lines,
        ranks=ranks,
        cost_s=cost_s,
        estimate="predicted run time as it ran less that of the ranks spread over the memories of their nodes"
        if cost_s is not None
        else "how much of the computation waits for memory is not in the recording",
        do=_DO.get(launcher, "bind the ranks of a node to its sockets or NUMA nodes in turn"),
        command=None,
        confidence="medium",
        refuted_by="a run with the ranks spread that takes as long",
    )
