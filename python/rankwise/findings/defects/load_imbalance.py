# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that compute longer than others, which wait for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.findings.evidence import Evidence, Times
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.quantities import seconds_text
from rankwise.recording.completeness import ranks_text

NAME = "load-imbalance"
_LEAST_RATIO, _DEALS = 1.1, 10
PAGE = """\
Some ranks compute longer than the others, which wait for them in MPI.

What to do: give these ranks less work: parts of other sizes, other weights
for the partitioner, or work that is distributed while the program runs.

How it is detected: Rankwise compares the useful time of the ranks. Useful is
time outside MPI, and in MPI calls that read or write a file for this rank
alone. If a rank polls (MPI_Test, MPI_Iprobe), finds nothing and asks again at
once, or sleeps, the time between the polls is not useful; only a trace tells
how long it is. The others must really wait: they compute less, and must be in
MPI for at least as much longer. (With exact times, transfers do not count as
waiting.)

Shown if: fixing it saves 5 % of the run time and 10 ms, and these ranks
compute 1.1 times as long as the others. Smaller differences also come by
chance.

Its cost: the useful time of the rank that computes longest, minus the mean.
Evenly distributed work would save that, if the ranks wait for each other
again and again. It is never more than the time that the others waited.

If ranks waited for a core, that may have been inside or outside MPI. So all
of this time is subtracted, and perhaps nothing is left. Then a trace helps:
it has the processor time between calls, and gives a finding with medium
confidence. Without a trace, the report says that this could not be judged.
Some ranks lose time for other reasons: interrupts, the host of a virtual
machine, or memory that must be read from a disk. That time is subtracted,
too: see straggler.

It is wrong if: every rank gets the same work, and the run takes as long. Or
this rank gets another core, and then computes as long as the others: then its
core was slow, and the work was even.
"""


def find(evidence: Evidence) -> list[Finding]:
    """Those that compute longest, for sure; where ranks waited for a core, those that probably do.

    Raises:
        RankwiseError: As `Evidence.times`; or ranks waited for a core, and it depends on where they did.
    """
    times = evidence.times
    if len(times.time_s) < 2:
        return []
    taken_s, share = evidence.taken_s, evidence.core_waiting or 0.0
    found = _found(evidence, times.useful_least_s - taken_s, times.useful_most_s, _waited_s(evidence, times))
    if found or share < LEAST_SHARE:
        return found
    waited = f"ranks waited for a core for {share * 100:.0f} % of their time"
    computed, core_s = (
        evidence.computation,
        np.zeros(len(times.time_s)) if times.core_s is None else times.core_s,
    )
    if computed is None or computed.by == "clock":
        # At worst, one rank had all of its waiting in MPI, and the others outside.
        uneven = times.useful_least_s.copy()
        most_s = np.minimum(times.useful_most_s, times.time_s - core_s)
        worst = int(np.argmax(most_s * (len(uneven) - 1) + uneven))
        uneven[worst] = max(most_s[worst], uneven[worst])
        if not _found(evidence, uneven - taken_s, uneven, times.time_s):
            return []
        raise RankwiseError(
            f"it could not be judged, because {waited}, in MPI or outside",
            "`rankwise record --trace` tells how much they computed",
        )
    on_core_s = computed.seconds
    waited_s = np.clip(times.elapsed_s - on_core_s - core_s, 0, None)
    try:
        sure = evidence.waits.select("rank", "transfer_least_s").drop_nulls()
        np.subtract.at(waited_s, sure["rank"].to_numpy(), sure["transfer_least_s"].to_numpy())
    except RankwiseError:
        pass  # not told apart
    return [
        replace(
            each,
            evidence=[
                *each.evidence,
                f"{waited}: how long they computed is known from their processor time between calls",
            ],
            confidence="medium",
        )
        for each in _found(evidence, on_core_s - taken_s, on_core_s, np.clip(waited_s, 0, None))
    ]


