# SPDX-License-Identifier: BSD-3-Clause
"""`python -m tune`: what `rankwise tune` gains and costs, beside static mappings, the kernel, irqbalance and numad."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import command

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.scratch import scratch
from rankwise.site_build import find_mpicc
from tune import page
from tune.cases import CASES, MAPPINGS, Case
from tune.idle import IdleCost, measure_idle
from tune.runs import Run, beside, launch, loaded

# Other tools that move processes or interrupts, run as their packages do, in the foreground.
TOOLS = {"irqbalance": ["irqbalance", "--foreground"], "numad": ["numad", "-l", "7", "-F"]}
HERE = Path(__file__).parent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the page (Markdown)")
    parser.add_argument("--rounds", type=int, default=5, help="of all ways to run each case (default: 5)")
    parser.add_argument("--seconds", type=float, default=24.0, help="of each run (default: 24)")
    parser.add_argument(
        "--case",
        action="append",
        choices=[case.name for case in CASES],
        help="only this case; may come several times",
    )
    parser.add_argument("launcher", nargs="*", help=argparse.SUPPRESS)


def build(directory: Path, mpiexec: str) -> tuple[Path, Path, Path]:
    """Compile the programs."""
    programs = []
    for name, compiler in (
        ("imbalance", str(find_mpicc(mpiexec))),
        ("load", "cc"),
        ("sleepers", str(find_mpicc(mpiexec))),
    ):
        programs.append(directory / name)
        subprocess.run([compiler, "-O2", "-o", programs[-1], HERE / f"{name}.c"], check=True)
    return programs[0], programs[1], programs[2]


def ways(case: Case, tools: dict[str, list[str]]) -> dict[str, tuple[str, bool, list[str] | None]]:
    """Name: mapping, whether it is tuned, what runs beside it."""
    found: dict[str, tuple[str, bool, list[str] | None]] = {name: (name, False, None) for name in MAPPINGS}
    found |= {f"{tool} and the kernel": ("the kernel alone", False, words) for tool, words in tools.items()}
    return found | {f"rankwise tune, from: {name}": (name, True, None) for name in MAPPINGS}


def one_round(
    case: Case, programs: tuple[Path, Path, Path], mpiexec: str, seconds: float, directory: Path,
    tools: dict[str, list[str]],
) -> dict[str, Run]:  # fmt: skip
    """Each way once."""
    pus = sorted(os.sched_getaffinity(0))[:2]
    found = {}
    for number, (name, (mapping, tuned, tool)) in enumerate(ways(case, tools).items()):
        chosen = MAPPINGS[mapping]
        target = directory / f"{number}.tune" if tuned else None
        if target and target.exists():
            shutil.rmtree(target)
        with beside(tool), loaded(programs[1], pus[0], case.load):
            found[name] = launch(
                case, programs[0], mpiexec, [pus[at] for at in chosen] if chosen else None, seconds, target
            )
    return found


def run(args: argparse.Namespace) -> int:
    """All cases, in rounds."""
    if len(os.sched_getaffinity(0)) < 2:
        raise RankwiseError("the benchmark needs two processing units", "run it on a machine that has two")
    mpiexec = (args.launcher or ["mpiexec"])[0]
    if shutil.which(mpiexec) is None:
        raise RankwiseError(f"`{mpiexec}` is not on PATH", "name MPICH's mpiexec behind `--`")
    tools = {name: words for name, words in TOOLS.items() if shutil.which(words[0])}
    cases = [case for case in CASES if not args.case or case.name in args.case]
    with scratch("tune") as directory:
        programs = build(directory, mpiexec)
        rounds: dict[str, list[dict[str, Run]]] = {case.name: [] for case in cases}
        for number in range(args.rounds):
            for case in cases:
                rounds[case.name].append(one_round(case, programs, mpiexec, args.seconds, directory, tools))
                sys.stderr.write(f"round {number + 1} of {args.rounds}: {case.name}\n")
        idle: IdleCost = measure_idle(programs[2], mpiexec, directory)
    text = page.text(rounds, args.seconds, idle, sorted(set(TOOLS) - set(tools)))
    if args.output:
        whole_files.write(args.output, text.encode())
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(command.main("tune", __doc__.split(": ", 1)[1], add_arguments, run))
