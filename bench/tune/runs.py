# SPDX-License-Identifier: BSD-3-Clause
"""One run of a case: its rate over time, and what the tuner said and took."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tune.cases import Case, Way

LIMIT_S = 30.0
_TUNERS = {"rankwise-tuned", "rankwise-guard"}


class Failed(Exception):
    """A run that cannot be counted, and why."""


@dataclass(frozen=True)
class Run:
    """What one run came to.

    Attributes:
        moments_s: Of the samples, since the first.
        iterations: That had ended then.
        events: Of the tuner; none without it.
        tuner_share: Of a core, that the tuner and its guard took while it ran; `None` without them.
        interrupt_share: Of each processing unit's time, that interrupts took while it ran.
    """

    moments_s: list[float]
    iterations: list[int]
    events: list[dict[str, Any]] = field(default_factory=list)
    tuner_share: float | None = None
    interrupt_share: list[float] = field(default_factory=list)

    def rate(self, from_s: float = 0.0, to_s: float = float("inf")) -> float:
        """Iterations a second between two moments of the run."""
        begin, end = max(from_s, self.moments_s[0]), min(to_s, self.moments_s[-1])
        if end <= begin:
            return 0.0
        before, after = np.interp([begin, end], self.moments_s, self.iterations)
        return float((after - before) / (end - begin))

    def reaches(self, rate: float, over_s: float = 2.0) -> float | None:
        """The first moment from which on both the next seconds and the whole rest are as fast; `None` if none is."""
        end = self.moments_s[-1]
        for at in self.moments_s:
            if at > end - over_s:
                return None
            if self.rate(at, at + over_s) >= rate and self.rate(at) >= rate:
                return at
        return None


@contextlib.contextmanager
def loaded(program: Path, pu: int, share: float) -> Iterator[None]:
    """A processing unit that loses a share of its time.

    Raises:
        Failed: This user may not start a real-time process.
    """
    if not share:
        yield
        return
    taking = subprocess.Popen([program, str(pu), str(share)], stdin=subprocess.PIPE)
    try:
        time.sleep(0.2)
        if taking.poll() is not None:
            raise Failed("a real-time process, which takes a part of a core, is not allowed here")
        yield
    finally:
        taking.communicate()


def processor_s(pid: int) -> float:
    """Processor time that the main thread of a process has taken; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) * 1e-9
    except (OSError, IndexError):
        return 0.0


def tuners_of(pid: int) -> list[int]:
    """The tuner and its guard that a process has started, itself among them."""
    found = []
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/comm").read_text().strip()[:15] in {name[:15] for name in _TUNERS}:
            found.append(pid)
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tuners_of(int(child))
    return found


def _interrupts_s() -> list[float]:
    """Time in interrupts and softirqs of each processing unit."""
    rows = [row.split() for row in Path("/proc/stat").read_text().splitlines()]
    tick = os.sysconf("SC_CLK_TCK")
    return [(int(row[6]) + int(row[7])) / tick for row in rows if row[0][:3] == "cpu" and row[0] != "cpu"]


def _finish(
    line: Sequence[str | Path],
    environment: Mapping[str, str] | None,
    limit_s: float,
    tuner: int | None = None,
) -> tuple[str, float | None, list[float]]:
    """Run to the end: what it said, the share of a core that tuners took, and of each unit that interrupts took."""
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    first: tuple[float, float] | None = None
    share = None
    began, interrupts = time.monotonic(), _interrupts_s()
    try:
        while True:
            try:
                said, errors = process.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if now > began + limit_s:
                    raise Failed(f"a run did not end within {limit_s:.0f} s") from None
                if tuners := tuners_of(tuner or process.pid):
                    used = sum(map(processor_s, tuners))
                    first = first or (now, used)
                    share = (used - first[1]) / (now - first[0]) if now > first[0] else None
    finally:
        if process.poll() is None:
            # `rankwise tune` takes its launcher and its tuner along.
            os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=15)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    if process.returncode:
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        raise Failed(f"a run ended with status {process.returncode}: {last[0]}")
    passed = time.monotonic() - began
    taken = [(after - before) / passed for before, after in zip(interrupts, _interrupts_s(), strict=True)]
    return said, share, taken


def count(
    line: Sequence[str | Path],
    seconds: float,
    events: Path | None = None,
    environment: Mapping[str, str] | None = None,
    tuner: int | None = None,
) -> Run:
    """Run a program that prints moments and iterations.

    Args:
        line: What to execute.
        seconds: How long it takes.
        events: File of the tuner's events; `None` if it runs without one.
        environment: Of the program, if it is not ours.
        tuner: A process of which the tuner is a child, if it is not the program.

    Raises:
        Failed: It failed, said nothing, or took too long.
    """
    said, share, interrupts = _finish(line, environment, seconds + LIMIT_S, tuner)
    rows = [row.split() for row in said.splitlines() if len(row.split()) == 2]
    if len(rows) < 5:
        raise Failed("a run said nothing of its iterations")
    moments = [float(row[0]) for row in rows]
    done = [] if events is None else _events(events, moments[0])
    return Run(
        [at - moments[0] for at in moments],
        [int(row[1]) for row in rows],
        done,
        share if events else None,
        interrupts,
    )


def _events(path: Path, began_s: float) -> list[dict[str, Any]]:
    """Events; their moments are of the program's clock."""
    try:
        found = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError) as error:
        raise Failed(f"what the tuner wrote cannot be read: {error}") from None
    return [{**event, "at_s": event["monotonic_s"] - began_s} for event in found]


@dataclass(frozen=True)
class Host:
    """This machine itself.

    Attributes:
        programs: Directory of `imbalance` and `load`.
        mpiexec: MPICH's.
        directory: For what tuners leave behind.
        pus: The two processing units.
    """

    programs: Path
    mpiexec: str
    directory: Path
    pus: Sequence[int]

    def run(self, case: Case, way: Way, seconds: float) -> Run:
        """Run a case once.

        Raises:
            Failed: It cannot be counted.
        """
        chosen = case.mappings[way.mapping]
        # With no binding of its own the launcher leaves ranks wherever the kernel puts them.
        bound = "user:" + ",".join(str(self.pus[at]) for at in chosen) if chosen else "none"
        line: list[str | Path] = [self.mpiexec, "-bind-to", bound, "-n", "2", self.programs / "imbalance"]
        line += [str(seconds), str(case.phase_s), str(case.message_bytes), *map(str, case.work)]
        target = None
        if way.tuned:
            target = self.directory / "run.tune"
            line = ["rankwise", "tune", "--force", "-o", target, "--", *line]
        with loaded(self.programs / "load", self.pus[0], case.load):
            return count(line, seconds, target / "events.jsonl" if target else None)
