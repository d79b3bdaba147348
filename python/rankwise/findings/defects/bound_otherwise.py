# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are bound otherwise than the launch line asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import counted
from rankwise.recording.completeness import ranks_text

NAME = "bound-otherwise"
PAGE = """\
The ranks run on other cores than the launch line asks for. Something else
binds them too, or left the launcher fewer cores than it needs.

What to do: type `rankwise doctor -- LAUNCH LINE`. It starts a small program
in place of yours, and prints its cores. Are they right? Then your program
binds its ranks itself: switch that off. Are they wrong? Then something around
the launcher does it: a script, `taskset`, or a batch system that gives too
few CPUs. Ask for as many CPUs as you need, and let only one of them bind
(srun: `--cpu-bind=none`).

How it is detected: Rankwise reads what the launch line asks for (`-bind-to
core`, `--bind-to core`, `core:N`, srun's `--cpus-per-task`; no other words).
It compares that with the cores that the kernel let each rank use at MPI_Init.

Shown if: one of three things is true. Two ranks share a core, although each
should have its own and others are free, and they waited for it for 5 % of the
run time and 10 ms. Or a rank may use more cores than the line asks for. Or it
may use fewer, and these are fewer than its threads.

Its cost: the mean time that ranks waited for a core, if ranks or their
threads share cores. Otherwise it is not estimated.

It is wrong if: somebody wants these cores, for example a script between the
launcher and the program.
"""


@dataclass(frozen=True)
class _Other:
    ranks: list[int]
    what: str
    cost_s: float | None
    evidence: list[str]


def find(evidence: Evidence) -> list[Finding]:
    """The costliest way in which ranks are bound otherwise."""
    asked = evidence.asked
    if asked is None or asked.cores == 0:
        return []
    found = [*_shared(evidence), *_wider(evidence), *_narrower(evidence)]
    if not found:
        return []
    worst = max(found, key=lambda each: each.cost_s or 0.0)
    want = counted(asked.cores, "core") if asked.cores else counted(asked.pus, "CPU")
    return [
        Finding(
            name=NAME,
            sentence=f"`{asked.words}` asks for {want} for each rank, but {worst.what}",
            evidence=worst.evidence,
            ranks=worst.ranks,
            cost_s=worst.cost_s,
            estimate="the mean waiting for a core of these ranks"
            if worst.cost_s is not None
            else "what other cores are worth is not in the recording",
            do="see whether the launcher, what is around it or the program binds so: print the masks it gives",
            command=evidence.masks_command(),
            confidence="high" if worst.cost_s is not None else "medium",
            refuted_by="the ranks are meant to be bound as they are, for example by a script",
        )
    ]


def _shared(evidence: Evidence) -> Iterator[_Other]:
    """Ranks that were to have cores of their own."""
    for node in evidence.nodes:
        crowded = node.crowded()
        if not (evidence.asked and evidence.asked.cores) or not crowded or not node.free(*crowded):
            continue
        pus, ranks = crowded
        cost_s = evidence.core_waits_s(ranks)
        if evidence.mask_changed.intersection(ranks) or cost_s is None or not _enough(evidence, cost_s):
            continue
        together = frozenset[int]().union(*node.pus)
        lines = []
        if len(together) < len(node.ranks):
            lines.append(
                f"all ranks of {node.host} together have {counted(len(together), 'PU')}: something around the "
                "launcher leaves it no more"
            )
        what = f"{ranks_text(sorted(ranks))} share {_pus(pus)} of {node.host}"
        yield _Other(sorted(ranks), what, cost_s, lines)


def _wider(evidence: Evidence) -> Iterator[_Other]:
    """Ranks with more cores than asked for, where there are cores for all."""
    asked = evidence.asked
    if not asked or not asked.cores or any(node.crowded() for node in evidence.nodes):
        return
    wide = [each for each in _known(evidence) if len(each["cores"]) > asked.cores]
    if wide:
        ranks = [each["rank"] for each in wide]
        yield _Other(ranks, f"{ranks_text(ranks)} may use {counted(len(wide[0]['cores']), 'core')}", None, [])


def _narrower(evidence: Evidence) -> Iterator[_Other]:
    """Ranks with fewer cores than asked for and than they have threads."""
    asked = evidence.asked
    if not asked or any(node.crowded() for node in evidence.nodes):
        return
    few = [
        each
        for each in _known(evidence)
        if len(each["cores"]) < (asked.cores or 0) or len(each["pus"]) < asked.pus
    ]
    if not few:
        return
    waited = evidence.threads_wait_s
    ranks = [each["rank"] for each in few if each["rank"] in waited]
    if ranks and _enough(evidence, cost_s := sum(waited[rank] for rank in ranks) / len(ranks)):
        pus = next(each["pus"] for each in few if each["rank"] == ranks[0])
        threads = counted(round(evidence.threads[ranks[0]]), "thread")
        what = f"rank {ranks[0]} has {_pus(frozenset(pus))} for {threads}"
        likewise = [f"the same for {ranks_text(ranks[1:])}"] * (len(ranks) > 1)
        yield _Other(ranks, what, cost_s, likewise)


def _known(evidence: Evidence) -> list[dict[str, Any]]:
    """Where ranks were bound at MPI_Init, as far as their node is known."""
    entries = evidence.recording.context["bindings"]
    return [each for each in entries if each["cores"] and each["rank"] not in evidence.mask_changed]


def _enough(evidence: Evidence, cost_s: float) -> bool:
    return cost_s >= max(LEAST_S, LEAST_SHARE * evidence.elapsed_s)


def _pus(pus: frozenset[int]) -> str:
    if len(pus) == 1:
        return f"PU {min(pus)}"
    return "PUs " + ", ".join(map(str, sorted(pus)[:8])) + (", ..." if len(pus) > 8 else "")
