# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise workloads`: programs that do the communication of known applications."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.findings.pattern import Pattern
    from rankwise.workloads.generate import Communication

HELP = "programs with the communication of known applications"
SCHEMA = "rankwise.workload/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json

    parser.epilog = (
        "without NAME, lists them; with NAME, compiles it with the site's mpicc and\nprints its path:\n"
        "  mpiexec -n 16 $(rankwise workloads cg) --class B"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="for example cg")
    parser.add_argument(
        "--launcher", metavar="MPIEXEC", help="whose MPI to compile for; default mpicc on PATH"
    )
    count = parser.add_argument_group("what it sends, without running it")
    count.add_argument("--count", action="store_true", help="count its messages instead of compiling it")
    count.add_argument("--class", dest="problem_class", metavar="CLASS", help="default B")
    count.add_argument("--ranks", type=int, metavar="N", help="default 16")
    add_json(count)


def run(args: argparse.Namespace) -> int:
    """List, compile or count."""
    for option, value in (("--class", args.problem_class), ("--ranks", args.ranks)):
        if value is not None and not (args.name and args.count):
            hint = f"`rankwise workloads {args.name or 'cg'} --count {option} {value}`"
            raise RankwiseError(f"`{option}` goes with `--count`", hint=hint, status=2)
    args.problem_class = args.problem_class or "B"
    args.ranks = 16 if args.ranks is None else args.ranks
    if not args.name:
        return _list(args)
    if args.count:
        return _count(args)
    if args.json:
        hint = f"rankwise workloads {args.name} --count --json"
        raise RankwiseError("`--json` goes with the list or with `--count`", hint=hint, status=2)
    from rankwise.cli.terminal import for_shell
    from rankwise.workloads.build import build

    print(for_shell(str(build(args.name, args.launcher))))
    return 0


def _list(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from rankwise.workloads import names, workload

    known = [workload(name) for name in names()]
    if args.json:
        print(json.dumps({"schema": SCHEMA, "workloads": [asdict(each) for each in known]}))
        return 0
    for each in known:
        print(f"{each.name}  {each.title}\n    {each.pattern}\n    classes {' '.join(each.classes)}")
    print(f"\nnext: mpiexec -n 16 $(rankwise workloads {known[0].name}) --class S")
    return 0


def _count(args: argparse.Namespace) -> int:
    from rankwise.workloads import generate, workload

    grid = workload(args.name).grid(args.problem_class, args.ranks)
    counted = generate(args.name, args.problem_class, args.ranks)
    if args.json:
        print(json.dumps(_as_json(args, grid, counted)))
    else:
        print("\n".join(_table(args, grid, counted)))
    return 0


def _table(args: argparse.Namespace, grid: tuple[int, int, int], counted: Communication) -> list[str]:
    import numpy as np

    from rankwise.quantities import bytes_text

    total, size = int(counted.messages.sum()), int((counted.messages * counted.bytes).sum())
    shape = " x ".join(str(extent) for extent in grid)
    lines = [
        f"{args.name} class {args.problem_class} on {args.ranks} ranks ({shape})",
        f"\n  {total} point-to-point messages, {bytes_text(size)}",
        f"  {'bytes':>10} {'messages':>10}",
    ]
    sizes, row = np.unique(counted.bytes, return_inverse=True)
    for each, messages in zip(sizes.tolist(), np.bincount(row, counted.messages).tolist(), strict=True):
        lines.append(f"  {each:>10} {int(messages):>10}")
    lines.append(f"\n  collective calls\n  {'bytes':>10} {'calls':>10}")
    calls: dict[tuple[str, int, int], list[int]] = {}
    for each in counted.collectives:
        calls.setdefault((each.call, each.bytes, len(each.communicator)), []).append(each.calls)
    for (call, each, members), times in sorted(calls.items()):
        groups = f"each of {len(times)} groups of {members} ranks" if members < args.ranks else "all ranks"
        lines.append(f"  {each:>10} {times[0]:>10} {call} of {groups}")
    found, of_all = _pattern(counted)
    first, *others = found.lines()
    which = "with collectives, by MPICH's algorithms" if of_all else "from point to point"
    lines += [f"\n  pattern {which}: {first}", *(f"    {other}" for other in others)]
    program = f"$(rankwise workloads {args.name}) --class {args.problem_class}"
    return [*lines, f"\nnext: rankwise record -- mpiexec -n {args.ranks} {program}"]


def _pattern(counted: Communication) -> tuple[Pattern, bool]:
    """As of a recording, and whether it is that of collectives, too."""
    from rankwise.findings.pattern import LEAST_SINGLE, pattern_of
    from rankwise.workloads.decompose import decompose

    every = decompose(counted)
    sent = [
        int((each.bytes * each.messages)[each.source != each.destination].sum()) for each in (counted, every)
    ]
    of_all = sent[0] < LEAST_SINGLE * sent[1]
    each = every if of_all else counted
    size = each.bytes * each.messages
    return pattern_of(each.source, each.destination, size, each.messages, each.ranks), of_all


def _as_json(args: argparse.Namespace, grid: tuple[int, int, int], counted: Communication) -> dict[str, Any]:
    from dataclasses import asdict

    columns = (counted.source, counted.destination, counted.bytes, counted.messages)
    names = ("source", "destination", "bytes", "messages")
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {
        "schema": SCHEMA,
        "workload": args.name,
        "class": args.problem_class,
        "ranks": args.ranks,
        "grid": grid,
        "messages": [dict(zip(names, row, strict=True)) for row in rows],
        "collectives": [asdict(each) for each in counted.collectives],
        "pattern": asdict(_pattern(counted)[0]),
    }
