# SPDX-License-Identifier: BSD-3-Clause
"""Ranks wait for a core though there are enough: something else runs there."""

from __future__ import annotations

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.defects import bound_otherwise, threads_share_cores
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import seconds_text

NAME = "busy-cores"
PAGE = """\
Ranks wait for a core, although there is a core for each rank. Other processes
run there, or more threads of the program than there are cores.

What to do: `top -H` on the node shows what else runs. Ask the batch system
for nodes of your own. Do not start more threads than cores.

How it is detected: Linux counts how long each rank was ready to run and had
no core: that is waiting for a core.

Shown if: this costs 5 % of the run time and 10 ms.

Its cost: the mean time that ranks waited for a core, if it is 5 % of their
time or more. Sometimes one rank waits for its core more than the others, and
they wait for this rank in MPI. Then the cost is the time that it surely
waited outside MPI, minus the time that the others waited for a core. It is
never more than the others' time in MPI. In both cases the cost is never so
large that the run would be shorter than the computation of the rank that
computes longest or, with a trace, than on an ideal network. If all ranks lose
their core in turn and wait for each other, the true cost is higher.

The times of calls, of computation, and of waiting for others contain this
waiting.

It is wrong if: the same run takes as long on nodes where nothing else runs.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of the run as a whole, or of a rank whose core the others wait for."""
    if any(node.crowded() for node in evidence.nodes):
        return []  # too_many_ranks and shared_core say why
    if bound_otherwise.find(evidence) or threads_share_cores.find(evidence):
        return []
    share = evidence.core_waiting
    if share is None:
        return []
    waits = evidence.recording.ranks.sort("rank")["runqueue_wait_s"].to_numpy()
    most = int(np.argmax(waits))
    mean_s, one_s = float(waits.mean()) if share >= LEAST_SHARE else 0.0, _delay_s(evidence, waits)
    cost_s = evidence.core_cost_s(max(mean_s, one_s))
    if cost_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
        return []
    who = f"ranks waited for a core for {share * 100:.0f} % of their time though there is one for each"
    if one_s > mean_s:
        who = f"rank {most} waited {seconds_text(float(waits[most]))} for its core, and the others for it"
    return [
        Finding(
            name=NAME,
            sentence=f"{who}: other processes or threads ran there",
            evidence=[
                f"rank {most} waited most, {seconds_text(float(waits[most]))}",
                "times of calls, of computation and of waiting for others include that",
            ],
            # Which rank waits most is chance where all wait: runs are compared by the ranks of their findings.
            ranks=[most] if one_s > mean_s else [],
            cost_s=cost_s,
            estimate="what that rank waited outside MPI, and the others in MPI meanwhile"
            if one_s > mean_s
            else "the mean waiting for a core of the ranks; where they wait for each other it is more",
            do="see what else runs on these nodes (`top -H`), and start no more threads than cores",
            command=None,
            confidence="high",
            refuted_by="a run on nodes that are otherwise idle that takes as long",
        )
    ]


def _delay_s(evidence: Evidence, waits_s: np.ndarray) -> float:
    """By how much waiting of the rank that waited most surely delayed the others.

    It is what cannot have been inside MPI, without what others waited likewise, and no more than these were in MPI.
    """
    try:
        mpi_s = evidence.times.mpi_s
    except RankwiseError:
        return 0.0
    outside_s, most = np.clip(waits_s - mpi_s, 0, None), int(np.argmax(waits_s))
    others = np.arange(len(waits_s)) != most
    if not others.any():
        return 0.0
    delay_s = min(float(outside_s[most]), float(mpi_s[others].mean())) - float(waits_s[others].mean())
    return max(delay_s, 0.0)
