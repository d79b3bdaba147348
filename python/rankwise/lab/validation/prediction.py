# SPDX-License-Identifier: BSD-3-Clause
"""What is predicted of a case: all its placements, from the recording of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from rankwise.lab.validation.placements import choose
from rankwise.lab.validation.state import CasePlan, Predicted, State
from rankwise.machine.file import load
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement
from rankwise.placement.file import PlacementFile, to_dict
from rankwise.placement.place import make_search
from rankwise.placement.reasons import network_bytes
from rankwise.placement.simple import allocate
from rankwise.recording.recording import Recording
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source
from rankwise.schedule.source import load as load_source

DRAWS = 20


@dataclass(frozen=True)
class RecordedCase:
    """A case whose traced run is there, on the frozen machine, with its placements chosen."""

    source: Source
    machine: Machine
    predictor: Predictor
    placements: dict[str, Placement]

    @classmethod
    def load(
        cls, state: State, case: CasePlan, can_run: Callable[[Placement], bool] = lambda placement: True
    ) -> RecordedCase:
        """Read its recording and choose its placements; `can_run` says whether one can be launched."""
        options, path = state.plan.options, state.directory / f"{case.name}.rw"
        frozen = state.machine_path(case.setting.rate_bytes_per_s)
        state.check_machine(case.setting.rate_bytes_per_s, frozen)
        machine = load(frozen)
        topology = topology_of(machine, state.directory)
        source = load_source(path)
        predictor = Predictor.of(source, machine, topology, draws=DRAWS, seed=options.seed)
        search = make_search(predictor, Recording.open(path).messages, topology)
        chosen = choose(
            search,
            predictor.predict,
            options.placements,
            options.seed,
            dealt=lambda allocation: allocate(
                source.schedule.ranks, options.nodes, options.cores, topology.nodes[0], allocation
            )[0],
            estimator=predictor.estimates_s,
            can_run=can_run,
        )
        if search.interrupted:
            # The search ends early then, with the best it has found so far.
            raise KeyboardInterrupt
        return cls(source, machine, predictor, chosen)

    def predict(self, name: str) -> tuple[Predicted, Prediction]:
        """One of its placements: what is kept of the prediction, and the whole."""
        placement = self.placements[name]
        prediction = self.predictor.predict_with_interval(placement)
        interval = prediction.interval
        assert interval is not None  # all its machines have intervals
        kept = Predicted(
            name=name,
            placement=msgspec.convert(to_dict(placement), PlacementFile),
            makespan_s=prediction.makespan_s,
            low_s=interval.low_s,
            high_s=interval.high_s,
            network_bytes=network_bytes(prediction),
        )
        return kept, prediction
