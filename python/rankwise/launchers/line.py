# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a launch line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Family = Literal["mpich", "openmpi"]


@dataclass(frozen=True)
class Option:
    """One option of a launcher as it was typed: `words` are all its words, `name` has no dashes."""

    name: str
    values: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Segment:
    """One program of a launch line with the options before it; several make an MPMD line.

    `ranks` is `None` where the line leaves it to the launcher; `program` is `None` where none is given.
    """

    options: tuple[Option, ...]
    program: str | None
    arguments: tuple[str, ...]
    ranks: int | None

    def words(self) -> list[str]:
        """The words of this segment."""
        before = [word for option in self.options for word in option.words]
        return before + ([self.program] if self.program is not None else []) + list(self.arguments)

    def last(self, *names: str) -> Option | None:
        """The last option of one of these names."""
        return next((option for option in reversed(self.options) if option.name in names), None)

    def number(self, name: str) -> int | None:
        """The value of an option as a whole number, `None` if it is not given or no plain number."""
        given = self.last(name)
        return int(given.values[0]) if given and given.values and given.values[0].isdigit() else None


@dataclass(frozen=True)
class Launcher:
    """The launcher itself.

    Attributes:
        kind: `hydra` (MPICH, Intel MPI, MVAPICH), `orterun` (Open MPI 4), `prterun` (Open MPI 5), `srun`, or
            `none` for a command that starts no launcher known here (`./app`, a script).
        word: As typed; empty for `none`.
        path: The executable, `None` for `none`.
        version: As the launcher says, `None` if it does not.
        vendor: Who made it, for people: `MPICH`, `Intel MPI`, `Open MPI`, `Slurm`.
    """

    kind: str
    word: str = ""
    path: str | None = None
    version: str | None = None
    vendor: str = ""

    @property
    def family(self) -> Family | None:
        """The MPI whose programs this launcher starts, `mpich` or `openmpi`; `None` if any."""
        families: dict[str, Family] = {"hydra": "mpich", "orterun": "openmpi", "prterun": "openmpi"}
        return families.get(self.kind)


@dataclass(frozen=True)
class LaunchLine:
    """A launch line in its parts."""

    launcher: Launcher
    segments: tuple[Segment, ...]

    @property
    def ranks(self) -> int | None:
        """Number of ranks, `None` where the line leaves it to the launcher."""
        counts = [segment.ranks for segment in self.segments if segment.ranks is not None]
        return sum(counts) if len(counts) == len(self.segments) else None

    @property
    def program(self) -> str | None:
        """The first program as typed."""
        return self.segments[0].program

    def words(self, segments: Sequence[Segment] | None = None) -> list[str]:
        """The line as a list of words, with other segments if given."""
        words = [self.launcher.word] if self.launcher.word else []
        for at, segment in enumerate(self.segments if segments is None else segments):
            words += ([":"] if at else []) + segment.words()
        return words


@dataclass(frozen=True)
class Launch:
    """What to execute: the words, and variables to set for the first process or to take from it."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    def environment_of_first(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the first process."""
        kept = {name: value for name, value in inherited.items() if name not in self.without}
        return {**kept, **self.environment}
