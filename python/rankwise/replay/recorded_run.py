# SPDX-License-Identifier: BSD-3-Clause
"""The run that was recorded beside its prediction: what the model is known to be off by on the machine it ran on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankwise.explain.unexplained import MOST_OPERATIONS, Unexplained, unexplained
from rankwise.machine.placement import Placement
from rankwise.quantities import counted

if TYPE_CHECKING:
    from rankwise.machine.file import Machine
    from rankwise.machine.topology import Topology
    from rankwise.replay.predict import Predictor
    from rankwise.schedule.source import Source

ONE_RUN = 0.02
"""Two runs of a program on the same cores, standard deviation of the logarithm of their times."""

ONE_PLACEMENT = 0.035
"""What the replay misses of one placement and not of others, likewise."""

_OWN_SHARE = 1 / 3  # of what it misses, where that is much
FAR = 1.15
"""Run and replay that differ by more are told apart: where in the run the difference is."""


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run beside its prediction.

    Attributes:
        recorded_s: From when the last rank has left MPI_Init to when the last rank enters MPI_Finalize.
        predicted_s: The same, predicted.
        rank_recorded_s: Until each rank enters MPI_Finalize.
        rank_predicted_s: The same, predicted.
        unexplained: Where in the run that difference is, the largest part first; empty where it is small.
    """

    recorded_s: float
    predicted_s: float
    rank_recorded_s: np.ndarray
    rank_predicted_s: np.ndarray
    unexplained: tuple[Unexplained, ...] = ()

    @property
    def error(self) -> float:
        """Predicted over recorded, less 1."""
        return self.predicted_s / self.recorded_s - 1

    @property
    def rank_errors(self) -> np.ndarray:
        """The same of each rank."""
        return self.rank_predicted_s / np.maximum(self.rank_recorded_s, 1e-12) - 1

    @property
    def factor(self) -> float:
        """What predictions are off by in either direction, 1 or more."""
        return max(self.predicted_s / self.recorded_s, self.recorded_s / self.predicted_s)

    @property
    def weight(self) -> float:
        """How much of what the replay missed is taken to be missed everywhere: of its logarithm, 0 to 1.

        The estimate of an effect from one observation of it, whose own size says how large effects are; the rest is the
        run's and the placement's (formats/loggops.md, "Anchored at a recorded run").
        """
        missed = math.log(self.factor) ** 2
        return missed / (missed + ONE_RUN**2 + ONE_PLACEMENT**2)

    def scale(self, replayed_s: float) -> float:
        """What replayed times are multiplied by, if the recorded placement is replayed in this time."""
        return (self.recorded_s / replayed_s) ** self.weight

    def spread(self, as_recorded: bool) -> float:
        """Standard deviation of the logarithm of what an anchored time is off by.

        Args:
            as_recorded: Whether the ranks are where they were recorded.
        """
        missed = math.log(self.factor)
        if as_recorded:
            return math.hypot(ONE_RUN, (1 - self.weight) * missed)
        own = max(ONE_PLACEMENT, _OWN_SHARE * missed)
        return math.sqrt((1 + self.weight) * (own**2 + ONE_RUN**2))


def misfit(recorded: Placement | None, topology: Topology) -> str | None:
    """Why the ranks cannot be put where they were recorded; None if they ran on nodes like these."""
    if recorded is None:
        return "it is not known where its ranks ran"
    ran_on, there = len(recorded.node_names), len(topology.nodes)
    if ran_on > there:
        return f"its ranks ran on {counted(ran_on, 'node')}, the machine has {there}"
    wanted, found = recorded.topology_sha256, [node.sha256 for node in topology.nodes[:ran_on]]
    if list(wanted) == found:
        return None
    return "its ranks ran on nodes with another topology than the machine's"


def fits(recorded: Placement | None, topology: Topology) -> bool:
    """Whether the ranks ran on nodes like these."""
    return misfit(recorded, topology) is None


def is_of(lab_rate_bytes_per_s: float | None, machine: Machine) -> bool:
    """Whether a machine file is of the lab that a run was made in, or of no lab where there was none.

    Labs of one topology have interfaces of different rates; files of earlier versions do not say theirs.
    """
    if lab_rate_bytes_per_s is None:
        return machine.node.host_cores is None
    rate = machine.context.get("lab_rate_bytes_per_s", lab_rate_bytes_per_s)
    return machine.node.host_cores is not None and rate == lab_rate_bytes_per_s


def recorded_run(source: Source, predictor: Predictor) -> RecordedRun | None:
    """Replay the run as it was recorded.

    Args:
        source: What was recorded.
        predictor: Of the machine as it was measured, with nothing changed by hand.

    Returns:
        `None` if the input does not say where it ran and how long it took, or ran on other nodes than the machine's.
    """
    if source.span is None or not fits(source.recorded, predictor.topology):
        return None
    if source.kind == "recording" and not is_of(source.lab_rate_bytes_per_s, predictor.machine):
        return None
    prediction = predictor.predict(source.recorded)
    if prediction.makespan_s <= 0 or source.span.time_s <= 0:
        return None
    run = RecordedRun(source.span.time_s, prediction.makespan_s, source.span.rank_s, prediction.finish_s)
    timeline = source.calls and not source.in_windows and source.schedule.operations <= MOST_OPERATIONS
    if run.factor <= FAR or not timeline:
        return run
    return replace(run, unexplained=tuple(unexplained(predictor, source.recorded, source.calls())))
