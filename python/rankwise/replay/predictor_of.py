# SPDX-License-Identifier: BSD-3-Clause
"""The one predictor of a recorded program on a machine, with all that is known of its run."""

from __future__ import annotations

from rankwise.machine.file import Machine
from rankwise.machine.topology import Topology
from rankwise.replay.computation import recorded_computation
from rankwise.replay.predict import Predictor
from rankwise.replay.recorded_run import recorded_run
from rankwise.replay.source import Source
from rankwise.replay.switches import Switches


def predictor_of(
    source: Source,
    machine: Machine,
    topology: Topology,
    *,
    draws: int,
    memory_bound: str | None = None,
    switches: Switches | None = None,
    measured: Machine | None = None,
) -> Predictor:
    """A predictor whose intervals hold the error of the recorded run.

    Args:
        source: What was recorded, with a schedule.
        machine: What is predicted.
        topology: Its nodes.
        draws: Replays for each interval.
        memory_bound: As of `--memory-bound`.
        switches: What is modelled.
        measured: The machine as it was measured, if `machine` was changed by hand.

    Raises:
        RankwiseError: The recorded run cannot be replayed, or `memory_bound` means nothing here.
    """
    known = measured or machine
    predictor = Predictor(
        source.schedule,
        machine,
        topology,
        switches=switches,
        draws=draws,
        computation=recorded_computation(source, topology, known, memory_bound),
        expand=source.expand,
    )
    # What is changed by hand is another machine than the one that the program ran on.
    predictor.run = recorded_run(source, predictor.variant(measured, switches) if measured else predictor)
    return predictor
