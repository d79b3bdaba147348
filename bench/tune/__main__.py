# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tune`: what `rankwise tune` gains and costs, beside static mappings, the kernel, irqbalance and numad."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import command

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.own_lab import remove_orphans
from rankwise.lab.state import remove_dead
from rankwise.scratch import scratch
from rankwise.site_build import find_mpicc
from tune import call_cost, own_cost, page, real_faults
from tune.cases import CASES, Case, Way
from tune.experiments import experiments, simulated_nodes
from tune.faults import Outcome, measure_faults, tune_driver
from tune.lab_host import LabHost, lab_host
from tune.others import TOOLS, beside, living
from tune.results import CALLS, COST, EXPERIMENTS, FAULTS, Results, Session, keep, resumed
from tune.runs import Failed, Host, Run

HERE = Path(__file__).parent
_PARTS = [*(case.name for case in CASES), EXPERIMENTS, COST, CALLS, FAULTS]
_REAL_FAULTS, _REAL_FAILURES = 12, 3
# What comes after the rounds.
_AFTER_S = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the page (Markdown)")
    parser.add_argument(
        "--results", type=Path, metavar="FILE",
        help="keep here what was measured; parts that are there and not measured now go into the page, too",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="of all ways to run each case (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="of each run's seconds (default: 1)")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="begin nothing that would not end by then (default: 60)"
    )
    parser.add_argument("--faults", type=int, default=1000, help="rounds of faults (default: 1000)")
    parser.add_argument(
        "--seed", type=int, help="of the order of ways and of faults' moments (default: by the time)"
    )
    parser.add_argument(
        "--case", action="append", choices=_PARTS, help="only this case or part; may come several times"
    )
    parser.add_argument("launcher", nargs="*", help=argparse.SUPPRESS)


def build(directory: Path, mpiexec: str) -> None:
    """Compile the programs."""
    mpicc = str(find_mpicc(mpiexec))
    for name, compiler in (("imbalance", mpicc), ("feed", mpicc), ("callers", mpicc), ("load", "cc")):
        subprocess.run([compiler, "-O2", "-o", directory / name, HERE / f"{name}.c"], check=True)


def one_round(
    case: Case, host: Host | LabHost, results: Results, dice: random.Random, say: Callable[[str], None]
) -> None:
    """Each way once, in any order; what ended before an interruption is kept."""
    done: dict[str, Run] = {}
    results.rounds[case.name].append(done)
    ways: list[Way] = list(case.ways())
    dice.shuffle(ways)
    for way in ways:
        try:
            with beside(TOOLS[way.tool] if way.tool else None):
                run = host.run(case, way, case.seconds * results.now.scale)
            done[way.name] = run
            say(f"  {case.name}: {way.name}: {run.rate():.1f} iterations/s")
        except Failed as error:
            results.now.fails(f"{case.name}, {way.name}: {error}")
            say(f"  {case.name}: {way.name}: not counted: {error}")


def run(args: argparse.Namespace) -> int:
    """All parts; those of an interrupted benchmark are written as far as they came."""
    pus = sorted(os.sched_getaffinity(0))[:2]
    if len(pus) < 2:
        raise RankwiseError("the benchmark needs two processing units", "run it on a machine that has two")
    mpiexec = shutil.which((args.launcher or ["mpiexec"])[0])
    if mpiexec is None:
        raise RankwiseError(
            f"`{(args.launcher or ['mpiexec'])[0]}` is not on PATH", "name MPICH's mpiexec behind `--`"
        )
    for name in TOOLS:
        if already := living(name):
            raise RankwiseError(
                f"{name} runs (process {already[0]}): it would be beside all runs",
                "stop it, and start this again",
            )
    began = time.monotonic()
    seed = int(time.time()) if args.seed is None else args.seed
    results, dice = resumed(args.results, Session(seed, args.scale)), random.Random(seed)
    sys.stderr.write(f"seed {seed}\n")

    def say(line: str) -> None:
        sys.stderr.write(f"{(time.monotonic() - began) / 60:5.1f} min {line}\n")
        sys.stderr.flush()

    def write() -> None:
        results.now.took_s = time.monotonic() - began
        if args.results:
            keep(args.results, results)
        if args.output:
            whole_files.write(args.output, page.text(results).encode())

    wanted = set(args.case or _PARTS)
    remove_dead()
    remove_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    interrupted = False
    with scratch("tune") as directory:
        try:
            build(directory, mpiexec)
            _compile(wanted, say)
            for _ in _parts(wanted, args, directory, mpiexec, pus, results, dice, say):
                write()
        except (KeyboardInterrupt, SystemExit):  # the latter at SIGTERM while a lab is up
            interrupted = True
            say("interrupted: what has ended is kept")
    write()
    if not args.output:
        sys.stdout.write(page.text(results))
    return 130 if interrupted else 0


