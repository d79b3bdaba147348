# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies of a run: parallel = load balance x communication, communication = serialisation x transfer.

Definitions are those of the POP centre of excellence (co-design.pop-coe.eu/metrics). With useful time that of a rank
outside MPI on a core, and run time that of the whole run:

    load balance  = mean useful / max useful      (inside and between nodes as TALP splits it, bsc-pm/dlb)
    communication = max useful / run time
    serialisation = max useful / ideal time       (ideal time: the run on an ideal network)
    transfer      = ideal time / run time

The ideal time is Dimemas' or, if that is asked for, Scalasca's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.findings.data import Convention, Efficiency, Source
from rankwise.recording import Recording
from rankwise.recording.traces.timeline import RankEvents
from rankwise.replay.plain import LogGOPS, predict_plain
from rankwise.schedule.source import load

MOST_TRACE_BYTES = 64 << 20
"""Of coded traces; more takes a report longer than some 30 s."""

DIMEMAS_EAGER_BYTES = 32768
"""Eager limit of Dimemas where POP's tools call it (`Dimemas -S 32k`): larger messages wait for their receive."""


@dataclass(frozen=True)
class Computation:
    """How long each rank computed: outside MPI and on a core. All that is told of computation is told from this.

    Attributes:
        seconds: Of each rank, as far as that can be told.
        least_s: Of each rank, at least.
        most_s: Of each rank, at most.
        by: `trace`: by the processor time of the gaps between calls, as `seconds`, `least_s` and `most_s` alike.
            `clock`: by the time outside MPI; what a rank waited for a core may have been there or in MPI, and
            `seconds` is the most.
    """

    seconds: np.ndarray
    least_s: np.ndarray
    most_s: np.ndarray
    by: Source


class Replayed(NamedTuple):
    """A run on an ideal network, or why there is none."""

    ideal: IdealRun | None
    why_not: str | None


def efficiency(
    useful_s: np.ndarray,
    elapsed_s: float,
    node: np.ndarray,
    ideal_s: float | None = None,
    why_no_ideal: str | None = None,
) -> Efficiency:
    """The efficiencies of a run.

    Args:
        useful_s: Of each rank, outside MPI.
        elapsed_s: Run time.
        node: Of each rank.
        ideal_s: Run time on an ideal network.
        why_no_ideal: Why it is not known.

    Raises:
        RankwiseError: Nothing was computed, or it took no time.
    """
    most, mean = float(useful_s.max(initial=0)), float(useful_s.mean()) if len(useful_s) else 0.0
    if not most or elapsed_s <= 0:
        raise RankwiseError("no rank was outside of MPI for any time, so there are no efficiencies")
    counts = np.bincount(node)
    of_node = np.bincount(node, useful_s)[counts > 0]
    # With as many ranks on each node this is TALP's; with fewer on some, theirs is above 1 there.
    per_rank = float((of_node / counts[counts > 0]).max())
    return Efficiency(
        ranks=len(useful_s),
        elapsed_s=elapsed_s,
        useful_mean_s=mean,
        useful_max_s=most,
        parallel=mean / elapsed_s,
        load_balance=mean / most,
        load_balance_in_nodes=per_rank / most,
        load_balance_between_nodes=mean / per_rank,
        communication=most / elapsed_s,
        serialisation=None if ideal_s is None else most / ideal_s,
        transfer=None if ideal_s is None else ideal_s / elapsed_s,
        ideal_s=ideal_s,
        why_no_ideal=why_no_ideal if ideal_s is None else None,
    )


@dataclass(frozen=True)
class IdealRun:
    """A run on an ideal network, as Dimemas has it: latency 0, bandwidth without limit, a node for each rank.

    What remains is computation, and waiting for messages and for receives of messages above the eager limit.

    Attributes:
        time_s: Until the last rank ends.
        useful_s: Computation of each rank; of a recording without what it waited for a core.
    """

    time_s: float
    useful_s: np.ndarray


def ideal_run(schedule: _core.schedule.Schedule, eager_limit_bytes: int = DIMEMAS_EAGER_BYTES) -> IdealRun:
    """Replay on the ideal network.

    Raises:
        RankwiseError: Deadlock.
    """
    found = predict_plain(schedule, LogGOPS(S_bytes=eager_limit_bytes))
    return IdealRun(found.makespan_s, found.parts_s["computation"])


