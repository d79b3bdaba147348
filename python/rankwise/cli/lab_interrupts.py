# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab interrupts`: who suffers on the core that processes what a node receives."""

from __future__ import annotations

import argparse
from pathlib import Path

from rankwise.errors import RankwiseError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action."""
    from rankwise.cli.parsing import add_output

    parser.add_argument(
        "--mpi", choices=("mpich", "openmpi"), help="default mpich; `-- mpiexec` names the launcher"
    )
    parser.add_argument(
        "--repetitions", type=int, default=5, metavar="N", help="launches with each core; default 5"
    )
    add_output(parser, "write what came out as a page", metavar="FILE.md")


def run(args: argparse.Namespace) -> int:
    """Measure, and say what came out."""
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.interrupts import page
    from rankwise.lab.interrupts.experiment import experiment
    from rankwise.lab.own_lab import remove_orphans
    from rankwise.lab.state import remove_dead
    from rankwise.lab.validation.cases import check_mpi4py
    from rankwise.lab.validation.session import find_launcher
    from rankwise.launchers.identify import identify

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
