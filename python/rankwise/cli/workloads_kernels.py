# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise workloads hpl --measure-kernels`: what HPL's computing kernels cost on this machine."""

from __future__ import annotations

import argparse

from rankwise.errors import RankwiseError

WORKLOAD = "hpl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what goes with `--measure-kernels`."""
    group = parser.add_argument_group("what its computing kernels cost on this machine (hpl)")
    group.add_argument(
        "--measure-kernels",
        action="store_true",
        help="measure the kernels, a process on each core at the same time; writes -o FILE, default HOST.kernels.toml",
    )
    group.add_argument(
        "--a-package",
        action="store_true",
        help="with one process on each package instead, and a thread for each core",
    )
    blas = "BLAS with the Fortran interface, such as libblas.so.3; default: that of numpy"
    group.add_argument("--blas", metavar="LIBRARY", help=blas)


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together.

    Raises:
        RankwiseError: Options of the measurement without it, or it with others.
    """
    hint = f"rankwise workloads {WORKLOAD} --measure-kernels"
    given = [option for option, value in (("--blas", args.blas), ("--a-package", args.a_package)) if value]
    if not args.measure_kernels:
        if given:
            raise RankwiseError(f"`{given[0]}` goes with `--measure-kernels`", hint=hint, status=2)
        return
    if args.name != WORKLOAD:
        raise RankwiseError(f"`--measure-kernels` goes with `{WORKLOAD}`", hint=hint, status=2)
    if args.count or args.trace or args.json:
        raise RankwiseError(
            "`--measure-kernels` does without `--count`, `--trace` and `--json`", hint=hint, status=2
        )


def run(args: argparse.Namespace) -> int:
    """Measure, and write the file."""
    import socket
    from pathlib import Path
    from shlex import quote

    from rankwise.cli.terminal import Terminal
    from rankwise.workloads.measure_kernels import find_blas, measure

    terminal = Terminal(args)
    host = socket.gethostname()
    path = Path(args.output or f"{host}.kernels.toml")
    if path.exists() and not args.force:
        raise RankwiseError(f"`{path}` is there already", hint="choose another one with `-o`, or `--force`")
    if not path.parent.is_dir():
        raise RankwiseError(f"the directory `{path.parent}` does not exist", hint="choose another one")
    fitted = measure(path, host, find_blas(args.blas), args.a_package, terminal.note)
    for name, each in fitted.items():
        terminal.result(
            f"{name:<10} {len(each.terms)} terms, off by {100 * each.median:.0f} % in the median, "
            f"{100 * each.worst:.0f} % at most"
        )
    terminal.wrote(path)
    terminal.next(f"rankwise workloads {WORKLOAD} --trace --kernels {quote(str(path))}")
    return 0
