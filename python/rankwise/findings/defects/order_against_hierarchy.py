# SPDX-License-Identifier: BSD-3-Clause
"""Ranks are dealt round the nodes, packages or caches while neighbours talk."""

from __future__ import annotations

import shlex

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.findings.order import Crossing, crossings, in_order
from rankwise.launchers.bound import alone
from rankwise.launchers.bound import in_order as in_order_of_launcher

NAME = "order-against-hierarchy"
_LEAST_MORE, _LEAST_RATIO, _LEAST_TRANSFER, _LEAST_MPI = 0.25, 2.0, 0.05, 0.2
_DO = {
    "srun": "give srun `--distribution=block:block`",
    "orterun": "map by core (`--map-by core`), not by node or socket",
    "prterun": "map by core (`--map-by core`), not by node or package",
    "hydra": "leave out `-ppn 1` or a mapping by socket or NUMA node, and let ranks fill each node (`-map-by core`)",
}
PAGE = """\
Ranks with neighbouring numbers exchange messages, but are on different nodes,
packages or caches. So most bytes go further than they need to.

What to do: let the launcher fill the cores in order. On ARCHER2 the default
placed the 128 ranks of a node round its eight NUMA nodes. In order, CASTEP
ran 2.4 times as fast (hpc-uk/archer-benchmarks).

How it is detected: Rankwise compares two orders of the ranks on the same
cores: as they ran, and in the order of the machine, which fills each cache,
package and node before the next one. As they ran, at least twice as many bytes
must leave a cache, package or node. The difference must be at least a quarter
of all bytes.

Shown if: with a machine file (`--machine`), the order of the machine is
predicted to save 10 % of the run time, also if the numbers of the file are a
little different (within their intervals). Without one, messages must take
much time. With exact times: transfers take 5 % of the ranks' time. Else: MPI
takes 20 % of the time of every rank, without waiting for a core, also of the
rank that computes most and does not wait for others.

Its cost: the predicted time of the recorded placement, minus that in order.
This needs a trace and a machine file. Otherwise the cost is not known.

It is wrong if: the same run takes as long with the ranks in the order of the
machine.
"""


def find(evidence: Evidence) -> list[Finding]:
    """At the widest level where it is so."""
    against = [each for each in crossings(evidence.recording) if _is_against(each)]
    if not against:
        return []
    worst = against[0]
    try:
        cost_s = _predicted_s(evidence)
        if cost_s is None:
            return []
        estimate = "predicted run time as it ran less that with the ranks in the order of the machine"
    except RankwiseError as error:
        if not _transfers(evidence):
            return []
        cost_s, estimate = None, f"not predicted: {error.message}"
    launcher = ((evidence.recording.context["run"] or {}).get("launcher") or {}).get("kind", "")
    return [
        Finding(
            name=NAME,
            sentence=f"ranks are not in the order of the machine: now {worst.as_ran * 100:.0f} % of the bytes go "
            f"{worst.words}, and in the order of the machine {worst.in_order * 100:.0f} % would",
            evidence=[
                f"now {each.as_ran * 100:.0f} % go {each.words}, and in the order of the machine "
                f"{each.in_order * 100:.0f} % would"
                for each in against[1:3]
            ],
            ranks=[],
            cost_s=cost_s,
            estimate=estimate,
            do=_DO.get(launcher, "have the launcher fill each cache, package and node before the next one"),
            command=_command(evidence) or (None if cost_s is not None else _report_command(evidence)),
            confidence="medium",
            refuted_by="a run with the ranks in the order of the machine that takes as long",
        )
    ]


def _is_against(each: Crossing) -> bool:
    return each.as_ran - each.in_order >= _LEAST_MORE and each.as_ran >= _LEAST_RATIO * each.in_order


def _predicted_s(evidence: Evidence) -> float | None:
    """What order saves; `None` if it is not known to be better."""
    there = evidence.on_machine
    ordered = in_order(there.recorded)
    saved_s = there.saved_s(ordered)
    if saved_s < max(LEAST_S, LEAST_SHARE * evidence.elapsed_s) or not there.is_better(ordered):
        return None
    return saved_s


def _transfers(evidence: Evidence) -> bool:
    """Whether ranks spend time with messages, beyond waiting for each other."""
    times = evidence.times
    core_s = np.zeros(len(times.time_s)) if times.core_s is None else times.core_s
    try:
        waits = evidence.waits
    except RankwiseError:
        return bool((times.mpi_s - core_s > _LEAST_MPI * times.time_s).all())
    transfer_s = float((waits["time_s"] - waits["waiting_s"]).to_numpy().sum() - core_s.sum())
    return transfer_s >= _LEAST_TRANSFER * float(times.time_s.sum())


def _command(evidence: Evidence) -> str | None:
    """The line with the ranks in order."""
    if evidence.in_lab or not evidence.launcher:
        return None
    words = in_order_of_launcher(evidence.command, evidence.launcher)
    return shlex.join(words) if words else None


def _report_command(evidence: Evidence) -> str | None:
    if evidence.in_lab or not evidence.launcher:
        return None
    line = alone(evidence.command, evidence.launcher)
    if line is None:
        return None
    return shlex.join(["rankwise", "measure", "-o", "here.machine.toml", "--", *line])
