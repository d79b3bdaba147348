# SPDX-License-Identifier: BSD-3-Clause
"""The cores that ranks may use changed after launch."""

from __future__ import annotations

from itertools import pairwise

from rankwise.findings.evidence import LEAST_S, LEAST_SHARE, Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "cores-changed"
PAGE = """\
The cores that ranks may use are not those that the launcher gave them:
something in the program changed the mask.

How it is told: the recorder samples the mask of each rank's first thread.

From when on: one change of one rank.

Its cost: where ranks are more than the cores that they have since then, their
mean waiting for a core; else it is not estimated.

What refutes it: the program binds its ranks itself, and better than the
launcher.

What to do: find the library that does it. Known ones: OpenMP runtimes
(OMP_PROC_BIND), OpenBLAS (OPENBLAS_MAIN_FREE=1), Intel's MKL and TBB
(KMP_AFFINITY=disabled), PyTorch, and codes that call sched_setaffinity.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of all ranks, with the first change."""
    ranks = sorted(evidence.mask_changed)
    if not ranks:
        return []
    changes = [
        (later[0], rank, before[1], later[1])
        for rank in ranks
        for before, later in pairwise(evidence.masks[rank])
    ]
    time_s, rank, was, now = min(changes, key=lambda each: each[:2])
    crowded = [
        found[1] for node in evidence.nodes if (found := node.crowded()) and set(found[1]) & set(ranks)
    ]
    costs = [cost_s for each in crowded if (cost_s := evidence.core_waits_s(each)) is not None]
    cost_s = max(costs, default=0.0)
    known = cost_s >= max(LEAST_S, LEAST_SHARE * evidence.elapsed_s)
    lines = [f"{len(changes)} changes of the mask of first threads"] if len(changes) > 1 else []
    if known:
        lines.append(
            f"since then {ranks_text(sorted(crowded[costs.index(cost_s)]))} are more than their cores"
        )
    return [
        Finding(
            name=NAME,
            sentence=f"the cores that {ranks_text(ranks)} might use changed while it ran: rank {rank} had "
            f"{_pus(now)} from {seconds_text(time_s)} on, and {_pus(was)} before",
            evidence=lines,
            ranks=ranks,
            cost_s=cost_s if known else None,
            estimate="the mean waiting for a core of the ranks that are too many there"
            if known
            else "what a core more or less is worth is not in the recording",
            do="find the library that binds (OpenMP, OpenBLAS, MKL, PyTorch), and turn that off",
            command=None,
            confidence="high",
            refuted_by="the program means to bind its ranks itself",
        )
    ]


def _pus(pus: frozenset[int]) -> str:
    if len(pus) == 1:
        return f"PU {min(pus)}"
    return "PUs " + ", ".join(map(str, sorted(pus)[:8])) + (", ..." if len(pus) > 8 else "")
