# SPDX-License-Identifier: BSD-3-Clause
"""Proof of a finding: a program with exactly its defect, and the same program mended.

The finding is told of the first, ranked first, with a cost near what mending really saves; it is not told of the
second. Both are run in turn, several times, and the medians count.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mpis import Mpi

from rankwise.findings.catalogue import findings_of
from rankwise.findings.finding import Finding
from rankwise.recording import Recording

WITHIN = 0.3
"""Of what mending saves: how far an estimated cost may be off."""


@dataclass(frozen=True)
class Proof:
    """What a pair of programs showed.

    Attributes:
        findings: Of each run with the defect, as ranked.
        mended: Of each run without it.
        saved_s: Median run time with the defect less that without.
    """

    findings: list[list[Finding]]
    mended: list[list[Finding]]
    saved_s: float

    def holds(self, name: str) -> None:
        """Check that the finding is first, never told of the mended program, and costs what mending saves."""
        assert [each[0].name if each else None for each in self.findings] == [name] * len(self.findings)
        assert not [each for run in self.mended for each in run if each.name == name]
        costs = [each[0].cost_s for each in self.findings]
        known = [cost for cost in costs if cost is not None]
        assert len(known) == len(costs)
        assert abs(median(known) - self.saved_s) <= WITHIN * self.saved_s, (known, self.saved_s)


def bound(mpi: Mpi, ranks: int, *command: str | Path) -> list[str]:
    """Launch line with a core for each rank."""
    options = ["--map-by", "core", "--bind-to", "core"] if mpi.family == "openmpi" else ["-bind-to", "core"]
    return [str(mpi.mpiexec), "-n", str(ranks), *options, *map(str, command)]


def record(
    command: Sequence[str | Path],
    to: Path,
    environment: dict[str, str],
    *options: str,
    timeout_s: float = 120,
) -> Recording:
    """Record a launch line, as a user does."""
    words = [
        sys.executable,
        "-m",
        "rankwise",
        "record",
        *options,
        "-f",
        "-o",
        str(to),
        "--",
        *map(str, command),
    ]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, done.stderr
    return Recording.open(to)


def prove(
    run: Callable[[str, Path], Recording],
    directory: Path,
    runs: int = 3,
    judge: Callable[[Recording], list[Finding]] = lambda recording: findings_of(recording)[0],
) -> Proof:
    """Record the program with its defect (`run("defect", path)`) and mended (`run("mended", path)`) in turn.

    Args:
        run: Records one of them to a path.
        directory: For the recordings.
        runs: Of each.
        judge: Gives the findings of a recording.
    """
    found: dict[str, list[list[Finding]]] = {"defect": [], "mended": []}
    times: dict[str, list[float]] = {"defect": [], "mended": []}
    for number in range(runs):
        for how in found:
            recording = run(how, directory / f"{how}{number}.rw")
            found[how].append(judge(recording))
            times[how].append(float(recording.ranks["time_s"].max()))  # type: ignore[arg-type]
    return Proof(found["defect"], found["mended"], median(times["defect"]) - median(times["mended"]))