def _compile(wanted: set[str], say: Callable[[str], None]) -> None:
    """Build what later parts need, which takes minutes the first time: a part that begins finds it there."""
    say("compiling")
    if wanted & {EXPERIMENTS, COST}:
        simulated_nodes.built()
    if FAULTS in wanted:
        tune_driver.program(tune_driver.FAST)


def _parts(
    wanted: set[str], args: argparse.Namespace, directory: Path, mpiexec: str, pus: list[int], results: Results,
    dice: random.Random, say: Callable[[str], None],
) -> Iterator[None]:  # fmt: skip
    """Do one after the other; yields after each."""
    attempted = _attempt(results, say)
    host = Host(directory, mpiexec, directory, pus)
    cases = [case for case in CASES if case.name in wanted]
    end = time.monotonic() + 60 * args.minutes
    until = end - (_AFTER_S if wanted >= {COST, FAULTS} else 0)
    longest = 0.0
    for number in range(args.rounds if cases else 0):
        began = time.monotonic()
        if number and began + longest > until:
            say(f"no time for more than {number} rounds")
            break
        say(f"round {number + 1} of {args.rounds}")
        for case in cases:
            if not number:
                results.begin(case.name)
                results.rounds[case.name] = []
            with attempted(case.name):
                if case.messages:
                    with lab_host(directory, mpiexec, directory) as lab:
                        one_round(case, lab, results, dice, say)
                else:
                    one_round(case, host, results, dice, say)
            yield
        longest = max(longest, time.monotonic() - began)
    if EXPERIMENTS in wanted:
        say("simulated nodes")
        results.begin(EXPERIMENTS)
        with attempted(EXPERIMENTS):
            results.experiments = experiments()
        yield
    if COST in wanted:
        say("own cost")
        results.begin(COST)
        with attempted(COST):
            results.own_cost = own_cost.measure(directory, mpiexec, directory)
        yield
    if CALLS in wanted:
        say("cost of a call")
        results.begin(CALLS)
        with attempted(CALLS):
            results.call_costs = call_cost.measure(directory, say)
        yield
    if FAULTS in wanted:
        say("faults")
        results.begin(FAULTS)
        _faults(args, directory, mpiexec, pus, results, dice, attempted, end)
        yield


def _faults(
    args: argparse.Namespace, directory: Path, mpiexec: str, pus: list[int], results: Results, dice: random.Random,
    attempted: Callable[[str], contextlib.AbstractContextManager[None]], end: float,
) -> None:  # fmt: skip
    """Kill real tuners, and those of a program that only changes masks."""
    results.real_faults = real_faults.RealFaults()
    for number in range(min(_REAL_FAULTS, args.faults)):
        if number - results.real_faults.rounds >= _REAL_FAILURES:
            break
        with attempted("`rankwise tune` killed"):
            real_faults.one_round(
                directory, mpiexec, directory, pus, number % 2 == 1, dice, results.real_faults
            )
    results.faults = Outcome()
    with (
        attempted(FAULTS),
        scratch("tune-faults", "/dev/shm" if Path("/dev/shm").is_dir() else None) as memory,
    ):
        measure_faults(args.faults, memory, results.now.seed, results.faults, end)


def _attempt(
    results: Results, say: Callable[[str], None]
) -> Callable[[str], contextlib.AbstractContextManager[None]]:
    """A part that fails is named on the page, and the others go on."""

    @contextlib.contextmanager
    def attempted(name: str) -> Iterator[None]:
        try:
            yield
        except (Failed, RankwiseError, OSError, subprocess.SubprocessError, AssertionError) as error:
            results.now.fails(f"{name}: {error}")
            say(f"{name}: not counted: {error}")

    return attempted


if __name__ == "__main__":
    sys.exit(command.main("tune", __doc__.split(": ", 1)[1], add_arguments, run))
