# SPDX-License-Identifier: BSD-3-Clause
"""The whole of `rankwise tune` killed in the middle of a trial: are the masks of its job's ranks what they were?"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tune.faults import LONGEST_S
from tune.others import living
from tune.own_cost import start_s
from tune.runs import Failed, loaded, tuners_of

_APPLIED_S = 15.0
_RANKS = "imbalance"


@dataclass
class RealFaults:
    """Of all rounds.

    Attributes:
        rounds: In which the tuner was killed while a change was applied.
        threads: Of the ranks, looked at afterwards.
        wrong: Of these, with another mask than the launcher gave.
        restored_s: Where only the tuner was killed, from the signal to the last mask.
    """

    rounds: int = 0
    threads: int = 0
    wrong: int = 0
    restored_s: list[float] = field(default_factory=list)


def _masks(pids: list[int]) -> dict[tuple[int, int], frozenset[int]]:
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in map(int, os.listdir(f"/proc/{pid}/task")):
                with contextlib.suppress(OSError):
                    found[pid, thread] = frozenset(os.sched_getaffinity(thread))
    return found


def one_round(
    programs: Path, mpiexec: str, directory: Path, pus: list[int], guard_too: bool, dice: random.Random,
    into: RealFaults,
) -> None:  # fmt: skip
    """Kill it once.

    Raises:
        Failed: No change was applied, so that nothing could be seen.
    """
    target = directory / "killed.tune"
    line: list[str | Path] = [mpiexec, "-bind-to", f"user:{pus[0]},{pus[1]}", "-n", "2", programs / _RANKS]
    line += ["40", "0", "1024", "150", "50"]
    others = set(living(_RANKS))
    with loaded(programs / "load", pus[0], 0.4):
        job = subprocess.Popen(
            ["rankwise", "tune", "--force", "-o", target, "--", *line], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            ranks: list[int] = []
            before: dict[tuple[int, int], frozenset[int]] = {}
            until = time.monotonic() + _APPLIED_S
            events = target / "events.jsonl"
            while '"applied"' not in (events.read_text() if events.exists() and ranks else ""):
                if time.monotonic() > until or job.poll() is not None:
                    raise Failed("no change was applied")
                if len(ranks) < 2:
                    ranks = [pid for pid in living(_RANKS) if pid not in others]
                elif not before:
                    before = _masks(ranks)
                time.sleep(0.01)
            if not before:
                raise Failed("its ranks were not seen before the first change")
            time.sleep(dice.uniform(0, 1))
            tuners = tuners_of(job.pid)
            began = time.monotonic()
            for pid in sorted(tuners, reverse=True) if guard_too else tuners[:1]:
                os.kill(pid, signal.SIGKILL)
            if guard_too:
                start_s(directory / f"next{into.rounds}.tune")
            restored = _until_restored(ranks, before, began)
            after = _masks(ranks)
            into.rounds += 1
            into.threads += len(after)
            into.wrong += sum(mask != _wanted(before, key) for key, mask in after.items())
            if not guard_too:
                into.restored_s.append(restored - began)
        finally:
            job.send_signal(signal.SIGTERM)
            job.wait()


def _wanted(before: dict[tuple[int, int], frozenset[int]], key: tuple[int, int]) -> frozenset[int]:
    """What a thread had, or, if it was born since, its process' first thread."""
    return before[key] if key in before else before[key[0], key[0]]


def _until_restored(ranks: list[int], before: dict[tuple[int, int], frozenset[int]], began: float) -> float:
    while time.monotonic() < began + LONGEST_S:
        if all(mask == _wanted(before, key) for key, mask in _masks(ranks).items()):
            break
        time.sleep(0.0005)
    return time.monotonic()