def _found(evidence: Evidence, least: np.ndarray, most: np.ndarray, waited_s: np.ndarray) -> list[Finding]:
    """What is told if ranks compute at least and at most so long, and may have waited so long for others."""
    times = evidence.times
    top = int(np.argmax(least))
    rest = np.arange(len(most)) != top
    # What is sure: the least of the one with most, the most of the others.
    mean_s = float((least[top] + most[rest].sum()) / len(most))
    cost_s = min(float(least[top]) - mean_s, float(waited_s[rest].sum()) / len(most))
    if cost_s < max(LEAST_S, LEAST_SHARE * times.elapsed_s):
        return []
    heavy = least >= (float(least[top]) + mean_s) / 2
    others_s = float(most[~heavy].mean())
    ratio = float(least[heavy].mean()) / others_s if others_s > 0 else np.inf
    if ratio < _LEAST_RATIO:
        return []
    ranks = [int(rank) for rank in np.flatnonzero(heavy)]
    still = float(times.still_s[heavy].mean()) > (float(least[heavy].mean()) - others_s) / 2
    does = ("is", "are") if still else ("computes", "compute")
    files_s = float(times.files_s[heavy].mean())
    in_files = files_s - float(times.files_s[~heavy].mean()) > (float(least[heavy].mean()) - others_s) / 2
    what = does[len(ranks) > 1] + (" outside MPI" if still else "")
    if in_files:
        uses = ("uses files and computes", "use files and compute")
        what = uses[len(ranks) > 1]
    much = (
        f"{ratio:.1f} times as long as the mean of the others"
        if ratio < 100
        else "while the others do next to nothing"
    )
    # One or few that do next to nothing may be there to deal the work.
    deals = ratio >= _DEALS and len(ranks) > len(most) / 2
    who = ranks_text(ranks)
    lines = [
        f"{seconds_text(float(least[heavy].mean()))} against {seconds_text(others_s)} of the others, in a run of "
        f"{seconds_text(times.elapsed_s)}",
    ]
    if still:
        lines.append(
            f"{who} stood still for {seconds_text(float(times.still_s[heavy].mean()))} of that: "
            f"{'they slept, were' if len(ranks) > 1 else 'it slept, was'} stopped, or waited for a file or another "
            "thread"
        )
    if in_files:
        lines.append(
            f"{who} spent {seconds_text(files_s)} of that in MPI calls that read or write a file for the rank alone"
        )
    lines.append(
        f"the others are in MPI for {seconds_text(float(times.mpi_s[~heavy].mean()))}, "
        f"{who} for {seconds_text(float(times.mpi_s[heavy].mean()))}"
    )
    if at := evidence.others_wait_at(np.flatnonzero(~heavy).tolist()):
        lines.append(f"{at}: look at the work before that call")
    early_s = times.elapsed_s - float(times.time_s[~heavy].mean())
    if early_s >= max(LEAST_S, LEAST_SHARE * times.elapsed_s):
        lines.append(f"the others call MPI_Finalize {seconds_text(early_s)} earlier, and wait there")
    return [
        Finding(
            name=NAME,
            sentence=f"{who} {what} {much}",
            evidence=lines,
            ranks=ranks,
            cost_s=cost_s,
            estimate="the most useful time of a rank less the mean, and no more than the others waited",
            do=f"give {who} less of the work, or find out why the same work takes longer there",
            command=None
            if len(evidence.recording.call_sites)
            else evidence.record_command("--trace", "--exact-times", "--callsites"),
            # A rank that hardly waits itself is on the critical path.
            confidence="high" if least[top] >= 0.8 * times.elapsed_s and not deals else "medium",
            refuted_by="the others deal the work to these, or are there for something else"
            if deals
            else "a run with the same work on every rank that takes as long",
        )
    ]


def _waited_s(evidence: Evidence, times: Times) -> np.ndarray:
    """What each rank may have waited for others: after its end, and in MPI without what is known to be transfer."""
    waited = times.mpi_s + times.elapsed_s - times.time_s
    if times.core_s is not None:
        waited = waited - np.minimum(times.core_s, times.mpi_s)
    try:
        calls = evidence.waits
    except RankwiseError:
        return waited
    for rank, time_s, waiting_s in calls.select("rank", "time_s", "waiting_s").iter_rows():
        waited[rank] -= time_s - waiting_s
    return np.clip(waited, 0, None)
