# SPDX-License-Identifier: BSD-3-Clause
"""`python -m interrupts`: who suffers on the core that processes what a node receives."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import command
from accuracy.cases import check_mpi4py
from accuracy.validation import find_launcher

from interrupts import page
from interrupts.experiment import experiment
from rankwise.cli.parsing import add_output
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError
from rankwise.lab.own_lab import remove_orphans
from rankwise.lab.state import remove_dead
from rankwise.launchers.identify import identify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--mpi", choices=("mpich", "openmpi"), help="default mpich; `-- mpiexec` names the launcher"
    )
    parser.add_argument(
        "--repetitions", type=int, default=5, metavar="N", help="launches with each core; default 5"
    )
    add_output(parser, "write what came out as a page", metavar="FILE.md")


def run(args: argparse.Namespace) -> int:
    """Measure, and say what came out."""
    terminal = Terminal(args)
    if args.repetitions < 1:
        raise RankwiseError(
            f"`{args.repetitions}` repetitions measure nothing", "for example `--repetitions 5`"
        )
    if args.output:
        page.check(Path(args.output), args.force)
    check_mpi4py()
    named = identify(args.command[0]) if args.command else None
    launcher = find_launcher(args.mpi or (named.family if named else None) or "mpich", args.command or [])
    remove_dead()
    remove_orphans()
    result = experiment(launcher, args.repetitions, terminal.note)
    terminal.result(page.sentence(result).strip("*"))
    if args.output:
        page.write(Path(args.output), result, f"{launcher.vendor} {launcher.version or ''}".strip())
        terminal.wrote(Path(args.output))
    return 0


if __name__ == "__main__":
    about = "Who suffers on the core that processes what a node receives."
    sys.exit(command.main("interrupts", about, add_arguments, run))
