# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are not bound and move between cores all the time."""

from __future__ import annotations

from rankwise.findings.defects import bound_otherwise
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import count_text
from rankwise.recording.completeness import ranks_text

NAME = "unbound-migrating"
# Filling a cache of 1 MiB again from a cache further out, at 10 GB/s.
_MOVE_S, _LEAST_SHARE, _LEAST = 1e-4, 0.01, 100
PAGE = """\
Ranks may use several cores, and move between them all the time. With each
move they lose the data in their caches.

What to do: bind each rank to a core with the launcher's options. If there are
more ranks or threads than cores, fix that first: binding makes it worse.

How it is detected: from the cores that the kernel let each rank use, and from
its counts of migrations.

Shown if: a rank moved 100 times a second, and at least 100 times in all. It
takes about 0.1 ms to fill a cache of 1 MiB again, so fewer moves cost less
than 1 % of the time.

Its cost: not estimated. It depends on what is in the caches, and on whether
the memory is then on another NUMA node.

It is wrong if: the same run takes as long with bound ranks.
"""


def find(evidence: Evidence) -> list[Finding]:
    """All such ranks."""
    if any(node.crowded() for node in evidence.nodes) or bound_otherwise.find(evidence):
        return []
    time_s = dict(evidence.recording.ranks.select("rank", "time_s").iter_rows())
    several = {
        rank
        for node in evidence.nodes
        for rank, pus in zip(node.ranks, node.pus, strict=True)
        if evidence.cores_of(node.host, pus) > 1
    }
    moved = {
        rank: count
        for rank, count in evidence.recording.table("rank_use").select("rank", "migrations").iter_rows()
        if rank in several
        and count is not None
        and count >= max(_LEAST, _LEAST_SHARE / _MOVE_S * (time_s.get(rank) or 0.0))
    }
    if not moved:
        return []
    most = max(moved, key=lambda rank: moved[rank])
    return [
        Finding(
            name=NAME,
            sentence=f"{ranks_text(sorted(moved))} {'is' if len(moved) == 1 else 'are'} not bound to a core and "
            f"moved often: rank {most} most, {count_text(moved[most])} times",
            evidence=[],
            ranks=sorted(moved),
            cost_s=None,
            estimate="what a move costs depends on what the caches held",
            do="bind each rank to a core",
            command=evidence.bound_command(),
            confidence="high",
            refuted_by="a run with bound ranks that takes as long",
        )
    ]