def replayed(recording: Recording) -> Replayed:
    """The run on the ideal network, or why it is not known."""
    why = why_not_replayed(recording)
    if why:
        return Replayed(None, why)
    try:
        source = load(recording.path)
        if source.span is None:
            return Replayed(None, "the trace is of a part of the run")
        found = ideal_run(source.whole(recording.path, "the ideal network"))
    except RankwiseError as error:
        return Replayed(None, error.message)
    if not found.useful_s.max(initial=0) > 0:
        return Replayed(None, "the trace has no computation")
    return Replayed(found, None)


def computation(recording: Recording, replay: Replayed | None = None) -> Computation | None:
    """How long each rank computed, by rank; `None` where times were not recorded, or nothing was computed.

    A trace has the processor time of what was between calls, where ranks waited for a core.

    Args:
        recording: The run.
        replay: Of `replayed`, if it is known already.
    """
    ranks = recording.ranks.sort("rank")
    outside_s, time_s = (ranks[name].to_numpy().astype(float) for name in ("compute_s", "time_s"))
    if not len(outside_s) or np.isnan(outside_s).any() or not outside_s.any() or not time_s.max() > 0:
        return None
    waits = ranks["runqueue_wait_s"]
    wait_s = np.zeros(len(time_s)) if waits.null_count() else waits.to_numpy().astype(float)
    least_s = np.clip(outside_s - wait_s, 0.0, None)
    most_s = np.clip(np.minimum(outside_s, time_s - wait_s), least_s, None)
    ideal = (replay or replayed(recording)).ideal
    try:
        events = recording.timeline().ranks if recording.context["trace"]["bytes"] else []
    except RankwiseError:
        events = []
    if len(events) == len(time_s):
        least_s, most_s, likely_s = _by_events(events, least_s, most_s)
    elif ideal is not None:
        least_s, likely_s = np.zeros(len(time_s)), ideal.useful_s
    if ideal is not None and len(ideal.useful_s) == len(time_s):
        likely_s = ideal.useful_s
    elif len(events) != len(time_s):
        return Computation(most_s, least_s, most_s, "clock")
    found_s = np.clip(likely_s, least_s, most_s)
    return Computation(found_s, found_s, found_s, "trace")


