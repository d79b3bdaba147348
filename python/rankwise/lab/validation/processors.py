# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of the traced runs: what the ranks used, and what the model knows of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.lab.validation.state import CasePlan, State
from rankwise.machine.file import load
from rankwise.recording.recording import Recording
from rankwise.replay.computation import recorded_computation
from rankwise.replay.layout import topology_of
from rankwise.replay.predict import Predictor
from rankwise.replay.source import load as load_source

_KNOWN = ("computation", "overhead")


@dataclass(frozen=True)
class Processors:
    """Of one traced run, in seconds a rank.

    Attributes:
        case: Its name.
        used_s: Processor time as the kernel counted it.
        computation_s: What the schedule has of it between calls.
        overhead_s: What the machine file says that its messages take.
        busy_share: Part of the time of all processors behind the lab's cores that the ranks used.
    """

    case: str
    used_s: float
    computation_s: float
    overhead_s: float
    busy_share: float

    @property
    def known_share(self) -> float:
        """What the model knows, over what was used."""
        return (self.computation_s + self.overhead_s) / self.used_s


def of_all(state: State) -> list[Processors]:
    """Of all traced runs of a validation of which something is known."""
    return [found for case in state.plan.cases if (found := processors_of(state, case))]


def processors_of(state: State, case: CasePlan) -> Processors | None:
    """What is known of a case's traced run; `None` if it was not predicted, or the recorder has no samples."""
    path = state.directory / f"{case.name}.rw"
    if case.failure or not path.is_dir():
        return None
    machine = load(state.machine_path(case.setting.rate_bytes_per_s))
    topology = topology_of(machine, state.directory)
    source = load_source(path)
    if source.recorded is None or not case.recorded_s:
        return None
    computation = recorded_computation(source, topology, machine)
    predictor = Predictor(source.schedule, machine, topology, computation=computation, expand=source.expand)
    parts = predictor.predict(source.recorded).parts_s
    recording = Recording.open(path)
    ranks = case.setting.ranks
    used_s = sum(_used_s(recording.events(rank)["cpu_ns"]) for rank in range(ranks)) / ranks
    if not used_s:
        return None
    pus = len({pu for cores in machine.node.host_cores or () for pu in cores}) or ranks
    known = (float(np.mean(parts[each])) for each in _KNOWN)
    return Processors(case.name, used_s, *known, used_s * ranks / (pus * case.recorded_s))


def _used_s(samples: np.ndarray) -> float:
    """Sum of the trace's samples; other events have none."""
    values = np.asarray(samples)
    return float(values[values < np.iinfo(np.int64).max].sum(dtype=np.float64)) * 1e-9
