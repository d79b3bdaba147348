# SPDX-License-Identifier: BSD-3-Clause
"""A recorded run predicted on a machine, for what findings cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain.loss import Loss
from rankwise.explain.losses import losses
from rankwise.findings.efficiency import why_not_replayed
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement, misfit
from rankwise.machine.topology import Topology
from rankwise.placement.place import make_search, run_search
from rankwise.placement.search import Candidate
from rankwise.placement.usable import usable_nodes
from rankwise.recording import Recording
from rankwise.replay.gain import is_better
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source, load

SEARCH_S = 5.0
"""For the best placement: a report is not to take longer; `rankwise place` searches for as long as it is told to."""

DRAWS = 20
"""Replays for each interval."""


class OnMachine:
    """What would be, on a machine; each property is found when it is first asked for.

    Args:
        recording: The run, with its trace.
        machine: Where it is predicted.
        topology: Its nodes.
        path: Of the machine file, for commands to paste.

    Attributes:
        search_s: Time for the best placement.
    """

    def __init__(self, recording: Recording, machine: Machine, topology: Topology, path: str):
        self.recording = recording
        self.machine = machine
        self.topology = topology
        self.path = path
        self.search_s = SEARCH_S

    @cached_property
    def source(self) -> Source:
        """The program.

        Raises:
            RankwiseError: It was not traced, or its trace is too large for a report.
        """
        if why := why_not_replayed(self.recording):
            raise RankwiseError(why)
        return load(self.recording.path)

    @cached_property
    def predictor(self) -> Predictor:
        """Times are anchored at the recorded run, where that was on this machine.

        Raises:
            RankwiseError: As `source`, or the program cannot be replayed on this machine.
        """
        return Predictor.of(self.source, self.machine, self.topology, draws=DRAWS)

    @cached_property
    def recorded(self) -> Placement:
        """Where the ranks ran.

        Raises:
            RankwiseError: That is not known, or not on nodes like this machine's.
        """
        if why := misfit(self.source.recorded, self.topology):
            raise RankwiseError(f"`{self.path}` is no machine that it ran on: {why}")
        assert self.source.recorded is not None
        return self.source.recorded.trimmed

    @cached_property
    def prediction(self) -> Prediction:
        """As it ran."""
        return self.predictor.predict(self.recorded)

    @cached_property
    def losses(self) -> list[Loss]:
        """What it loses to each channel and Resource as it ran, largest first."""
        return losses(self.predictor, self.prediction)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Simple placements, `current` where it ran, and last the best that `SEARCH_S` finds, one rank a core.

        Raises:
            RankwiseError: As `recorded`, or the nodes that it ran on have too few cores.
        """
        nodes = usable_nodes(self.topology, self.source.schedule.ranks, None, len(self.recorded.node_names))
        search = make_search(self.predictor, self.recording.messages, nodes)
        current = self.recorded if search.has(self.recorded) else None
        return run_search(search, self.predictor, current, budget_s=self.search_s)

    def time_s(self, schedule: _core.schedule.Schedule, ranks: Sequence[int]) -> float:
        """How long another program takes where some ranks of the recorded one ran.

        Args:
            schedule: That program.
            ranks: World ranks of its own.
        """
        predictor = Predictor.of(Source(schedule), self.machine, self.topology)
        return predictor.predict(self.recorded.renumbered(ranks)).makespan_s

    def is_better(self, placement: Placement) -> bool:
        """Whether a placement is known to be better than where it ran (`rankwise.replay.gain`)."""
        return is_better(self.predictor, placement, self.recorded)

    def saved_s(self, placement: Placement) -> float:
        """Run time that another placement saves."""
        return self.prediction.makespan_s - self.predictor.predict(placement).makespan_s
