# SPDX-License-Identifier: BSD-3-Clause
"""The one predictor of a recorded program on a machine, with all that is known of its run."""

from __future__ import annotations

from rankwise.machine.file import Machine
from rankwise.machine.topology import Topology
from rankwise.replay.computation import recorded_computation
from rankwise.replay.predict import Predictor
from rankwise.replay.recorded_run import recorded_run
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source


def predictor_of(
    source: Source,
    machine: Machine,
    topology: Topology,
    *,
    draws: int,
    seed: int = 1,
    plain: bool = False,
    memory_bound: str | None = None,
    switches: Switches | None = None,
    measured: Machine | None = None,
) -> Predictor:
    """A predictor anchored at the recorded run, where that is one of this machine.

    Args:
        source: What was recorded, with a schedule.
        machine: What is predicted.
        topology: Its nodes.
        draws: Replays for each interval.
        seed: Of these.
        plain: Do not anchor; intervals hold the error of the recorded run's replay instead.
        memory_bound: As of `--memory-bound`.
        switches: What is modelled.
        measured: The machine as it was measured, if `machine` was changed by hand.

    Raises:
        RankwiseError: The recorded run cannot be replayed, or `memory_bound` means nothing here.
    """
    computation = recorded_computation(source, topology, measured or machine, memory_bound)

    def of(this: Machine, modelled: Switches | None) -> Predictor:
        return Predictor(
            source.schedule,
            this,
            topology,
            switches=modelled,
            draws=draws,
            seed=seed,
            computation=computation,
            expand=source.expand,
        )

    predictor = of(machine, switches)
    # What is changed by hand, or left out, is another machine than the one that the program ran on.
    # A replay in windows cannot be without what is left out there.
    less = switches not in (None, Switches()) and not predictor.in_windows
    known = of(measured or machine, None if less else switches) if measured or less else predictor
    predictor.run = recorded_run(source, known)
    if predictor.run and not plain:
        predictor.anchor(source.recorded, known)
    return predictor
