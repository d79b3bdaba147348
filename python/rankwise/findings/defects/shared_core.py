# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share cores while others of the node are free."""

from __future__ import annotations

from rankwise.findings.defects import bound_otherwise
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import counted
from rankwise.recording.completeness import ranks_text

NAME = "shared-core"
PAGE = """\
Several ranks are bound to the same core, or a group of ranks to too few
cores, while other cores of the node have no rank.

What to do: bind each rank to a core of its own with the launcher's options.
If two launches run on the node at the same time, each begins with core 0:
give each its own cores.

How it is detected: Rankwise compares the cores that the kernel let each rank
use with the cores of the node.

Shown if: there is at least one rank more than cores. If waiting for a core
was sampled, these ranks must also have waited for 5 % of their time.

Its cost: the mean time that these ranks waited for a core. The run must still
take as long as the rank with the most computation and, with a trace, as long
as on an ideal network.

It is wrong if: nobody may use the free cores, because they belong to another
job or are reserved. Or the same run takes as long with a core for each rank.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The node where ranks wait most; none in a lab, whose nodes share the cores of one machine."""
    if evidence.in_lab or bound_otherwise.find(evidence):
        return []
    found = []
    for node in evidence.nodes:
        crowded = node.crowded()
        if not crowded or not (free := node.free(*crowded)):
            continue
        pus, ranks = crowded
        if evidence.mask_changed.intersection(ranks):
            continue  # cores_changed says why
        waited_s = evidence.core_waits_s(ranks)
        cost_s = None if waited_s is None else evidence.core_cost_s(waited_s)
        if cost_s is None or cost_s >= max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
            found.append((cost_s or 0.0, node, pus, ranks, free, cost_s))
    if not found:
        return []
    _, node, pus, ranks, free, cost_s = max(found, key=lambda each: each[0])
    which = ", ".join(map(str, sorted(pus)[:8])) + (", ..." if len(pus) > 8 else "")
    more = f"; the same on {counted(len(found) - 1, 'more node')}" if len(found) > 1 else ""
    return [
        Finding(
            name=NAME,
            sentence=f"{ranks_text(sorted(ranks))} share PU{'s' if len(pus) > 1 else ''} {which} of {node.host} "
            f"while {counted(free, 'PU')} there {'has' if free == 1 else 'have'} no rank" + more,
            evidence=["times of calls, of computation and of waiting for others include waiting for a core"],
            ranks=sorted(ranks),
            cost_s=cost_s,
            estimate="the mean waiting for a core of these ranks"
            if cost_s is not None
            else "waiting for a core was not sampled",
            do="bind each rank to a core of its own",
            command=evidence.bound_command(),
            confidence="high" if cost_s is not None else "medium",
            refuted_by="the free PUs are another job's; or a run with a core for each rank takes as long",
        )
    ]
