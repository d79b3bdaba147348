# SPDX-License-Identifier: BSD-3-Clause
"""Ranks wait for a core though there are enough: something else runs there."""

from __future__ import annotations

import numpy as np

from rankwise.findings.defects import bound_otherwise, threads_share_cores
from rankwise.findings.evidence import LEAST_S, LEAST_SHARE, Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import seconds_text

NAME = "busy-cores"
PAGE = """\
Ranks wait for a core though there is one for each: other processes, or threads
of the program itself, run there.

How it is told: from the time that ranks were ready to run and had no core
(Linux' run-queue wait).

From when on: it takes 5 % of the ranks' time.

Its cost: the mean of the ranks; and no more than the run time is longer than
the computation of the rank with most and, with a trace, than the run on an
ideal network. Where ranks wait for each other the run loses
more, up to that of all of them.

Times of calls, of computation and of waiting for others include this waiting.

What refutes it: the same run on a node that is otherwise idle takes as long.

What to do: see with `top -H` what else runs there; ask for nodes of your own;
start no more threads than cores.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of the run as a whole."""
    if any(node.crowded() for node in evidence.nodes):
        return []  # too_many_ranks and shared_core say why
    if bound_otherwise.find(evidence) or threads_share_cores.find(evidence):
        return []
    share = evidence.core_waiting
    if share is None or share < LEAST_SHARE:
        return []
    waits = evidence.recording.ranks.sort("rank")["runqueue_wait_s"].to_numpy()
    cost_s, most = evidence.core_cost_s(float(waits.mean())), int(np.argmax(waits))
    if cost_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
        return []
    return [
        Finding(
            name=NAME,
            sentence=f"ranks waited for a core for {share * 100:.0f} % of their time though there is one for each: "
            "other processes or threads ran there",
            evidence=[
                f"rank {most} waited most, {seconds_text(float(waits[most]))}",
                "times of calls, of computation and of waiting for others include that",
            ],
            ranks=[most],
            cost_s=cost_s,
            estimate="the mean waiting for a core of the ranks; where they wait for each other it is more",
            do="see what else runs on these nodes (`top -H`), and start no more threads than cores",
            command=None,
            confidence="high",
            refuted_by="a run on nodes that are otherwise idle that takes as long",
        )
    ]