def _by_events(
    events: list[RankEvents], least_s: np.ndarray, most_s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least, the most and what is likely, of an exact trace; time between two polls is no computation."""
    asked_s = np.array([each.asked_s for each in events])
    least_s, most_s = np.clip(least_s - asked_s, 0.0, None), most_s.copy()
    likely_s = most_s.copy()
    for rank, each in enumerate(events):
        waits = each.core_waits
        if waits is None:
            continue
        gap_s = float(waits.gap_s.sum())
        most_s[rank] = max(min(most_s[rank], gap_s - float(waits.outside_bounds_s()[0].sum())), least_s[rank])
        likely_s[rank] = gap_s - each.asked_s - float(waits.outside_s().sum())
    return least_s, most_s, likely_s


def of_recording(
    recording: Recording, convention: Convention = "dimemas", replay: Replayed | None = None
) -> Efficiency | None:
    """The efficiencies of a recorded run, with its ideal time where that can be had.

    Args:
        recording: The run.
        convention: Of the ideal time. Dimemas': replay on the ideal network, if the trace is not too large. Scalasca's:
            `scalasca_ideal_s`.
        replay: Of `replayed`, if it is known already.

    Returns:
        `None` where times were not recorded, or nothing was computed.
    """
    replay = replay or replayed(recording)
    known = computation(recording, replay)
    if known is None or not known.seconds.any():
        return None
    ranks = recording.ranks.sort("rank")
    elapsed = ranks["time_s"].to_numpy().astype(float)
    run_s = float(elapsed.max())
    _, node = np.unique(ranks["host"].to_numpy(), return_inverse=True)
    # It takes no less than the rank that computes most.
    ideal_s = None if replay.ideal is None else max(replay.ideal.time_s, float(known.seconds.max()))
    why = replay.why_not
    if convention == "scalasca":
        ideal_s, why = _by_waits(recording, elapsed)
    found = efficiency(known.seconds, run_s, node, ideal_s, why)
    waits = ranks["runqueue_wait_s"]
    waited = None if waits.null_count() else float(waits.sum() / elapsed.sum())
    between = {} if known.by == "trace" else _between(known.least_s, known.most_s, run_s, node)
    return replace(found, core_waiting=waited, convention=convention, by=known.by, between=between)


def _between(
    least_s: np.ndarray, most_s: np.ndarray, run_s: float, node: np.ndarray
) -> dict[str, tuple[float, float]]:
    """The least and the most of what depends on useful time, if each rank's is anywhere between its bounds."""
    if np.array_equal(least_s, most_s):
        return {}
    ranks, counts = len(least_s), np.bincount(node)
    highest_s, lowest_s = float(most_s.max()), float(least_s.max())
    # Least even: one has its most and the others their least. Most even: none has more than one must have.
    uneven = (least_s.sum() - least_s + most_s) / ranks / np.maximum(most_s, lowest_s)
    even = float(np.minimum(most_s, lowest_s).mean()) / lowest_s if lowest_s else 1.0
    of_node = [
        float((np.bincount(node, each)[counts > 0] / counts[counts > 0]).max()) for each in (least_s, most_s)
    ]
    means = float(least_s.mean()), float(most_s.mean())

    def ratio(part: tuple[float, float], whole: tuple[float, float]) -> tuple[float, float]:
        least = part[0] / whole[1] if whole[1] else 0.0
        return min(least, 1.0), min(part[1] / whole[0], 1.0) if whole[0] else 1.0

    per_node = of_node[0], of_node[1]
    balance = float(uneven.min()), even
    one_node = int((counts > 0).sum()) == 1
    return {
        "useful_mean_s": means,
        "useful_max_s": (lowest_s, highest_s),
        "parallel": (means[0] / run_s, means[1] / run_s),
        "load_balance": balance,
        "load_balance_in_nodes": balance if one_node else ratio(per_node, (lowest_s, highest_s)),
        "load_balance_between_nodes": (1.0, 1.0) if one_node else ratio(means, per_node),
        "communication": (lowest_s / run_s, highest_s / run_s),
    }


def scalasca_ideal_s(time_s: np.ndarray, mpi_s: np.ndarray, waiting_s: np.ndarray, io_s: np.ndarray) -> float:
    """Ideal time as Cube's advisor has it of a Scalasca trace (Cube 4.8, `max_total_time_ideal`).

    It is the most of any rank's run time less its transfer time, which is its time in MPI less waiting and MPI I/O.

    Args:
        time_s: Of each rank, as all of these.
        mpi_s: In MPI.
        waiting_s: Of that, waiting for other ranks.
        io_s: Of that, in MPI I/O.
    """
    return float((time_s - np.clip(mpi_s - waiting_s - io_s, 0, None)).max())


def _by_waits(recording: Recording, elapsed: np.ndarray) -> tuple[float | None, str | None]:
    """Scalasca's ideal time, or why it is not known."""
    try:
        waits = recording.waits()
    except RankwiseError as error:
        return None, f"{error.message}; this needs `rankwise record --trace --exact-times`"
    in_files = recording.calls.filter(recording.calls["call"].str.starts_with("MPI_File_"))
    mpi_s = recording.ranks.sort("rank")["mpi_s"].to_numpy().astype(float)
    waiting_s, io_s = np.zeros(len(elapsed)), np.zeros(len(elapsed))
    np.add.at(waiting_s, waits["rank"].to_numpy(), waits["waiting_s"].to_numpy())
    np.add.at(io_s, in_files["rank"].to_numpy(), in_files["time_s"].to_numpy().astype(float))
    return scalasca_ideal_s(elapsed, mpi_s, waiting_s, io_s), None


def why_not_replayed(recording: Recording) -> str | None:
    """Why a report does not replay a recording; `None` if it does."""
    traced = recording.context["trace"]
    if not traced["ranks"]:
        return "this needs a trace (`rankwise record --trace`)"
    if recording.job is not None:
        return "the recording has several jobs, of which the largest is replayed"
    if traced["bytes"] > MOST_TRACE_BYTES:
        return f"the trace has more than {MOST_TRACE_BYTES >> 20} MiB, whose replay would take long"
    return None


NO_TRACE = (
    "not comparable: not all runs have a trace, and without one waiting for a core may be in computation"
)
OPEN = "not comparable: ranks waited for a core, and only a trace tells how much they computed"


def why_not_comparable(found: Iterable[Efficiency]) -> str | None:
    """Why efficiencies of some runs are not one quantity; `None` if they are."""
    known = list(found)
    if len({each.by for each in known}) > 1:
        return NO_TRACE
    return OPEN if any(each.is_open("parallel") for each in known) else None
