# SPDX-License-Identifier: BSD-3-Clause
"""How long masks of many ranks stay changed after SIGKILL of their tuner, and what that time goes to."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tune_driver

from rankwise.errors import RankwiseError

_LONGEST_S = 5.0
_PUS = (frozenset({0}), frozenset({1}))


@dataclass
class Split:
    """Of each round, from the signal on.

    Attributes:
        noticed_s: Until the guard ran.
        first_s: Until the first mask was back.
        last_s: Until the last one was.
    """

    noticed_s: list[float] = field(default_factory=list)
    first_s: list[float] = field(default_factory=list)
    last_s: list[float] = field(default_factory=list)


def started(program: Path, words: Sequence[str], home: frozenset[int]) -> subprocess.Popen[str]:
    """A rank, tests/programs/many_threads.c, that is bound and at work."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, home)
    try:
        process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True)
    finally:
        os.sched_setaffinity(0, before)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _times_run(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[2])
    return -1


def _one_round(pids: Sequence[int], driver_program: Path, folder: Path, into: Split) -> None:
    driver = tune_driver.Driver(folder, [f"pid {pid}" for pid in pids], driver_program)
    if driver.first != "ready":
        raise RankwiseError(driver.first)
    driver.sample()
    moves = [(pid, str(at % 2), str(1 - at % 2)) for at, pid in enumerate(pids)]
    why = driver.move(*moves)
    if why:
        driver.end()
        raise RankwiseError(f"the ranks could not change places: {why}")
    guard = driver.guard
    before = _times_run(guard)
    noticed = first = None
    began = time.monotonic()
    os.kill(driver.process.pid, signal.SIGKILL)
    while (now := time.monotonic()) < began + _LONGEST_S:
        if noticed is None and _times_run(guard) != before:
            noticed = now
        back = sum(os.sched_getaffinity(pid) == _PUS[at % 2] for at, pid in enumerate(pids))
        if back and first is None:
            first = now
        if back == len(pids):
            break
        time.sleep(0.0002)
    last = time.monotonic()
    driver.close()
    if back < len(pids):
        raise RankwiseError(f"{len(pids) - back} of {len(pids)} masks were not back after {_LONGEST_S:g} s")
    first = first or last
    into.noticed_s.append((noticed or first) - began)
    into.first_s.append(first - began)
    into.last_s.append(last - began)
    while _times_run(guard) >= 0:
        time.sleep(0.001)


def measure_split(ranks: int, rounds: int, driver_program: Path, threads: Path, directory: Path) -> Split:
    """Kill the tuner of so many ranks that all compute, on two processing units, again and again.

    Raises:
        RankwiseError: The ranks could not be moved, or masks were not put back.
    """
    folder = directory / f"split{ranks}"
    folder.mkdir(exist_ok=True)
    processes: list[subprocess.Popen[str]] = []
    split = Split()
    try:
        processes += [started(threads, ("0", "1", "0"), _PUS[at % 2]) for at in range(ranks)]
        for _ in range(rounds):
            _one_round([process.pid for process in processes], driver_program, folder, split)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    return split


def text(splits: dict[int, Split]) -> str:
    """What came out by number of ranks, in Markdown."""
    lines = [
        "| ranks | rounds | guard runs | first mask back | last mask back |",
        "|---|---|---|---|---|",
    ]
    for ranks, split in splits.items():
        cells = (
            f"{1e3 * statistics.median(times):.1f} ms, {1e3 * max(times):.1f} at most"
            for times in (split.noticed_s, split.first_s, split.last_s)
        )
        lines.append(f"| {ranks} | {len(split.last_s)} | {' | '.join(cells)} |")
    lines += ["", "Times are medians from the signal on. All ranks compute, on two processing units."]
    return "\n".join(lines) + "\n"
