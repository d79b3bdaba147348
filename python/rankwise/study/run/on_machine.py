# SPDX-License-Identifier: BSD-3-Clause
"""Cases predicted for a machine file."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rankwise.explain.explanation import explain
from rankwise.explain.timeline import NONE, RECEIVE, SEND, Timeline
from rankwise.machine.channels import NETWORK
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.schedules import Schedule
from rankwise.schedule.source import Source, load
from rankwise.study.cases import Case, Outcome
from rankwise.study.cost import MULTIPLIES, cost_of, multiplication_s
from rankwise.study.counts import library_of
from rankwise.study.platforms import Platform
from rankwise.workloads import program, schedule

PICOSECOND = 1e-12
_FEW_OPERATIONS = 20_000_000
"""What is kept of each operation for the network's time; larger programs are replayed without."""


def predict(case: Case, platform: Platform) -> Outcome:
    """What a case is predicted to do on a machine.

    Raises:
        RankwiseError: The ranks do not fit its nodes, or the program cannot be replayed.
    """
    predictor = _predictor(case, platform)
    placement = case.seats.on(platform.topology, case.ranks)
    prediction = predictor.predict(placement)
    in_mpi = {part: times for part, times in prediction.parts_s.items() if part != "computation"}
    waiting = in_mpi.pop("waiting")
    channels = prediction.channels
    small = predictor.schedules.on(placement).operations <= _FEW_OPERATIONS
    return Outcome(
        time_s=prediction.makespan_s,
        computation_s=_computing(prediction.parts_s).tolist(),
        waiting_s=waiting.tolist(),
        sending_s=prediction.parts_s["overhead"].tolist(),
        network_messages=channels.get(NETWORK, (0, 0))[0],
        network_bytes=channels.get(NETWORK, (0, 0))[1],
        channels=channels,
        network_s=_network_s(predictor, placement) if small else None,
        why_not="a prediction has no counters",
    )


def _computing(parts: dict[str, np.ndarray]) -> np.ndarray:
    """What a profiler of MPI calls would take for computation: also what others made it longer."""
    return parts["computation"] + sum(parts[name] for name in ("core_sharing", "memory", "interrupts"))


def _network_s(predictor: Predictor, placement: Placement) -> float:
    """Time of all ranks in the network's send and progress calls.

    That is the processor time of messages between nodes, and the time in which a rank has nothing to do but to look
    whether such a message has come or gone.
    """
    timeline = Timeline.of(explain(predictor, placement))
    node = placement.node
    has_partner = timeline.partner != NONE
    peer = np.where(has_partner, timeline.partner, 0)
    crosses = has_partner & (node[timeline.rank] != node[timeline.rank[peer]])
    message = (timeline.kind == SEND) | (timeline.kind == RECEIVE)
    waiting = (timeline.gap_to - timeline.gap_from)[crosses[timeline.gap_op]]
    working = (timeline.end - timeline.begin)[crosses & message]
    return float(np.sum(waiting, dtype=float) + np.sum(working, dtype=float)) * PICOSECOND


def _predictor(case: Case, platform: Platform) -> Predictor:
    chosen = case.program.on(case.ranks)
    chosen.check_known()
    if chosen.recording is not None:
        return Predictor.of(load(chosen.recording), platform.machine, platform.topology)
    cost = cost_of(chosen.workload, platform.machine, case.bytes_per_operation)
    others = cost_of("", platform.machine) if chosen.workload in MULTIPLIES else cost
    source = Source(_schedule(case, others.operations_per_s, library_of(platform), platform.machine))
    bound = np.full(case.ranks, cost.memory_bound) if cost.memory_bound else None
    return Predictor.of(source, platform.machine, platform.topology, memory_bound=bound)


@lru_cache(maxsize=8)
def _made(
    workload: str,
    problem_class: str,
    options: tuple[tuple[str, str], ...],
    ranks: int,
    iterations: int,
    operations_per_s: float,
    library: str,
    computation: float,
    multiplication_s: float,
) -> Schedule:
    made = program(workload, problem_class, ranks, iterations or None, dict(options))
    # Terms of 1, m, n, k, mn, mk, nk, mnk, mmn.
    blas = {
        "dgemm": np.array([0.0] * 7 + [multiplication_s, 0.0]),
        "dtrsm": np.array([0.0] * 8 + [0.5 * multiplication_s]),
    }
    return schedule(made, operations_per_s, library, computation, blas)


def _schedule(case: Case, operations_per_s: float, library: str, machine: Machine) -> Schedule:
    chosen = case.program.on(case.ranks)
    return _made(
        chosen.workload,
        chosen.problem_class,
        chosen.options,
        case.ranks,
        case.iterations,
        operations_per_s,
        library,
        case.computation,
        multiplication_s(machine),
    )
