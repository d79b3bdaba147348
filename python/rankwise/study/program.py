# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a study: workloads with their class and options, or a recording, or the user's own command."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.workloads import names

DEFAULT_CLASS = "B"


@dataclass(frozen=True)
class StudyProgram:
    """A program of a study.

    Attributes:
        label: As tables name it.
        workload: Its name, if it is a workload.
        problem_class: Of the workload; empty if it has none.
        options: Of the workload, as its program takes them: (name, value).
        recordings: `NAME.rw` recorded with their traces, to predict from, of different numbers of ranks.
        recording: That of them which is meant; `None` before `on` has chosen among several.
        command: Words of the user's own program, to measure.
    """

    label: str
    workload: str = ""
    problem_class: str = ""
    options: tuple[tuple[str, str], ...] = ()
    recordings: tuple[Path, ...] = ()
    recording: Path | None = None
    command: tuple[str, ...] = ()

    def check_known(self) -> None:
        """Check that what it does is known without running it.

        Raises:
            RankwiseError: It is neither a workload nor a recording.
        """
        if not self.workload and not self.recordings:
            raise RankwiseError(
                f"what `{self.label}` does is not known without running it",
                "record it with its trace, and give the recording: `--app NAME.rw`",
            )

    def on(self, ranks: int) -> StudyProgram:
        """The program on a number of ranks: of several recordings that of so many.

        HPL gets its process grid, as square as can be, and its matrix.
        Ranks go down the columns of the grid, so that a column is in a node: with that order the statement of Chai, Gao
        & Panda (2007), section 5.2, is true that nearly all of its messages stay in their nodes.

        Raises:
            RankwiseError: No recording has so many ranks.
        """
        if self.recordings:
            by_ranks = self.recorded
            if ranks not in by_ranks:
                have = " and ".join(map(str, sorted(by_ranks)))
                raise RankwiseError(
                    f"the study needs `{self.label}` on {ranks} ranks, and its recordings have {have}",
                    f'record it on {ranks} ranks as well, and give all in one: `--app "4.rw 8.rw"`',
                )
            return replace(self, recording=by_ranks[ranks])
        if self.workload != "hpl":
            return self
        rows = max(row for row in range(1, math.isqrt(ranks) + 1) if ranks % row == 0)
        usual = {"n": "10000", "nb": "80", "p": str(rows), "q": str(ranks // rows), "pmap": "column"}
        return replace(self, options=tuple((usual | dict(self.options)).items()))

    @property
    def recorded(self) -> dict[int, Path]:
        """Recordings by their number of ranks.

        Raises:
            RankwiseError: One cannot be read, or two have the same number.
        """
        found: dict[int, Path] = {}
        for path in self.recordings:
            ranks = _ranks_of(path)
            if ranks in found:
                raise RankwiseError(
                    f"`{found[ranks]}` and `{path}` both have {ranks} ranks", "give one of each number"
                )
            found[ranks] = path
        return found

    def runs_on(self, ranks: int) -> bool:
        """Whether it can be predicted on so many ranks, as far as recordings go."""
        return not self.recordings or ranks in self.recorded

    def words(self) -> list[str]:
        """Options of the workload's program."""
        chosen = ["--class", self.problem_class] if self.problem_class else []
        return [*chosen, *(word for name, value in self.options for word in (f"--{name}", value))]


@lru_cache(maxsize=64)
def _ranks_of(path: Path) -> int:
    from rankwise.recording.recording import Recording

    return Recording.open(path).world_size


def parse_program(text: str) -> StudyProgram:
    """A program from what `--app` says: `cg`, `cg.A`, `halo --dimensions 3`, `app.rw`, `4.rw 8.rw`, `./app input`.

    Raises:
        RankwiseError: A workload that does not have that class, or options without values.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RankwiseError(f"`{text}` is no command line: {error}", "close all quotes", status=2) from None
    if not words:
        raise RankwiseError("`--app` is empty", "for example `--app cg.B`", status=2)
    if all(word.rstrip("/").endswith(".rw") for word in words):
        paths = tuple(map(Path, words))
        return StudyProgram(paths[0].stem, recordings=paths, recording=paths[0])
    name, _, letter = words[0].partition(".")
    if name not in names():
        return StudyProgram(Path(words[0]).name, command=tuple(words))
    options = []
    rest = words[1:]
    while rest:
        if len(rest) < 2 or not rest[0].startswith("--"):
            raise RankwiseError(
                f"`{rest[0]}` is no option with a value of the workload `{name}`",
                f"`rankwise workloads {name} --help` lists them",
                status=2,
            )
        if rest[0] == "--class":
            letter = rest[1]
        else:
            options.append((rest[0][2:], rest[1]))
        rest = rest[2:]
    return workload_program(name, letter, tuple(options))


def workload_program(
    name: str, letter: str = "", options: tuple[tuple[str, str], ...] = (), label: str = ""
) -> StudyProgram:
    """A workload as a program of a study.

    Args:
        name: The workload.
        letter: Its class; the usual one if empty, none if it has none.
        options: (name, value).
        label: As tables name it; the workload's name in capitals if empty.
    """
    from rankwise.workloads import workload

    classes = workload(name).classes
    return StudyProgram(
        label or name.upper(), name, (letter or DEFAULT_CLASS) if classes else "", tuple(options)
    )
