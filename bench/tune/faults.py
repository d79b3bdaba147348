# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tune.faults`: whether threads keep a wrong mask when the tuner, its guard or ranks are killed.

Two ranks, each of a thread that computes, two that sleep and one that begins and ends others all the time, change
places again and again. At a random moment the tuner is killed (SIGKILL), or with its guard, or a rank is, or a thread
is given another mask from outside first. Then the guard, or the next start, has to give back what was there before.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import command

from rankwise.errors import RankwiseError
from rankwise.scratch import scratch

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))

import tune_driver  # noqa: E402

from tune import restored  # noqa: E402

FAULTS = (
    "tuner killed",
    "tuner and guard killed",
    "rank killed, then tuner",
    "mask changed, then tuner killed",
)
HOMES = (frozenset({0}), frozenset({1}))
OUTSIDE = frozenset({0, 1})
# That a mask is back late is said beside; wrong is what stays so. On a starved machine the kernel may take half a
# minute to end the tuner, which is when the guard begins.
LONGEST_S = 60.0


@dataclass
class Outcome:
    """Of all rounds.

    Attributes:
        rounds: By fault.
        moved: Rounds in which masks were changed at the moment of the fault.
        threads: Looked at after the rounds, those that were born and died not counted twice.
        wrong: Of these, with a mask that they should not have.
        wrong_in: By fault, the rounds with one that was wrong.
        outside: Masks changed from outside that stayed, and that were given what the thread had before that.
        restored_s: Of each round in which the tuner alone was killed, from the signal to the last mask.
        ended_s: Of the same, from the signal until the kernel had ended the tuner, which needs a core for that.
    """

    rounds: dict[str, int] = field(default_factory=dict)
    moved: int = 0
    threads: int = 0
    wrong: int = 0
    wrong_in: dict[str, int] = field(default_factory=dict)
    outside: list[int] = field(default_factory=lambda: [0, 0])
    restored_s: list[float] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)


