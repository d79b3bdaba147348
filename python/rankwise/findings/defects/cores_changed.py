# SPDX-License-Identifier: BSD-3-Clause
"""The cores that ranks may use changed after launch."""

from __future__ import annotations

from itertools import pairwise

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "cores-changed"
PAGE = """\
Ranks may no longer use the cores that the launcher gave them. Something in
the program changed that.

What to do: switch it off in the library that the finding names. Known ones:
GNU's OpenMP runtime (OMP_PROC_BIND=false), LLVM's and Intel's
(KMP_AFFINITY=disabled), OpenBLAS (OPENBLAS_MAIN_FREE=1), GROMACS (`-pin
off`), PyTorch, and programs that call sched_setaffinity.

How it is detected: the recorder looks every 10 ms at the cores that the first
thread of each rank may use. It also sees which library or program calls libc
to change them. If libhwloc called, it may have done so for another library,
for example for MPI. If no call was seen, it was the OpenMP runtime of LLVM or
Intel (they do not use libc for this), or another process (`taskset -p`, a
batch system).

Shown if: at least once a rank changed to cores that it did not have before,
or to fewer cores than it has threads, or to fewer cores than ranks that share
them. If a rank is only bound to some of its cores, that does no harm.

Its cost: the mean time that ranks waited for a core, if since then there are
more ranks than cores. Otherwise it is not estimated.

It is wrong if: the program binds its ranks itself, and better than the
launcher did.
"""


_OFF = "find what binds the ranks, and turn that off"
_DO = {
    "": "try KMP_AFFINITY=disabled; else see what else runs on the node (`taskset -p`, the batch system)",
    "libgomp": "set OMP_PROC_BIND=false",
    "libopenblas": "set OPENBLAS_MAIN_FREE=1",
    "libgromacs": "give `gmx mdrun` the option `-pin off`",
    "libgromacs_mpi": "give `gmx mdrun` the option `-pin off`",
}


def find(evidence: Evidence) -> list[Finding]:
    """Of all ranks, with the first change."""
    ranks = [rank for rank in sorted(evidence.mask_changed) if _matters(evidence, rank)]
    if not ranks:
        return []
    changes = [
        (later[0], rank, before[1], later[1])
        for rank in ranks
        for before, later in pairwise(evidence.masks[rank])
    ]
    time_s, rank, was, now = min(changes, key=lambda each: each[:2])
    setter, program = evidence.mask_setters[rank, time_s], evidence.recording.program_name
    crowded = [
        found[1] for node in evidence.nodes if (found := node.crowded()) and set(found[1]) & set(ranks)
    ]
    waits = {tuple(each): evidence.core_waits_s(each) for each in crowded}
    costs = [evidence.core_cost_s(wait_s) for wait_s in waits.values() if wait_s is not None]
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
            f"{_pus(now)} from {seconds_text(time_s)} on, and {_pus(was)} before"
            f"{_set_by(setter, program)}",
            evidence=lines,
            ranks=ranks,
            cost_s=cost_s if known else None,
            estimate="the mean waiting for a core of the ranks that are too many there"
            if known
            else "what a core more or less is worth is not in the recording",
            do=_OFF if setter is None else _DO.get(_library(setter), _OFF),
            command=None,
            confidence="high",
            refuted_by="the program means to bind its ranks itself",
        )
    ]


def _matters(evidence: Evidence, rank: int) -> bool:
    """Whether a rank has other cores than before, or too few: to be bound to some of those it had is no harm."""
    first, *later = (pus for _, pus in evidence.masks[rank])
    if any(not pus <= first for pus in later):
        return True
    crowded = any(found and rank in found[1] for node in evidence.nodes if (found := node.crowded()))
    return crowded or evidence.threads.get(rank, 1.0) > len(later[-1]) + 0.5


def _library(file: str) -> str:
    """`libgomp.so.1` -> `libgomp`; wheels have copies as `libgomp-a34b3233.so.1`."""
    return file.split(".so", 1)[0].split("-", 1)[0]


def _set_by(setter: str | None, program: str) -> str:
    if setter is None:
        return ""
    if not setter:
        return "; no call of libc's set them: an OpenMP runtime of LLVM or Intel, or another process"
    return "; the program itself set them" if setter == program else f"; {setter} set them"


def _pus(pus: frozenset[int]) -> str:
    if len(pus) == 1:
        return f"PU {min(pus)}"
    return "PUs " + ", ".join(map(str, sorted(pus)[:8])) + (", ..." if len(pus) > 8 else "")
