# SPDX-License-Identifier: BSD-3-Clause
"""How a program scales: POP's efficiencies of runs on different numbers of ranks.

Definitions are those of the POP centre of excellence (co-design.pop-coe.eu/metrics). With p ranks, and the run on the
fewest as reference:

    global efficiency   = parallel efficiency x computation scaling
    computation scaling = useful time of all ranks in the reference / that of all ranks here     (strong)
                        = the same x p here / p in the reference                                 (weak)
    instruction scaling = likewise of instructions
    IPC scaling         = instructions a cycle here / in the reference
    frequency scaling   = cycles a second of useful time here / in the reference
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np

import rankwise
from rankwise.compare.numbers import counted
from rankwise.errors import RankwiseError
from rankwise.findings.efficiency import of_recording, why_not_comparable
from rankwise.recording import Recording

SCHEMA: Final = "rankwise.scaling/1"
Kind = Literal["strong", "weak"]
_WEAK_FROM = 0.9
_MOST_MPI = 0.05


class ScalingRow(msgspec.Struct, frozen=True):
    """One run.

    Attributes:
        recording: Its path.
        ranks: How many.
        time_s: Run time.
        speed_up: Of the reference's time; of weak scaling, times the ratio of ranks.
        global_efficiency: Parallel efficiency x computation scaling; all efficiencies and scalings are `null` where
            `Scaling.no_efficiencies` says why.
        parallel: As of `Efficiency`.
        load_balance: Likewise.
        communication: Likewise.
        serialisation: Likewise; `null` where the ideal time is not known.
        transfer: Likewise.
        core_wait_share: Share of the ranks' time in which they waited for a core; `null` if it was not sampled in all.
        computation_scaling: 1 for the reference.
        instruction_scaling: `null` where `Scaling.why_no_counters` says why.
        ipc_scaling: Likewise.
        frequency_scaling: Likewise.
    """

    recording: str
    ranks: int
    time_s: float
    speed_up: float
    global_efficiency: float | None
    parallel: float | None
    load_balance: float | None
    communication: float | None
    computation_scaling: float | None
    instruction_scaling: float | None
    ipc_scaling: float | None
    frequency_scaling: float | None
    serialisation: float | None = None
    transfer: float | None = None
    core_wait_share: float | None = None


class Scaling(msgspec.Struct, frozen=True):
    """Runs of a program on different numbers of ranks, the fewest first.

    Attributes:
        schema: Name and version of this document.
        rankwise: Version that made it.
        kind: `strong` (the same work for all) or `weak` (the same work a rank).
        assumed: Whether that was told from the runs: weak if work per rank stays above 0.9 of the reference's.
        why_no_counters: Why there are no instructions, IPC and frequency.
        rows: A run each.
        no_efficiencies: Why the efficiencies of these runs are not one quantity; `null` where they are.
    """

    schema: str
    rankwise: str
    kind: Kind
    assumed: bool
    why_no_counters: str | None
    rows: list[ScalingRow]
    no_efficiencies: str | None = None


def scaling(recordings: Sequence[Recording], kind: Kind | None = None) -> Scaling:
    """The table.

    Args:
        recordings: At least two, on different numbers of ranks.
        kind: Strong or weak; told from the runs if `None`.

    Raises:
        RankwiseError: A run has no times.
    """
    runs = sorted(recordings, key=lambda each: each.world_size)
    found = []
    for run in runs:
        efficiency = of_recording(run)
        if efficiency is None:
            raise RankwiseError(
                f"`{run.path}` has no times, so it has no efficiencies", "record without `--counts`"
            )
        found.append(efficiency)
    ranks = np.array([each.ranks for each in found], float)
    no_efficiencies = why_not_comparable(found)
    useful = np.array([each.useful_mean_s for each in found]) * ranks
    counters, why = _counters(runs)
    if no_efficiencies is not None:
        # What is the same quantity in all runs: the time outside MPI.
        useful = np.array([float(run.ranks["compute_s"].to_numpy().sum()) for run in runs])
        counters, why = None, no_efficiencies
    work = useful if counters is None else counters[0]
    per_rank = (work / work[0]) / (ranks / ranks[0])
    chosen: Kind = kind or ("weak" if float(per_rank[1:].mean()) > _WEAK_FROM else "strong")
    more = ranks / ranks[0] if chosen == "weak" else np.ones(len(ranks))
    computation = useful[0] / useful * more
    rows = []
    for at, (run, each) in enumerate(zip(runs, found, strict=True)):
        time_s, speed_up = each.elapsed_s, float(found[0].elapsed_s / each.elapsed_s * more[at])
        if no_efficiencies is not None:
            rows.append(ScalingRow(str(run.path), each.ranks, time_s, speed_up, *[None] * 8))
            continue
        instructions = ipc = frequency = None
        if counters is not None:
            count, cycles = counters
            instructions = float(count[0] / count[at] * more[at])
            ipc = float(count[at] / cycles[at] / (count[0] / cycles[0]))
            frequency = float(cycles[at] / useful[at] / (cycles[0] / useful[0]))
        rows.append(
            ScalingRow(
                recording=str(run.path),
                ranks=each.ranks,
                time_s=time_s,
                speed_up=speed_up,
                global_efficiency=float(each.parallel * computation[at]),
                parallel=each.parallel,
                load_balance=each.load_balance,
                communication=each.communication,
                computation_scaling=float(computation[at]),
                instruction_scaling=instructions,
                ipc_scaling=ipc,
                frequency_scaling=frequency,
                serialisation=each.serialisation,
                transfer=each.transfer,
                core_wait_share=_core_wait_share(run),
            )
        )
    return Scaling(SCHEMA, rankwise.__version__, chosen, kind is None, why, rows, no_efficiencies)


def _core_wait_share(run: Recording) -> float | None:
    waited, time_s = run.ranks["runqueue_wait_s"], float(run.ranks["time_s"].sum())
    return None if waited.null_count() or not time_s else min(float(waited.sum()) / time_s, 1.0)


def _counters(runs: Sequence[Recording]) -> tuple[tuple[np.ndarray, np.ndarray] | None, str | None]:
    """Instructions and cycles of all ranks by run, or why they say nothing of computation."""
    known = [counted(run) for run in runs]
    if not all("instructions" in each and "cycles" in each for each in known):
        return None, "not all runs have counted instructions and cycles"
    for run in runs:
        mpi = run.ranks["mpi_s"]
        if mpi.null_count() or float(mpi.sum()) > _MOST_MPI * float(run.ranks["time_s"].sum()):
            return None, (
                "counters are of whole ranks, looking for messages in MPI included, and MPI takes more than 5 % of "
                "the time"
            )
    instructions, cycles = (
        np.array([each[name] for each in known], float) for name in ("instructions", "cycles")
    )
    return (instructions, cycles), None


def json_schema() -> dict[str, Any]:
    """JSON schema of `Scaling`."""
    return msgspec.json.schema(Scaling)
