# SPDX-License-Identifier: BSD-3-Clause
"""Ranks come late to collectives, though all compute as long in the end."""

from __future__ import annotations

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.findings.steps import Steps, groups_of, steps_of
from rankwise.quantities import counted, seconds_text
from rankwise.recording.completeness import ranks_text
from rankwise.recording.raw import CALL_NAMES

NAME = "late-collective"
_LEAST_RATIO = 1.1
PAGE = """\
Ranks wait in a collective for one rank that comes late, although over the
whole run all ranks compute about equally long. In each step another rank is
late. Or a root computes before it calls MPI_Bcast.

What to do: distribute the work of each step evenly, not only that of the
whole run. Or reduce waiting: leave out barriers that you do not need, put
several collectives into one, or use nonblocking ones (MPI_Iallreduce) and
compute before you wait for them. If a root is late: let it call the
collective before the computation that the collective does not need.

How it is detected: from a trace with exact times, in two ways.
- Steps (Scalasca: Wait at Barrier, Wait at NxN). A step ends with a
  collective that no rank can leave before all have come (barrier, allreduce,
  alltoall, allgather, reduce_scatter, fence), and begins with the one before
  it. Its ranks are all ranks, or those of one communicator. A step loses the
  time by which the rank that computes longest in it exceeds the mean, but no
  more than the mean time that the ranks waited in the call.
- Roots (Scalasca: Late Broadcast, Early Reduce). A rank that gets data from
  the root waits until the root has come. A root that gets data from all ranks
  waits until the last one has come. Only time in which the late rank was
  outside MPI counts.

Shown if: fixing it saves 5 % of the run time and 10 ms. For steps, the rank
that computes longest must also compute 1.1 times as long as the others.

Its cost: for steps, the sum of what they lose, minus the time by which one
rank exceeds the mean over the whole run (that is load-imbalance). For a root,
the time that ranks waited for it, minus the time by which the root computes
longer than they do over the whole run. The cost is never more than the run
time minus the computation of the rank that computes longest.

Time in which ranks waited for a core is subtracted. If a late root may still
cost enough, the report says that this could not be judged.

It is wrong if: every rank gets the same work in each step, and the run takes
as long. Or the late ranks are those that the system interrupts.
"""


def find(evidence: Evidence) -> list[Finding]:
    """That of steps, or of the root, which costs more.

    Raises:
        RankwiseError: As `Evidence.costly_pairs`, and there is none of steps.
    """
    steps = _of_steps(evidence)
    try:
        roots = _of_roots(evidence)
    except RankwiseError:
        if steps is None:
            raise
        roots = None
    found = [each for each in (steps, roots) if each]
    return sorted(found, key=lambda each: -(each.cost_s or 0.0))[:1]


def _of_steps(evidence: Evidence) -> Finding | None:
    times = evidence.times
    known = [
        (steps.moving_s(times.core_outside_s[group]), group, steps)
        for group in groups_of(evidence.timeline)
        if (steps := steps_of(evidence.timeline, group)) is not None
    ]
    if not known:
        return None
    cost_s, group, steps = max(known, key=lambda each: each[0])
    if len(group) < len(times.time_s):
        # Ranks of other groups may be what the run waits for.
        cost_s = min(cost_s, times.elapsed_s - float(times.useful_least_s.max()))
    useful, top = steps.useful_s, steps.useful_s.argmax(axis=0)
    most = useful.max(axis=0)
    others_s = float((useful.sum(axis=0) - most).sum()) / (len(useful) - 1)
    ratio = float(most.sum()) / others_s if others_s > 0 else np.inf
    if cost_s < max(LEAST_S, LEAST_SHARE * times.elapsed_s) or ratio < _LEAST_RATIO:
        return None
    call, lost = _costliest(steps)
    share = lost / steps.lost_s().sum()
    by_rank = np.bincount(top, weights=steps.lost_s(), minlength=len(useful))
    late = [group[at] for at in np.argsort(-by_rank) if by_rank[at] >= by_rank.max() / 2]
    waiting = group[int(np.argmax(steps.waited_s.sum(axis=1)))]
    who = "ranks" if len(group) == len(times.time_s) else ranks_text(group)
    at = evidence.place_of(waiting, call)
    return Finding(
        name=NAME,
        sentence=f"{who} take turns in coming late to {call}" + (f" at {at}" if at else ""),
        evidence=[
            f"in {counted(len(top), 'step')} the rank that computes longest does so for "
            + (f"{ratio:.1f} times as long as the mean of the others" if ratio < 100 else "nearly all of it")
            + f"; {ranks_text(sorted(late[:8]))} most often",
            f"ranks wait {seconds_text(float(steps.waited_s.mean(axis=0).sum()))} for the last of them, mean"
            + (f"; {share * 100:.0f} % of what is lost is there" if share < 0.95 else ""),
        ],
        ranks=sorted(late),
        cost_s=cost_s,
        estimate="what the longest rank of each step computes more than the mean, less what is so over the whole run",
        do="deal the work of each step evenly, or let ranks wait for each other less often: fewer or nonblocking "
        "collectives",
        command=_command(evidence),
        confidence="medium",
        refuted_by="a run with the same work on every rank in each step that takes as long",
    )


def _costliest(steps: Steps) -> tuple[str, float]:
    lost = np.bincount(steps.kind, weights=steps.lost_s())
    return str(CALL_NAMES[int(lost.argmax())]), float(lost.max())


def _of_roots(evidence: Evidence) -> Finding | None:
    times = evidence.times
    pairs = [pair for pair in evidence.late_pairs if pair.need == "member"]
    costly = evidence.costly_pairs(pairs, times.elapsed_s - float(times.useful_least_s.max()))
    if not costly:
        return None
    cost_s, pair = costly[0]
    call = str(CALL_NAMES[pair.waiting_call])
    at = evidence.place_of(pair.waiting, call)
    return Finding(
        name=NAME,
        sentence=f"rank {pair.waiting} waits {seconds_text(pair.waited_s)} in {call}"
        + (f" at {at}" if at else "")
        + f" for rank {pair.late}, which comes late",
        evidence=[
            f"{counted(pair.messages, 'call')}; rank {pair.late} computes before it",
            *(other.in_same_way_text() for _, other in costly[1:4]),
        ],
        ranks=[pair.late, pair.waiting],
        cost_s=cost_s,
        estimate="that waiting, and no more than the run is longer than the rank that computes most",
        do=f"have rank {pair.late} call {call} before it computes what that does not need, or rank {pair.waiting} "
        "compute before it",
        command=_command(evidence),
        confidence="medium",
        refuted_by="the call needs all that the late rank computes before it",
    )


def _command(evidence: Evidence) -> str | None:
    if len(evidence.recording.call_sites):
        return None
    return evidence.record_command("--trace", "--exact-times", "--callsites")
