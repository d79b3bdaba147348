# SPDX-License-Identifier: BSD-3-Clause
"""Ranks with more threads than cores that they may use, while others of the node are free."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.findings.defects import bound_otherwise
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import counted
from rankwise.recording.completeness import ranks_text

NAME = "threads-share-cores"
PAGE = """\
A rank has more threads that compute than PUs (hardware threads) that it may
use, while other PUs of its node have no rank. The launcher bound the rank as
if it had one thread.

What to do: give each rank as many cores as it has threads. srun:
`--cpus-per-task`; MPICH: `-bind-to core:N`; Open MPI: `--map-by slot:PE=N`.
Two launchers bind a rank to one core by default: Open MPI, if there are at
most two ranks; and srun, which gives a rank one CPU without
`--cpus-per-task`. In Slurm 22.05 and 23.02, srun does not take this number
from the job.

How it is detected: from the PUs that the kernel let each rank use; from a
look every half second at which threads ran and on which PU; and from the time
that the first thread of each rank was ready to run and had no core.

Shown if: half of the threads that ran shared their PU, there are free PUs for
all of them, and first threads waited for a core for 5 % of the run time and
10 ms.

Its cost: the mean time that the first threads of these ranks waited for a
core.

It is wrong if: nobody may use the free PUs, because they belong to another
job or are reserved. Or the same run takes as long with a PU for each thread.
"""


def find(evidence: Evidence) -> list[Finding]:
    """All such ranks."""
    if evidence.in_lab or any(node.crowded() for node in evidence.nodes) or bound_otherwise.find(evidence):
        return []
    if evidence.core_waiting is None:
        raise RankwiseError("waiting for a core was not sampled")
    waited = evidence.threads_wait_s
    ranks: list[int] = []
    pus: dict[int, frozenset[int]] = {}
    free: dict[str, int] = {}
    for node in evidence.nodes:
        own = {rank: mine for rank, mine in zip(node.ranks, node.pus, strict=True) if rank in waited}
        lacking = sum(round(evidence.threads[rank]) - len(mine) for rank, mine in own.items())
        unused = (node.all_pus or 0) - len(frozenset[int]().union(*node.pus))
        if own and lacking <= unused and not evidence.mask_changed.intersection(own):
            ranks += sorted(own)
            pus |= own
            free[node.host] = unused
    if not ranks:
        return []
    cost_s = sum(waited[rank] for rank in ranks) / len(ranks)
    if cost_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
        return []
    most = max(ranks, key=lambda rank: waited[rank])
    host = next(node.host for node in evidence.nodes if most in node.ranks)
    others = [rank for rank in ranks if rank != most]
    lines = [f"the same for {ranks_text(others)}"] if others else []
    if evidence.asked is not None:
        lines.append(f"`{evidence.asked.words}` is on the launch line")
    return [
        Finding(
            name=NAME,
            sentence=f"rank {most} has {counted(round(evidence.threads[most]), 'thread')} that compute and "
            f"{counted(len(pus[most]), 'PU')} for them, while {counted(free[host], 'PU')} of {host} "
            f"{'has' if free[host] == 1 else 'have'} no rank",
            evidence=lines,
            ranks=ranks,
            cost_s=cost_s,
            estimate="the mean waiting for a core of the first threads of these ranks",
            do="give each rank as many cores as it has threads",
            command=evidence.bound_command(),
            confidence="high",
            refuted_by="the free PUs are another job's; or a run with a PU for each thread takes as long",
        )
    ]
