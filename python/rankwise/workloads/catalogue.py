# SPDX-License-Identifier: BSD-3-Clause
"""The workloads there are, and which classes and rank counts they take."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise import _core
from rankwise.errors import RankwiseError

_room = _core.workloads


@dataclass(frozen=True)
class Workload:
    """One workload.

    Attributes:
        name: What it is called on the command line, such as `cg`.
        title: What it is, in one line.
        pattern: Who talks to whom, in one line.
        classes: Letters of its problem classes, smallest first.
    """

    name: str
    title: str
    pattern: str
    classes: tuple[str, ...]

    def check(self, problem_class: str, ranks: int) -> None:
        """Raise unless it has this class and runs on this many ranks.

        Raises:
            RankwiseError: It does not; the sentence says what it takes.
        """
        why = _room.refusal(self.name, problem_class[:1] if len(problem_class) == 1 else "?", ranks)
        if why:
            raise RankwiseError(
                why.replace("`?`", f"`{problem_class}`"),
                f"rankwise workloads {self.name} --count --class S --ranks 16",
            )

    def iterations(self, problem_class: str) -> int:
        """Iterations of the timed section."""
        self.check(problem_class, 1)
        return _room.iterations(self.name, problem_class)

    def grid(self, problem_class: str, ranks: int) -> tuple[int, int, int]:
        """Default process grid; 1 in the dimensions it does not have."""
        self.check(problem_class, ranks)
        return _room.grid(self.name, problem_class, ranks)


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
    return Workload(name, _room.title(name), _room.pattern(name), tuple(_room.classes(name)))
