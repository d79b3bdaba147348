# SPDX-License-Identifier: BSD-3-Clause
"""The workloads there are, and which classes and rank counts they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankwise import _core
from rankwise.errors import RankwiseError

_room = _core.workloads
MOST_RANKS = 1 << 22
MOST_TRIED = 4096  # ranks for a hint


@dataclass(frozen=True)
class Option:
    """Something that can be asked of a workload, `--NAME VALUE` on the command line.

    Attributes:
        name: Without dashes.
        help: What it is, in one line.
        choices: Names of the values 0, 1, ...; empty where the value is a whole number.
        least: Smallest value.
        most: Largest value.
        usual: Value where none is given.
    """

    name: str
    help: str
    choices: tuple[str, ...]
    least: int
    most: int
    usual: int

    def value(self, given: int | str, workload: str) -> int:
        """The number that stands for a value.

        Args:
            given: The value.
            workload: Whose option it is.

        Raises:
            RankwiseError: The option does not take it.
        """
        if self.choices and given in self.choices:
            return self.choices.index(given)
        try:
            number = int(given)
        except ValueError:
            number = self.least - 1
        if self.choices or not self.least <= number <= self.most:
            takes = " or ".join(self.choices) if self.choices else f"{self.least} to {self.most}"
            hint = f"rankwise workloads {workload} --count --{self.name} {self.text(self.usual)}"
            raise RankwiseError(f"`{given}` is not a value of `--{self.name}`, which takes {takes}", hint)
        return number

    def text(self, value: int) -> str:
        """A value as it is given."""
        return self.choices[value] if self.choices else str(value)


@dataclass(frozen=True)
class Workload:
    """One workload.

    Attributes:
        name: What it is called on the command line, such as `cg`.
        title: What it is, in one line.
        pattern: Who talks to whom, in one line.
        classes: Letters of its problem classes, smallest first; empty where it has options only.
        options: What else can be asked of it.
    """

    name: str
    title: str
    pattern: str
    classes: tuple[str, ...]
    options: tuple[Option, ...] = ()

    def values(self, options: Mapping[str, int | str] | None = None) -> tuple[int, ...]:
        """Values of all options, as `options` say, else as usual.

        Raises:
            RankwiseError: It has no such option, or the option does not take the value.
        """
        given = dict(options or {})
        values = tuple(
            each.value(given.pop(each.name, each.text(each.usual)), self.name) for each in self.options
        )
        if given:
            known = ", ".join(f"--{each.name}" for each in self.options) or "none"
            raise RankwiseError(
                f"{self.name} has no option `--{next(iter(given))}`", f"its options are {known}"
            )
        return values

    def letter(self, problem_class: str) -> str:
        """Its class as a letter: `-` of workloads without classes."""
        if not self.classes and not problem_class:
            return "-"
        return problem_class if len(problem_class) == 1 else "?"

    def check(self, problem_class: str, ranks: int, options: Mapping[str, int | str] | None = None) -> None:
        """Raise unless it has this class, takes these options and runs on this many ranks.

        Args:
            problem_class: Such as `B`; empty of workloads without classes.
            ranks: Number of ranks.
            options: Values by name.

        Raises:
            RankwiseError: It does not; the sentence says what it takes.
        """
        if abs(ranks) > MOST_RANKS:
            raise RankwiseError(
                f"`{ranks}` is no number of ranks of a workload, which are 1 to {MOST_RANKS}",
                self._that_works(problem_class, 16, options),
            )
        why = _room.refusal(self.name, self.letter(problem_class), self.values(options), ranks)
        if why:
            raise RankwiseError(
                why.replace("`?`", f"`{problem_class}`"), self._that_works(problem_class, ranks, options)
            )

    def _that_works(self, problem_class: str, ranks: int, options: Mapping[str, int | str] | None) -> str:
        """A command on fewer ranks, or else 16, as much as can be of what was asked for."""
        for letter, given in ((problem_class, dict(options or {})), ("S" if self.classes else "", {})):
            values = self.values(given)
            for fewer in (*range(min(ranks, MOST_TRIED), 0, -1), 16):
                if not _room.refusal(self.name, self.letter(letter), values, fewer):
                    asked = [f"--class {letter}"] if self.classes else []
                    asked += [f"--{name} {value}" for name, value in given.items()]
                    return " ".join(["rankwise workloads", self.name, "--count", *asked, f"--ranks {fewer}"])
        raise AssertionError(f"{self.name} runs on no number of ranks")

    def iterations(self, problem_class: str, options: Mapping[str, int | str] | None = None) -> int:
        """Iterations of the timed section."""
        if self.classes and problem_class not in self.classes:
            self.check(problem_class, 1, options)
        return _room.iterations(self.name, self.letter(problem_class), self.values(options))

    def grid(
        self, problem_class: str, ranks: int, options: Mapping[str, int | str] | None = None
    ) -> tuple[int, int, int]:
        """Process grid; 1 in the dimensions it does not have."""
        self.check(problem_class, ranks, options)
        return _room.grid(self.name, self.letter(problem_class), self.values(options), ranks)


def names() -> list[str]:
    """Names of all workloads."""
    return _room.names()


def workload(name: str) -> Workload:
    """Find a workload by its name.

    Raises:
        RankwiseError: There is none of that name.
    """
    known = names()
    if name not in known:
        raise RankwiseError(f"there is no workload `{name}`", f"the workloads are {', '.join(known)}")
    options = tuple(
        Option(each, text, tuple(choices), least, most, usual)
        for each, text, choices, least, most, usual in _room.options(name)
    )
    return Workload(name, _room.title(name), _room.pattern(name), tuple(_room.classes(name)), options)
