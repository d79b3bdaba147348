# SPDX-License-Identifier: BSD-3-Clause
"""One run of a case: its rate over time, and what the tuner said and took."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tune.cases import Case

LIMIT_S = 60.0


@dataclass(frozen=True)
class Run:
    """What one run came to.

    Attributes:
        moments_s: Of the samples, since the first.
        iterations: That had ended then.
        events: Of the tuner; none without it.
        tuner_s: Processor time of the tuner and its guard; `None` without it.
    """

    moments_s: list[float]
    iterations: list[int]
    events: list[dict[str, Any]] = field(default_factory=list)
    tuner_s: float | None = None

    def rate(self, from_s: float = 0.0, to_s: float = float("inf")) -> float:
        """Iterations a second between two moments."""
        inside = [
            (at, n) for at, n in zip(self.moments_s, self.iterations, strict=True) if from_s <= at <= to_s
        ]
        (first, before), (last, after) = inside[0], inside[-1]
        return (after - before) / (last - first)

    def reaches(self, rate: float, over_s: float = 1.0) -> float | None:
        """The first moment from which on every window of so long is at least as fast; `None` if there is none."""
        end = self.moments_s[-1]
        found: float | None = None
        for at in self.moments_s:
            if at > end - over_s:
                break
            fast = self.rate(at, at + over_s) >= rate
            found = (at if found is None else found) if fast else None
        return found


@contextlib.contextmanager
def loaded(program: Path, pu: int, share: float) -> Iterator[None]:
    """A processing unit that loses a share of its time."""
    if not share:
        yield
        return
    taking = subprocess.Popen([program, str(pu), str(share)], stdin=subprocess.PIPE)
    try:
        time.sleep(0.2)
        if taking.poll() is not None:
            raise SystemExit(f"{program} ended: the benchmark needs the right to run a real-time process")
        yield
    finally:
        taking.communicate()


@contextlib.contextmanager
def beside(words: list[str] | None) -> Iterator[None]:
    """Another tool that runs meanwhile."""
    if words is None:
        yield
        return
    tool = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        tool.terminate()
        tool.wait()


def launch(
    case: Case, program: Path, mpiexec: str, pus: list[int] | None, seconds: float, tuned: Path | None
) -> Run:
    """Run a case once.

    Args:
        case: What is run.
        program: `imbalance`.
        mpiexec: MPICH's.
        pus: Of each rank; `None` binds none.
        seconds: How long.
        tuned: Directory for what the tuner leaves behind; `None` runs without it.
    """
    # With no binding of its own the launcher leaves ranks wherever the kernel puts them.
    bound = "user:" + ",".join(map(str, pus)) if pus else "none"
    line = [mpiexec, "-bind-to", bound, "-n", str(len(case.work)), str(program), *case.words(seconds)]
    if tuned is not None:
        line = ["rankwise", "tune", "-o", str(tuned), "--", *line]
    said = subprocess.run(
        line, capture_output=True, text=True, timeout=seconds + LIMIT_S, check=False, stdin=subprocess.DEVNULL
    )
    if said.returncode:
        raise SystemExit(f"`{' '.join(line)}` ended with status {said.returncode}:\n{said.stderr}")
    rows = [line.split() for line in said.stdout.splitlines() if line]
    moments = [float(row[0]) for row in rows]
    run = Run([at - moments[0] for at in moments], [int(row[1]) for row in rows])
    if tuned is None:
        return run
    events = [json.loads(line) for line in (tuned / "events.jsonl").read_text().splitlines()]
    # Moments of the tuner are of the same clock.
    events = [{**event, "at_s": event["monotonic_s"] - moments[0]} for event in events]
    used = json.loads((tuned / "summary.json").read_text()).get("tuner_cpu_s")
    return Run(run.moments_s, run.iterations, events, used)
