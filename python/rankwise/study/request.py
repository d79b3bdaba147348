# SPDX-License-Identifier: BSD-3-Clause
"""What a study is asked to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rankwise.errors import RankwiseError
from rankwise.study.program import StudyProgram, workload_program
from rankwise.study.result import Mode
from rankwise.workloads import workload

MOST_RANKS = 16384
"""Of a study: its counts and schedules are in memory."""

LAB_CLASS = "W"
"""Of the studies' own programs in labs, whose interfaces are slow and whose ranks share this machine's cores."""


class Progress(Protocol):
    """Shows how a study gets on."""

    def __call__(self, doing: str, share: float = 0.0) -> None:
        """Take what is done next, and the share of the study that is done, where that is known."""


def say_nothing(doing: str, share: float = 0.0) -> None:
    """Of how a study gets on."""


@dataclass(frozen=True)
class Request:
    """What a study is asked to do.

    Attributes:
        mode: Whether its times are predicted for machine files, or measured in a lab or on a cluster.
        machines: Machine files; those of the paper if there are none.
        programs: Workloads instead of the study's own.
        ranks: Number of ranks instead of the study's own.
        directory: Where outcomes are kept while it runs, so that an interrupted study goes on; `None`: nowhere.
        part: This part of so many of what it measures, from 1: of a job array; (1, 1) is all.
        launcher: Words that start ranks on a cluster, without a program.
        lab: Name of the lab; one of its own if `None`.
        progress: Called with what is done next, of long studies with the share that is done.
    """

    mode: Mode = "machine"
    machines: tuple[Path, ...] = ()
    programs: tuple[StudyProgram, ...] = ()
    ranks: int | None = None
    directory: Path | None = None
    part: tuple[int, int] = (1, 1)
    launcher: tuple[str, ...] = ()
    lab: str | None = None
    progress: Progress = field(default=say_nothing, compare=False)

    def ranks_or(self, usual: int, least: int) -> int:
        """The number of ranks asked for, or else the study's own.

        If all programs are recordings that have not so many: the most that all of them have.

        Raises:
            RankwiseError: It is less than the study needs, or more than a study can have.
        """
        recorded = [set(each.recorded) for each in self.programs if each.recordings]
        common = set[int]().union(*recorded).intersection(*recorded) if recorded else set()
        if common and len(recorded) == len(self.programs) and usual not in common:
            usual = max(common)
        ranks = usual if self.ranks is None else self.ranks
        if not least <= ranks <= MOST_RANKS:
            raise RankwiseError(
                f"`--ranks {ranks}` is not from {least} to {MOST_RANKS}, as this study needs it",
                f"`--ranks {usual}` is what it has without",
                status=2,
            )
        return ranks

    def check_measured(self, counts: Iterable[int]) -> None:
        """Check that there are measured times of the number of ranks asked for.

        Raises:
            RankwiseError: There are none.
        """
        known = sorted(set(counts))
        if self.ranks is not None and self.ranks not in known:
            raise RankwiseError(
                f"nothing was measured on `{self.ranks}` ranks",
                f"`--ranks` with one of {', '.join(map(str, known))}",
                status=2,
            )

    def programs_or(self, names: Sequence[str]) -> tuple[StudyProgram, ...]:
        """The programs asked for, or else the study's own, as `parse_program` takes them."""
        return self.programs or tuple(self.own(name) for name in names)

    def own(self, name: str) -> StudyProgram:
        """A program of the study itself: in a lab of a class that this machine can run."""
        if self.mode == "lab" and workload(name).classes:
            return workload_program(name, LAB_CLASS)
        return workload_program(name)

    def only_on_machines(self, study: str, why: str) -> None:
        """Refuse to measure.

        Raises:
            RankwiseError: The study was asked to.
        """
        if self.mode != "machine":
            raise RankwiseError(
                f"the study `{study}` cannot be made with `--on {self.mode}`: {why}",
                f"predict it for machine files: `rankwise study {study} --on machine FILE`",
                status=2,
            )
