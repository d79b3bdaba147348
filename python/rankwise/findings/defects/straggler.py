# SPDX-License-Identifier: BSD-3-Clause
"""A rank, or a node, that takes longer for its work as something took its core or its memory from it."""

from __future__ import annotations

import numpy as np

from rankwise.findings.defects import interrupt_core
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_SHARE, Finding
from rankwise.quantities import seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "straggler"
PAGE = """\
A rank, or all ranks of a node, are slower than the others, which wait for
them. They do not have more work: something took their core while they
computed.

What to do: leave this node out. If interrupts are the reason: give no rank
the core that handles them. If it is the host of a virtual machine: ask for
nodes that you do not share. If it is the disk: use less memory on this node.

How it is detected: from what was sampled of the ranks and their cores. One of
three things is to blame:
- interrupts: the irq and softirq time of the core (/proc/stat), minus that of
  the core with a rank on this node that had least of it;
- steal: the time that the host of the virtual machine took (/proc/stat);
- paging: the rank stood still outside MPI and had 10 major page faults a
  second, so it waited for memory from a disk.

Of the first two, a rank lost only a part: as large as its share of time
outside MPI. If none of the three is there, a rank that computes longer has
more work: load-imbalance. The clock frequency of cores is not sampled.

Shown if: fixing it saves 5 % of the run time and 30 ms. If a busy rank is on
the interrupt core and a swap would help, the finding is interrupt-core.

Its cost: the time by which these ranks compute longer than they would without
this, or longer than every other rank.

It is wrong if: the same run takes as long on another node, or without the
thing that took the core.
"""
# Time in interrupts and of the host is counted in ticks of 4 or 10 ms.
_TICKS_S = 0.03
_CAUSES = {
    "interrupts": (
        "interrupts had {core} for {time}",
        "leave that core without a rank, or send the interrupts to a core that has none",
    ),
    "steal": (
        "the host of the virtual machine had {core} for {time}",
        "use another node, or a machine whose processors are not shared",
    ),
    "paging": (
        "{rank} stood still for {time} while memory came from a disk",
        "use less memory there: fewer ranks on that node, or smaller parts; or read files otherwise than mapped",
    ),
}


def find(evidence: Evidence) -> list[Finding]:
    """Those that the others wait for."""
    times, limit_s = evidence.times, max(_TICKS_S, LEAST_SHARE * evidence.elapsed_s)
    least, taken_s = times.useful_least_s, evidence.taken_s
    if len(least) < 2:
        return []
    slow = taken_s >= limit_s
    top = int(np.argmax(least))
    after_s = float(np.where(slow, least - taken_s, times.useful_most_s).max())
    saved_s = float(least[top]) - after_s
    swap = interrupt_core.best_swap(evidence)
    if not slow[top] or saved_s < limit_s or (swap is not None and swap[2].rank == top):
        return []
    ranks = [int(rank) for rank in np.flatnonzero(slow & (least > after_s))]
    sums = {name: float(lost[ranks].sum()) for name, lost in evidence.taken_by.items()}
    cause = max(sums, key=lambda name: sums[name])
    what, do = _CAUSES[cause]
    node = next((node for node in evidence.nodes if sorted(node.ranks) == ranks), None)
    everybody = len(ranks) == len(least)
    whole = node is not None and len(evidence.nodes) > 1 and len(ranks) > 1
    who = "all ranks" if everybody else ranks_text(ranks)
    if whole and node:
        who = f"{node.host}, with {ranks_text(ranks)},"
    mean_s = seconds_text(float(evidence.taken_by[cause][ranks].mean()))
    core = "the core" if len(ranks) == 1 else "the cores"
    rank = "the rank" if len(ranks) == 1 else "the ranks"
    verb = "takes" if whole or len(ranks) == 1 else "take"
    others = [each for each in range(len(least)) if each not in ranks]
    lines = [f"rank {top} is outside MPI for {seconds_text(float(least[top]))}"]
    if others:
        lines[0] += f", the others for {seconds_text(float(times.useful_most_s[others].mean()))}"
    if at := evidence.others_wait_at(others):
        lines.append(at)
    lines += [
        f"{name}: {seconds_text(total / len(ranks))} a rank"
        for name, total in sums.items()
        if name != cause and total >= limit_s
    ]
    return [
        Finding(
            name=NAME,
            sentence=f"{who} {verb} longer for the work: " + what.format(core=core, rank=rank, time=mean_s),
            evidence=lines,
            ranks=ranks,
            cost_s=saved_s,
            estimate="what was taken of the time outside MPI, and no more than these ranks compute longer than others",
            do=do,
            command=None,
            confidence="medium",
            refuted_by="a run without that, or on another node, that takes as long",
        )
    ]
