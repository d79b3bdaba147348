# SPDX-License-Identifier: BSD-3-Clause
"""Cases on a cluster, by the user's own launcher, placed as by `rankwise run` and recorded as by `rankwise record`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers import parse
from rankwise.machine.placement import Placement
from rankwise.measure import launch
from rankwise.measure.site import Site
from rankwise.placement.file import save
from rankwise.record import recording_run as recorder
from rankwise.record.library import What
from rankwise.run import placed_run
from rankwise.run.timed_run import Made, run_placed
from rankwise.scratch import scratch
from rankwise.study.cases import Case
from rankwise.study.platforms import Platform
from rankwise.study.request import Request
from rankwise.study.run.in_lab import measured
from rankwise.study.run.programs import words_of

_RANKS = ("n", "np", "ntasks")


@dataclass(frozen=True)
class Cluster:
    """The nodes that a launcher line reaches, measured.

    Attributes:
        launcher: Its words, with as many ranks as there may be.
        directory: The study's, where the machine file is kept: without it nothing can be placed.
        machine: What was measured.
    """

    launcher: tuple[str, ...]
    directory: Path
    machine: Platform

    @classmethod
    def of(cls, request: Request, stack: ExitStack) -> Cluster:
        """The cluster that was asked for; a first study measures it.

        Raises:
            RankwiseError: There is no launcher, or it cannot measure.
        """
        if not request.launcher:
            raise RankwiseError(
                "`--on cluster` needs a launcher", "put it after `--`, for example `-- srun -n 64`", status=2
            )
        launch.check(request.launcher)
        directory = request.directory or Path(stack.enter_context(scratch("study")))
        request.progress("the cluster itself, for a minute or so")
        return cls(request.launcher, directory, measured(Site(list(request.launcher)), directory, "cluster"))

    def platform(self) -> Platform:
        """Its nodes."""
        return self.machine

    def measured(self) -> Platform:
        """Its machine."""
        return self.machine

    def words(self, case: Case) -> list[str]:
        """The program of a case with its arguments."""
        return words_of(case, self.launcher[0])

    def run(self, words: list[str], placement: Placement, path: Path, limit_s: float) -> Made:
        """One recorded run.

        Raises:
            RunFailedError: It did not end well in time, or a rank was not where it should be.
            RankwiseError: It cannot be run here.
        """
        where = path.with_suffix(".placement.json")
        save(placement, where)
        asked = recorder.Request(str(path), True, What(trace=False))
        line = [*self._without_ranks(), *words]
        session = placed_run.prepare(
            line, str(where), None, str(self.directory / "cluster.machine.toml"), None, asked
        )
        return run_placed(session, path, limit_s)

    def _without_ranks(self) -> list[str]:
        """The launcher line without its number of ranks, which each case has its own of."""
        line = parse(list(self.launcher))
        segments = [
            replace(
                segment,
                options=tuple(each for each in segment.options if each.name not in _RANKS),
                ranks=None,
            )
            for segment in line.segments
        ]
        return line.words(segments)
