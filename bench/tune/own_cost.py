# SPDX-License-Identifier: BSD-3-Clause
"""What the tuner itself takes while it watches many ranks that call MPI."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.scratch import scratch
from rankwise.tune import control, directories
from rankwise.tune.plan import Plan, this_node
from rankwise.tune.preload import tune_environment
from rankwise.tune.tuner_process import TunerProcess
from tune.experiments import simulated_nodes
from tune.runs import Failed, processor_s, tuners_of

RANKS, WINDOWS, WINDOW_S, STARTS = 64, 6, 4.0, 7
LOOKS_SHARE = 1e-3  # units_due_ of tune/observe/observer.hpp
_FOUND_S = 20.0
# Looks get rarer after ten that show nothing, and are rarest some seconds later (tune/tuner.cpp).
_UNTIL_IT_RESTS_S = 20.0


@dataclass(frozen=True)
class OwnCost:
    """Of the tuner and its guard.

    Attributes:
        ranks: That the tuner says it has found.
        core_share: Processor time by time, of each window, while it looks at them once a second.
        resting_share: The same once it looks every four seconds, because there is nothing to be gained.
        memory_bytes: Proportional set size of both together.
        waiting_bytes: The same of the command `rankwise tune`, which waits for the job.
        waiting_share: Processor time by time of that command.
        start_s: From the launch of `rankwise tune --pid` to the first event that the tuner writes, of each launch.
        calls_per_s: MPI calls or iterations a second of all ranks, as the tuner says, and which.
        decision_s: Processor time of one decision for as many ranks on a core each, which this machine may not have.
    """

    ranks: int
    core_share: list[float]
    memory_bytes: int
    waiting_bytes: int
    waiting_share: float
    start_s: list[float]
    calls_per_s: tuple[float, str] | None
    decision_s: float
    resting_share: list[float] = field(default_factory=list)


def _memory_bytes(pid: int) -> int:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))


def start_s(target: Path) -> float:
    """Of a tuner for a process that sleeps, whose output directory is new."""
    sleeper = subprocess.Popen(["sleep", "60"])
    began = time.monotonic()
    tuner = subprocess.Popen(
        ["rankwise", "tune", "-o", target, "--pid", str(sleeper.pid)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        events = target / "events.jsonl"
        while not (events.exists() and events.stat().st_size):
            if time.monotonic() > began + 10 or tuner.poll() is not None:
                raise Failed("a tuner did not start within 10 s")
            time.sleep(0.001)
        return time.monotonic() - began
    finally:
        tuner.send_signal(signal.SIGINT)
        tuner.wait()
        sleeper.kill()
        sleeper.wait()


def _decision_s() -> float:
    """For ranks of unequal computation, some on cores with interrupts: one exchange is not enough."""
    times = ",".join(str(0.002 + 0.0008 * (rank * 7 % 10)) for rank in range(RANKS))
    scenario = (
        f"node packages 2 cores {RANKS // 2} l3_of 8\npolicy begin_above 1\n"
        f"job a pus {','.join(map(str, range(RANKS)))} compute {times} pattern ring bytes 1e5\n"
        "at 0 irq 0 0.4\nat 0 irq 9 0.3\nat 0 start a\nuntil 2\n"
    )
    (found,) = simulated_nodes.lines(simulated_nodes.built("Release"), scenario, "decide")
    return float(found["decision_s"])


def _until(found: Callable[[], bool], job: subprocess.Popen[bytes], what: str) -> None:
    until = time.monotonic() + _FOUND_S
    while not found():
        if time.monotonic() > until or job.poll() is not None:
            raise Failed(what)
        time.sleep(0.2)


def _callers(programs: Path, mpiexec: str, seconds: float) -> list[str]:
    return [mpiexec, "-bind-to", "none", "-n", str(RANKS), str(programs / "callers"), str(seconds)]


def _has_found_all(socket: Path) -> Callable[[], bool]:
    def look() -> bool:
        try:
            return control.status_of(socket).ranks == RANKS
        except RankwiseError:
            return False

    return look


def _shares(tuners: Sequence[int]) -> list[float]:
    shares = []
    for _ in range(WINDOWS):
        before, at = sum(map(processor_s, tuners)), time.monotonic()
        time.sleep(WINDOW_S)
        shares.append((sum(map(processor_s, tuners)) - before) / (time.monotonic() - at))
    return shares


def _looking_each_second(programs: Path, mpiexec: str, directory: Path) -> list[float]:
    """What it takes beside ranks that it never looks at more seldom."""
    with scratch("tune-looks", "/dev/shm" if Path("/dev/shm").is_dir() else None) as memory:
        pages, state = memory / "pages", memory / "state"
        for folder in (pages, state):
            folder.mkdir(mode=0o700)
        job = subprocess.Popen(
            _callers(programs, mpiexec, 2 * _FOUND_S + WINDOWS * WINDOW_S + 5),
            env=os.environ | tune_environment(pages, None),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _until(lambda: len(list(pages.glob("*.page"))) == RANKS, job, f"{RANKS} ranks did not begin")
            plan, socket = directory / "looks.plan", state / directories.SOCKET
            pus, costs = this_node(None)
            Plan(pus, costs, state, socket, pages=pages, policy={"rarest": 1.0}).write(plan)
            tuner = TunerProcess(plan, socket, directory / "looks.log")
            try:
                _until(_has_found_all(socket), job, f"the tuner did not find {RANKS} ranks")
                return _shares(tuners_of(os.getpid()))
            finally:
                tuner.end()
        finally:
            job.terminate()
            job.wait()


def measure(programs: Path, mpiexec: str, directory: Path) -> OwnCost:
    """Run many ranks under the tuner and look at it from outside.

    Raises:
        Failed: It did not find them, or did not start.
    """
    looking = _looking_each_second(programs, mpiexec, directory)
    line = _callers(programs, mpiexec, _FOUND_S + _UNTIL_IT_RESTS_S + WINDOWS * WINDOW_S + 5)
    job = subprocess.Popen(
        ["rankwise", "tune", "--force", "-o", directory / "many.tune", "--", *line],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        socket = directories.user_directory() / str(job.pid) / directories.SOCKET
        _until(_has_found_all(socket), job, f"the tuner did not find {RANKS} ranks")
        time.sleep(_UNTIL_IT_RESTS_S)
        tuners = tuners_of(job.pid)
        waited, began = processor_s(job.pid), time.monotonic()
        resting = _shares(tuners)
        waiting = (processor_s(job.pid) - waited) / (time.monotonic() - began)
        memory, waiting_bytes = sum(map(_memory_bytes, tuners)), _memory_bytes(job.pid)
        status = control.status_of(socket)
        rates = [(group.rate_per_s, group.rate_of or "") for group in status.groups if group.rate_per_s]
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait()
    starts = [start_s(directory / f"start{number}.tune") for number in range(STARTS)]
    called = rates[0] if rates else None
    return OwnCost(
        status.ranks, looking, memory, waiting_bytes, waiting, starts, called, _decision_s(), resting
    )
