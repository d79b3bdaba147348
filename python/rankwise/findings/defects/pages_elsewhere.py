# SPDX-License-Identifier: BSD-3-Clause
"""A rank's memory is on another NUMA node than its cores."""

from __future__ import annotations

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import bytes_text, counted
from rankwise.recording.completeness import ranks_text

NAME = "pages-elsewhere"
_LEAST_BYTES, _LEAST_SHARE = 64 << 20, 0.5
PAGE = """\
Most of a rank's memory is on other NUMA nodes than its cores. Each access
goes from one NUMA node to another. This takes longer, and others use the same
link.

What to do: bind the ranks in the launch line, before they first write to
their memory. (A page of memory is placed when it is first written.) Or ask
for memory beside the cores: `numactl --localalloc` before the program, or
srun's `--mem-bind=local`.

How it is detected: at the end of the rank, Rankwise reads how much of its
memory is on which NUMA node (/proc/PID/numa_maps). It compares that with the
cores that the rank might use.

Shown if: at least half of the rank's memory is elsewhere, and at least 64 MiB
(more than caches hold). Memory on NUMA nodes without cores, such as
high-bandwidth memory, does not count: it is there on purpose.

Its cost: not estimated, because it is not known how often which memory was
used.

It is wrong if: the rank does not use this memory. Or the same run takes as
long with memory beside the cores.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Of the ranks that have it, all."""
    if evidence.in_lab:
        return []
    numa_of = {
        host["host"]: {
            pu: numa
            for pus, numa in zip(host["topology"]["pus"], host["topology"]["numa_nodes"], strict=True)
            for pu in pus
        }
        for host in evidence.recording.context["hosts"]
        if host["topology"] is not None
    }
    memory = dict(
        evidence.recording.table("rank_use").select("rank", "memory_bytes").drop_nulls().iter_rows()
    )
    found: list[tuple[int, int, int, set[int]]] = []
    for node in evidence.nodes:
        nodes_of = numa_of.get(node.host, {})
        for rank, pus in zip(node.ranks, node.pus, strict=True):
            if rank not in memory or not pus or any(nodes_of.get(pu, -1) < 0 for pu in pus):
                continue
            own = {nodes_of[pu] for pu in pus}
            other = set(nodes_of.values()) - own
            away = sum(size for numa, size in enumerate(memory[rank]) if numa in other)
            if away >= max(_LEAST_BYTES, _LEAST_SHARE * sum(memory[rank])):
                found.append((away, rank, sum(memory[rank]), own))
    if not found:
        return []
    away, rank, total, own = max(found, key=lambda each: (each[0], -each[1]))
    ranks = sorted(each[1] for each in found)
    changed = evidence.mask_changed.intersection(ranks)
    return [
        Finding(
            name=NAME,
            sentence=f"{bytes_text(away)} of the {bytes_text(total)} of rank {rank} are not on the NUMA "
            f"{'node' if len(own) == 1 else 'nodes'} of its cores ({', '.join(map(str, sorted(own)))})"
            + (f"; the same for {counted(len(ranks) - 1, 'more rank')}" if len(ranks) > 1 else ""),
            evidence=[f"{ranks_text(sorted(changed))} could use other cores before"] if changed else [],
            ranks=ranks,
            cost_s=None,
            estimate="how often that memory was accessed is not known",
            do="bind ranks at launch, before they write their memory, or start the program with "
            "`numactl --localalloc`",
            command=None,
            confidence="medium",
            refuted_by="a run with the memory beside the cores that takes as long",
        )
    ]