class Ranks:
    """Two processes that are started again when they were killed."""

    def __init__(self, program: Path):
        self.program = program
        self.processes = [self._started(home) for home in HOMES]

    def _started(self, home: frozenset[int]) -> subprocess.Popen[str]:
        # In one session, as the ranks of a job are.
        return restored.started(self.program, ("3", "1", "1"), home)

    def renew(self) -> None:
        """Start those again that are gone, and give all threads the masks they begin with."""
        for number, home in enumerate(HOMES):
            if self.processes[number].poll() is not None:
                self.end(number)
                self.processes[number] = self._started(home)
            while set(tune_driver.masks(self.processes[number].pid).values()) != {home}:
                for thread in tune_driver.masks(self.processes[number].pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.sched_setaffinity(thread, home)

    def end(self, number: int) -> None:
        """Kill one."""
        process = self.processes[number]
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def wrong(self, changed: int | None) -> tuple[int, int]:
        """Threads, and those that have not what they should: the thread `changed` may keep what it was given."""
        threads = wrong = 0
        for process, home in zip(self.processes, HOMES, strict=True):
            if process.poll() is not None:
                continue
            for thread, mask in tune_driver.masks(process.pid).items():
                threads += 1
                wrong += mask != home and not (thread == changed and mask == OUTSIDE)
        return threads, wrong


@contextlib.contextmanager
def _a_launcher() -> Iterator[None]:
    """Ranks are of one job as children of a process with a launcher's name."""
    name = Path("/proc/self/comm")
    before = name.read_text()
    name.write_text("mpiexec")
    try:
        yield
    finally:
        name.write_text(before)


@contextlib.contextmanager
def _foremost() -> Iterator[None]:
    """Before the ranks, where this may be: what is measured is not how long this waits for a core."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _until_restored(ranks: Ranks, changed: int | None, folder: Path, began: float) -> float:
    """Wait until the guard has done its work; the moment at which no mask was wrong any more."""
    ended = None
    while time.monotonic() < began + LONGEST_S:
        _, wrong = ranks.wrong(changed)
        ended = (ended or time.monotonic()) if not wrong else None
        if not (folder / "state/journal").exists():
            break
        time.sleep(0.0005)
    return ended or time.monotonic()


def _one_round(
    ranks: Ranks, fault: str, program: Path, folder: Path, dice: random.Random, into: Outcome
) -> None:
    pids = [process.pid for process in ranks.processes]
    driver = tune_driver.Driver(folder, [f"pid {pid}" for pid in pids], program)
    if driver.first != "ready":
        raise RankwiseError(driver.first)
    driver.sample()
    there, back = f"move {pids[0]} 0 1 {pids[1]} 1 0", f"move {pids[0]} 1 0 {pids[1]} 0 1"
    backs = (back, "undo", f"back {pids[0]} {pids[1]}")
    work = [line for _ in range(200) for line in (there, dice.choice(backs))]
    work.insert(dice.randrange(len(work)), "sample")
    driver.tell("\n".join(work))  # more than it comes to
    time.sleep(dice.uniform(0, 0.03))
    changed = None
    if fault == "mask changed, then tuner killed":
        # Any but the last of its first threads, which begins others: these would have its mask. The kernel lists
        # threads as they began; their numbers wrap around.
        changed = dice.choice(list(tune_driver.masks(pids[0]))[:4])
        os.sched_setaffinity(changed, OUTSIDE)
        time.sleep(dice.uniform(0, 0.003))
    elif fault == "rank killed, then tuner":
        ranks.end(dice.randrange(2))
        time.sleep(dice.uniform(0, 0.003))
    elif fault == "tuner and guard killed":
        driver.process.send_signal(signal.SIGSTOP)  # else it makes another guard before it is killed
        os.kill(driver.guard, signal.SIGKILL)
    moved = ranks.wrong(changed)[1] > 0
    began = time.monotonic()
    driver.kill()
    killed = time.monotonic()
    ended = _until_restored(ranks, changed, folder, began) if fault != "tuner and guard killed" else None
    if fault == "tuner and guard killed":
        after = tune_driver.Driver(folder, [], program)
        if after.first != "ready":
            raise RankwiseError(after.first)
        after.end()
    threads, wrong = ranks.wrong(changed)
    into.threads += threads
    into.wrong += wrong
    if wrong:
        into.wrong_in[fault] = into.wrong_in.get(fault, 0) + 1
    into.moved += moved
    if changed is not None:
        with contextlib.suppress(ProcessLookupError):
            into.outside[frozenset(os.sched_getaffinity(changed)) != OUTSIDE] += 1
    into.rounds[fault] = into.rounds.get(fault, 0) + 1
    if ended is not None and fault == "tuner killed":
        into.restored_s.append(ended - began)
        into.ended_s.append(killed - began)


def _threads(directory: Path) -> Path:
    program = directory / "many_threads"
    source = TOP / "tests/programs/many_threads.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-pthread", source, "-o", program], check=True)
    return program


def _splits(ranks: list[int], rounds: int, directory: Path) -> dict[int, restored.Split]:
    threads, program = _threads(directory), tune_driver.program(tune_driver.FAST)
    with _foremost():
        return {count: restored.measure_split(count, rounds, program, threads, directory) for count in ranks}


def measure_faults(
    rounds: int, directory: Path, seed: int, outcome: Outcome, until_s: float = float("inf")
) -> None:
    """Run rounds of each fault in turn, until a moment of the monotonic clock; `outcome` holds those that ended."""
    dice = random.Random(seed)
    program = tune_driver.program(tune_driver.FAST)
    threads = _threads(directory)
    folder = directory / "faults"
    folder.mkdir(exist_ok=True)
    ranks = Ranks(threads)
    try:
        for number in range(rounds):
            if time.monotonic() > until_s:
                break
            ranks.renew()
            with _a_launcher(), _foremost():
                _one_round(ranks, FAULTS[number % len(FAULTS)], program, folder, dice, outcome)
            if (number + 1) % 100 == 0:
                sys.stderr.write(f"faults: {number + 1} of {rounds} rounds, {outcome.wrong} wrong masks\n")
    finally:
        for number in range(len(HOMES)):
            ranks.end(number)


def text(outcome: Outcome) -> str:
    """What came out, in Markdown."""
    lines = [
        "| fault | rounds |",
        "|---|---|",
        *(f"| {fault} | {count} |" for fault, count in outcome.rounds.items()),
    ]
    lines += [
        "",
        f"In {outcome.moved} of {sum(outcome.rounds.values())} rounds the tuner had changed masks when the fault came. "
        f"Of {outcome.threads} threads that lived after the rounds, {outcome.wrong} had a wrong mask.",
    ]
    if outcome.wrong_in:
        rounds = ", ".join(f"{count} of *{fault}*" for fault, count in outcome.wrong_in.items())
        lines.append(f"Wrong were masks in these rounds: {rounds}.")
    if sum(outcome.outside):
        stayed, lost = outcome.outside
        lines.append(
            f"Of {stayed + lost} masks that were changed from outside meanwhile, {stayed} stayed and {lost} did not. "
            "Perhaps the tuner had moved those threads once more after that; the test does not know."
        )
    if outcome.restored_s:
        after, ended = (
            f"{1e3 * statistics.median(times):.1f} ms (median of {len(times)} rounds, {1e3 * max(times):.1f} at most)"
            for times in (outcome.restored_s, outcome.ended_s)
        )
        lines.append(f"If only the tuner was killed, all masks were back {after} after the signal,")
        lines.append(
            f"while the ranks computed on all cores. Of this time, the kernel took {ended} to end the tuner."
        )
    if os.geteuid() == 0:
        lines.append(
            "If the tuner of root has changed something, it and its guard come before all ranks (SCHED_RR). The tuner "
            "and the guard of an ordinary user may have to wait for a core."
        )
    return "\n".join(lines) + "\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("--rounds", type=int, default=1000, help="of all faults together (default: 1000)")
    parser.add_argument("--seed", type=int, default=31, help="of the moments (default: 31)")
    parser.add_argument(
        "--ranks", type=int, nargs="+", default=[], metavar="N",
        help="instead, kill the tuner of so many ranks each, and say what the time goes to",
    )  # fmt: skip
    parser.add_argument("launcher", nargs="*", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """All rounds; 1 if a thread had a wrong mask."""
    if not {0, 1} <= os.sched_getaffinity(0):
        raise RankwiseError("the faults need processing units 0 and 1", "run it on a machine that has both")
    # As `rankwise tune` has its state: in memory.
    with scratch("tune-faults", "/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        if args.ranks:
            sys.stdout.write(restored.text(_splits(args.ranks, args.rounds, directory)))
            return 0
        outcome = Outcome()
        measure_faults(args.rounds, directory, args.seed, outcome)
    sys.stdout.write(text(outcome))
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(
        command.main("tune.faults", (__doc__ or "").split(": ", 1)[1].splitlines()[0], add_arguments, run)
    )
