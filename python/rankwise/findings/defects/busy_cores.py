# SPDX-License-Identifier: BSD-3-Clause
"""Ranks wait for a core though there are enough: something else runs there."""

from __future__ import annotations

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.defects import bound_otherwise, threads_share_cores
from rankwise.findings.evidence import LEAST_S, LEAST_SHARE, Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import seconds_text

NAME = "busy-cores"
PAGE = """\
Ranks wait for a core though there is one for each: other processes, or threads
of the program itself, run there.

How it is detected: from the time that ranks were ready to run and had no core
(Linux' run-queue wait).

Shown if: that costs 5 % of the run time and 10 ms.

Its cost: the mean waiting of the ranks, from 5 % of their time on. Where one
rank waits more than others, and these for it in MPI: what it surely waited
outside MPI, less what the others waited, and no more than these were in MPI.
The run would not take less than the computation of the rank with most nor, with
a trace, than it does on an ideal network. Where all ranks lose their core in
turn and wait for each other, the run loses more.

Times of calls, of computation and of waiting for others include this waiting.

What refutes it: the same run on a node that is otherwise idle takes as long.

What to do: see with `top -H` what else runs there; ask for nodes of your own;
start no more threads than cores.
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
