# SPDX-License-Identifier: BSD-3-Clause
"""The POP efficiencies of a run: parallel = load balance x communication, communication = serialisation x transfer.

Definitions are those of the POP centre of excellence (co-design.pop-coe.eu/metrics). With useful time that of a rank
outside MPI, and run time that of the whole run:

    load balance  = mean useful / max useful      (inside and between nodes as TALP splits it, bsc-pm/dlb)
    communication = max useful / run time
    serialisation = max useful / ideal time       (ideal time: the run on an ideal network)
    transfer      = ideal time / run time

The ideal time is Dimemas' or, if that is asked for, Scalasca's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.recording import Recording
from rankwise.replay.plain import LogGOPS, predict_plain
from rankwise.schedule.source import load

MOST_TRACE_BYTES = 64 << 20
"""Of coded traces; more takes a report longer than some 30 s."""

Convention = Literal["dimemas", "scalasca"]
"""Ideal time by replay on an ideal network, or the run's own without what calls took to transfer."""

DIMEMAS_EAGER_BYTES = 32768
"""Eager limit of Dimemas where POP's tools call it (`Dimemas -S 32k`): larger messages wait for their receive."""


@dataclass(frozen=True)
class Efficiency:
    """How well a run used its cores; 1 is best, and below 0.8 something is worth mending (POP).

    Attributes:
        ranks: How many.
        elapsed_s: Run time, from when the last rank has left MPI_Init to when the last one enters MPI_Finalize.
        useful_mean_s: Time outside MPI, mean of the ranks.
        useful_max_s: Of the rank where it is most.
        parallel: Load balance x communication.
        load_balance: In nodes x between nodes.
        load_balance_in_nodes: Of the node whose ranks compute most: its mean over the most of any rank.
        load_balance_between_nodes: Mean of the nodes over the most of them.
        communication: Serialisation x transfer.
        serialisation: `None` where the ideal time is not known.
        transfer: Likewise. More than 1 where the replay is slower than the run.
        ideal_s: Run time on an ideal network.
        why_no_ideal: Why that is not known.
        convention: Whose ideal time it is (`Convention`).
        core_waiting: Part of the ranks' time in which they waited for a core: it is in `transfer` or, where computation
            is timed by the clock alone, in useful time; `None` where it is not known.
    """

    ranks: int
    elapsed_s: float
    useful_mean_s: float
    useful_max_s: float
    parallel: float
    load_balance: float
    load_balance_in_nodes: float
    load_balance_between_nodes: float
    communication: float
    serialisation: float | None = None
    transfer: float | None = None
    ideal_s: float | None = None
    why_no_ideal: str | None = None
    core_waiting: float | None = None
    convention: Convention = "dimemas"


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


def of_recording(recording: Recording, convention: Convention = "dimemas") -> Efficiency | None:
    """The efficiencies of a recorded run, with its ideal time where that can be had.

    Args:
        recording: The run.
        convention: Of the ideal time. Dimemas': replay on the ideal network, if the trace is not too large. Scalasca's:
            `scalasca_ideal_s`.

    Returns:
        `None` where times were not recorded, or nothing was computed.
    """
    ranks = recording.ranks.sort("rank")
    useful = ranks["compute_s"].to_numpy().astype(float)
    elapsed = ranks["time_s"].to_numpy().astype(float)
    if not len(useful) or np.isnan(useful).any() or not useful.any() or not elapsed.max() > 0:
        return None
    _, node = np.unique(ranks["host"].to_numpy(), return_inverse=True)
    waits = ranks["runqueue_wait_s"]
    waited = None if waits.null_count() else float(waits.sum() / elapsed.sum())
    if convention == "scalasca":
        found = _by_waits(recording, useful, elapsed, node)
        return replace(found, core_waiting=waited, convention=convention)
    ideal, span_s, why = _ideal_of(recording)
    if ideal is not None and ideal.useful_s.max(initial=0) > 0:
        found = efficiency(ideal.useful_s, span_s or float(elapsed.max()), node, ideal.time_s)
    else:
        found = efficiency(useful, float(elapsed.max()), node, None, why or "the trace has no computation")
    return replace(found, core_waiting=waited)


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


def _by_waits(recording: Recording, useful: np.ndarray, elapsed: np.ndarray, node: np.ndarray) -> Efficiency:
    run_s = float(elapsed.max())
    try:
        waits = recording.waits()
    except RankwiseError as error:
        why = f"{error.message}; that takes `rankwise record --trace --exact-times`"
        return efficiency(useful, run_s, node, None, why)
    in_files = recording.calls.filter(recording.calls["call"].str.starts_with("MPI_File_"))
    waiting_s, io_s = np.zeros(len(elapsed)), np.zeros(len(elapsed))
    np.add.at(waiting_s, waits["rank"].to_numpy(), waits["waiting_s"].to_numpy())
    np.add.at(io_s, in_files["rank"].to_numpy(), in_files["time_s"].to_numpy().astype(float))
    ideal_s = scalasca_ideal_s(elapsed, elapsed - useful, waiting_s, io_s)
    return efficiency(useful, run_s, node, ideal_s)


def _ideal_of(recording: Recording) -> tuple[IdealRun | None, float | None, str | None]:
    """The run on the ideal network and how long it took by the same clock, or why they are not known."""
    why = why_not_replayed(recording)
    if why:
        return None, None, why
    try:
        source = load(recording.path)
        if source.span is None:
            return None, None, "the trace is of a part of the run"
        schedule = source.whole(recording.path, "the ideal network")
        return ideal_run(schedule), source.span.time_s, None
    except RankwiseError as error:
        return None, None, error.message


def why_not_replayed(recording: Recording) -> str | None:
    """Why a report does not replay a recording; `None` if it does."""
    traced = recording.context["trace"]
    if not traced["ranks"]:
        return "that takes a trace: `rankwise record --trace`"
    if recording.job is not None:
        return "the recording has several jobs, of which the largest is replayed"
    if traced["bytes"] > MOST_TRACE_BYTES:
        return f"the trace has more than {MOST_TRACE_BYTES >> 20} MiB, whose replay would take long"
    return None
