# SPDX-License-Identifier: BSD-3-Clause
"""More ranks on a node than cores that they may use."""

from __future__ import annotations

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import counted, seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "too-many-ranks"
PAGE = """\
A node has more ranks than PUs (hardware threads) that they may use. So some
ranks wait for a core while others run.

What to do: start as many ranks as there are cores, or ask for more cores or
nodes. In tests that must share cores, let ranks that wait give up their core
(MPICH: MPIR_CVAR_ENABLE_HEAVY_YIELD=1; Open MPI: --mca mpi_yield_when_idle
1).

How it is detected: from the cores that the kernel let each rank use, and from
the time that ranks waited for a core: they were ready to run and had none, as
Linux counts it.

Shown if: this waiting takes 5 % of the time of the node's ranks, and costs as
much of the run time. If it was not sampled, one rank too many is enough.

Its cost: the mean time that the ranks of this node waited for a core. The run
must still take as long as the rank with the most computation and, with a
trace, as long as on an ideal network. The reason: ranks that look for
messages also wait for a core, and that costs nothing while there are no
messages. If you start fewer ranks that do the same work together, you save
less: only the time that ranks spend looking for messages while others wait
for the core.

The times of calls, of computation, and of waiting for others contain this
waiting. So it is subtracted from all other findings that depend on times, or
they are not shown.

Ranks that wait in MPI look for messages all the time, and take the core from
ranks that have work. The finding says so if they computed inside MPI for 5 %
of the run time (user time, minus all time outside MPI).

It is wrong if: the same run takes as long with a core for each rank.
"""


def find(evidence: Evidence) -> list[Finding]:
    """The node where it is worst."""
    found = []
    for node in evidence.nodes:
        crowded = node.crowded()
        share = evidence.core_waiting_of(node.ranks)
        if share is not None and share < LEAST_SHARE:
            continue
        if crowded and not node.free(*crowded) and not evidence.mask_changed.intersection(crowded[1]):
            union = frozenset[int]().union(*node.pus)
            if len(node.ranks) > len(union):
                crowded = union, node.ranks
            found.append((len(crowded[1]) / len(crowded[0]), node, crowded))
    if not found:
        return []
    _, node, (pus, ranks) = max(found, key=lambda each: each[0])
    share = evidence.core_waiting_of(node.ranks)
    cost_s = None
    if not evidence.in_lab:
        waited_s = evidence.core_waits_s(ranks)
        if waited_s is not None:
            cost_s = evidence.core_cost_s(waited_s)
            if cost_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s):
                return []
    more = f"; the same on {counted(len(found) - 1, 'more node')}" if len(found) > 1 else ""
    on = f" of {node.host}" if len(evidence.nodes) > 1 else ""
    evidence_lines = (
        [] if share is None else [f"ranks{on} waited for a core for {share * 100:.0f} % of their time"]
    )
    spun_s = 0.0 if evidence.in_lab else evidence.spun_s(ranks)
    spins = spun_s >= max(LEAST_S, LEAST_SHARE * evidence.elapsed_s)
    if spins:
        evidence_lines.append(
            f"while they wait they spin in MPI, {seconds_text(spun_s)} each on average or longer; this takes cores "
            "from ranks that have work"
        )
    evidence_lines.append("times of calls, of computation and of waiting for others include that")
    return [
        Finding(
            name=NAME,
            sentence=f"{counted(len(ranks), 'rank')} share {counted(len(pus), 'PU')} of {node.host}" + more,
            evidence=evidence_lines,
            ranks=sorted(ranks),
            cost_s=cost_s,
            estimate=_estimate(evidence, cost_s),
            do="nothing, if it is only this lab's machine that is small: its times include the waiting"
            if evidence.in_lab
            else f"give each rank a core: no more than {counted(len(pus), 'rank')} there, or more cores or nodes"
            + ("; until then, let ranks that wait give up the core" if spins else ""),
            command=evidence.yielding_command() if spins else None,
            # Ranks that wait for messages do not lose what they wait for a core meanwhile.
            confidence="high" if cost_s is not None and evidence.mpi_share < 0.5 else "medium",
            refuted_by=f"a run with a core for each of {ranks_text(sorted(ranks))} that takes as long",
        )
    ]


def _estimate(evidence: Evidence, cost_s: float | None) -> str:
    if cost_s is not None:
        return "the mean waiting for a core of these ranks; saved with a core for each of them"
    if evidence.in_lab:
        return "ranks of a lab wait for a core while messages are on their way as well, which costs nothing"
    return "waiting for a core was not sampled"
