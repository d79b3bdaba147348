# SPDX-License-Identifier: BSD-3-Clause
"""Most of the communication is one collective, and not for waiting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwise.errors import RankwiseError
from rankwise.findings.collective_times import inside_s
from rankwise.findings.defects import collective_algorithm
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, Finding
from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.recording.raw import CALL_CLASSES, CALL_NAMES
from rankwise.recording.traces.waits import Timeline

NAME = "collective-dominates"
_LEAST_SHARE = 0.1
_MOST_OF_MPI = 0.5
_SMALL_BYTES = 2048
PAGE = """\
One collective takes most of the time in MPI. The ranks do not wait for a late
one: the collective itself takes this long, because it is called so often or
moves so many bytes.

What to do: call it less often (compute a residual every 10 steps, not in
each). Put several values into one call. Leave out barriers. Or begin it early
(MPI_Iallreduce), compute, and then call MPI_Wait. If it moves many bytes:
send less, and look for a placement that suits it (`rankwise place`).

How it is detected: a trace with exact times shows how long a rank is in such
a call after the last rank has come to it. Waiting for late ranks is another
finding (load-imbalance, late-collective). So is an unsuitable algorithm
(collective-algorithm).

Shown if: this is 10 % of the run time and 10 ms, and half of all time in MPI.
Time in which a rank waited for a core does not count.

Its cost: this time, as the mean of the ranks. How much of it you save depends
on the change. If one call replaces k small ones, you save all but 1/k. A
nonblocking call saves as much as there is computation at the same time.

It is wrong if: the program with half as many of these calls does not save
half of this time.
"""


@dataclass(frozen=True)
class _Calls:
    """Of one collective.

    Attributes:
        kind: Of its calls.
        inside_s: By rank, in the calls when all had come.
        count: Calls of a rank, at most.
        bytes: Mean of a call.
    """

    kind: int
    inside_s: npt.NDArray[np.float64]
    count: int
    bytes: float


def find(evidence: Evidence) -> list[Finding]:
    """The collective that takes most."""
    times = evidence.times
    calls = _calls(evidence.timeline)
    if not calls:
        return []
    top = max(calls, key=lambda each: float(each.inside_s.mean()))
    core_s = np.zeros(len(times.time_s)) if times.core_s is None else times.core_s
    cost_s = float(np.clip(top.inside_s - core_s, 0, None).mean())
    cost_s = min(cost_s, times.elapsed_s - float(times.useful_least_s.max()))
    if cost_s < max(LEAST_S, _LEAST_SHARE * times.elapsed_s):
        return []
    if top.inside_s.sum() < _MOST_OF_MPI * times.mpi_s.sum():
        return []
    call = str(CALL_NAMES[top.kind])
    if _has_another_algorithm(evidence, call):
        return []
    longest = int(np.argmax(top.inside_s))
    at = evidence.place_of(longest, call)
    barrier = call == "MPI_Barrier"
    share = top.inside_s.sum() / times.mpi_s.sum()
    if barrier:
        do = "leave out barriers that nothing needs: messages and other collectives order what they must"
    elif top.bytes <= _SMALL_BYTES:
        do = "call it less often, or with several values at once; or begin it early (MPI_I...) and compute meanwhile"
    else:
        do = "move less data, or begin it early (MPI_I...) and compute meanwhile; place the ranks for it"
    return [
        Finding(
            name=NAME,
            sentence=f"{call}{f' at {at}' if at else ''} takes {seconds_text(cost_s)} of a rank's "
            f"{seconds_text(times.elapsed_s)}, not counting the wait for ranks that come late",
            evidence=[
                f"{count_text(top.count)} calls a rank"
                + ("" if barrier else f" of {bytes_text(top.bytes)} on average")
                + f"; after all ranks have come, they take {share * 100:.0f} % of all time in MPI",
                f"{seconds_text(cost_s / top.count)} a call",
            ],
            ranks=[],
            cost_s=cost_s,
            estimate="all of that time, mean of the ranks, as if it were not called at all",
            do=do,
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            confidence="medium",
            refuted_by="half as many of these calls do not save half of that",
        )
    ]


def _has_another_algorithm(evidence: Evidence, call: str) -> bool:
    try:
        found = collective_algorithm.find(evidence)
    except RankwiseError:
        return False
    return any(each.sentence.startswith(f"{call} ") for each in found)


def _calls(timeline: Timeline) -> list[_Calls]:
    """Of each collective in the trace."""
    ranks, calls = timeline.ranks, timeline.collectives
    if not len(calls.rank):
        return []
    inside, size = inside_s(timeline), np.empty(len(calls.rank))
    for rank, each in enumerate(ranks):
        mine = calls.rank == rank
        size[mine] = each.columns["bytes"][calls.given[mine]]
    found = []
    for kind in np.unique(calls.kind[calls.kind >= 0]):
        if CALL_CLASSES[kind] != "collective":
            continue
        these = calls.kind[calls.number] == kind
        by_rank = np.bincount(calls.rank[these], inside[these], len(ranks)).astype(float)
        count = int(np.bincount(calls.rank[these]).max())
        found.append(_Calls(int(kind), by_rank, count, float(size[these].mean())))
    return found
