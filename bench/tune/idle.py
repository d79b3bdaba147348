# SPDX-License-Identifier: BSD-3-Clause
"""What the tuner itself takes while it watches many ranks."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

RANKS, WATCHED_S = 64, 20.0
NAMES = {"rankwise-tuned", "rankwise-guard"}


@dataclass(frozen=True)
class IdleCost:
    """Of the tuner and its guard.

    Attributes:
        ranks: Watched.
        core_share: Processor time by time.
        memory_bytes: Proportional set size of both together.
        start_s: From the launch of `rankwise tune --pid` to the first event that the tuner writes; median of five.
    """

    ranks: int
    core_share: float
    memory_bytes: int
    start_s: float


def _tuners() -> list[Path]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "comm").read_text().strip()[:15] in {
                name[:15] for name in NAMES
            }:
                found.append(process)
        except OSError:
            continue
    return found


def _used_s(process: Path) -> float:
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_bytes(process: Path) -> int:
    rows = (process / "smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))


def _start_s(target: Path) -> float:
    """Of a tuner for a process that sleeps, whose output directory is new."""
    sleeper = subprocess.Popen(["sleep", "60"])
    began = time.monotonic()
    tuner = subprocess.Popen(
        ["rankwise", "tune", "--dry-run", "-o", str(target), "--pid", str(sleeper.pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        events = target / "events.jsonl"
        while not (events.exists() and events.stat().st_size) and time.monotonic() < began + 10:
            time.sleep(0.001)
        return time.monotonic() - began
    finally:
        tuner.send_signal(signal.SIGINT)
        tuner.wait()
        sleeper.kill()
        sleeper.wait()


def measure_idle(program: Path, mpiexec: str, directory: Path) -> IdleCost:
    """Run many ranks that sleep under the tuner and look at it from outside."""
    line = [mpiexec, "-bind-to", "none", "-n", str(RANKS), str(program), str(int(WATCHED_S) + 15)]
    job = subprocess.Popen(
        ["rankwise", "tune", "-o", str(directory / "idle.tune"), "--", *line], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(10)  # until all ranks are found
        tuners = _tuners()
        if not tuners:
            raise SystemExit("no tuner runs beside the ranks")
        before, began = sum(map(_used_s, tuners)), time.monotonic()
        time.sleep(WATCHED_S)
        used, passed = sum(map(_used_s, tuners)) - before, time.monotonic() - began
        memory = sum(map(_memory_bytes, tuners))
    finally:
        job.wait()
    starts = sorted(_start_s(directory / f"start{number}.tune") for number in range(5))
    return IdleCost(RANKS, used / passed, memory, starts[2])
