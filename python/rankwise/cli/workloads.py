# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise workloads`: programs that do the communication of known applications."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.findings.data import Pattern
    from rankwise.workloads import Option
    from rankwise.workloads.generate import Communication
    from rankwise.workloads.program import Collective

HELP = "compile, count or trace small programs that communicate as known applications do"
SCHEMA = "rankwise.workload/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli import workloads_kernels, workloads_trace
    from rankwise.cli.parsing import add_json

    parser.epilog = (
        "Without NAME, all workloads are listed. With NAME, it is compiled with mpicc,\n"
        "and its path is printed:\n"
        "  mpiexec -n 16 $(rankwise workloads cg) --class B\n"
        "Some workloads have options of their own, which follow NAME; the list has them."
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="the workload, such as cg; without it all are listed"
    )
    parser.add_argument(
        "--launcher",
        metavar="MPIEXEC",
        help="compile for the MPI of this launcher; default: that of mpicc on PATH",
    )
    count = parser.add_argument_group("what it sends, without running it")
    count.add_argument("--count", action="store_true", help="count its messages instead of compiling it")
    count.add_argument(
        "--class", dest="problem_class", metavar="CLASS", help="problem size: S, W, A, B, C or D; default B"
    )
    count.add_argument("--ranks", type=int, metavar="N", help="number of ranks; default 16")
    count.add_argument(
        "--iterations", type=int, metavar="N", help="number of iterations; default: that of the class"
    )
    add_json(count)
    workloads_trace.add_arguments(parser)
    workloads_kernels.add_arguments(parser)
    parser.set_defaults(own={}, take_own_options=_take_own_options)


def _take_own_options(args: argparse.Namespace, unknown: list[str]) -> list[str]:
    """Take the options of the workload that is named; returns what is none of them."""
    from rankwise.workloads import names, workload

    if args.name not in names():
        return unknown
    known = {f"--{option.name}" for option in workload(args.name).options}
    words, left = [], []
    for word in unknown:
        name, sign, value = word.partition("=")
        words += [name, value] if name in known and sign else [word]
    while words:
        word = words.pop(0)
        if word not in known:
            left.append(word)
            continue
        if not words:
            hint = f"rankwise workloads {args.name} --count {word} VALUE"
            raise RankwiseError(f"`{word}` needs a value", hint=hint, status=2)
        args.own[word.removeprefix("--")] = words.pop(0)
    return left


def run(args: argparse.Namespace) -> int:
    """List, compile, count or generate a recording."""
    from rankwise.cli import workloads_kernels, workloads_trace

    workloads_kernels.check(args)
    given = (
        ("--class", args.problem_class),
        ("--ranks", args.ranks),
        ("--iterations", args.iterations),
        *((f"--{name}", value) for name, value in args.own.items()),
    )
    for option, value in given:
        if value is not None and not (args.name and (args.count or args.trace)):
            hint = f"`rankwise workloads {args.name or 'cg'} --count {option} {value}`"
            raise RankwiseError(f"`{option}` goes with `--count`", hint=hint, status=2)
    if (args.count and args.trace) or (args.trace and args.json):
        hint = f"rankwise workloads {args.name or 'cg'} --trace"
        raise RankwiseError("`--trace` does without `--count` and `--json`", hint=hint, status=2)
    if args.measure_kernels:
        return workloads_kernels.run(args)
    for option in [*(["--trace"] if args.trace else []), *workloads_trace.given(args)]:
        if not (args.name and args.trace):
            hint = f"rankwise workloads {args.name or 'cg'} --trace"
            raise RankwiseError(f"`{option}` goes with NAME and `--trace`", hint=hint, status=2)
    if args.iterations is not None and args.iterations < 1:
        hint = f"rankwise workloads {args.name or 'cg'} --count --iterations 1"
        raise RankwiseError(f"`--iterations {args.iterations}` is none", hint=hint, status=2)
    args.ranks = 16 if args.ranks is None else args.ranks
    if not args.name:
        return _list(args)
    if args.count or args.trace:
        from rankwise.workloads import workload

        if args.problem_class is None:
            args.problem_class = "B" if workload(args.name).classes else ""
        return _count(args) if args.count else workloads_trace.run(args)
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
        print(f"{each.name}  {each.title}\n    {each.pattern}")
        if each.classes:
            print(f"    classes {' '.join(each.classes)}")
        for option in each.options:
            print(f"    --{option.name} {_values(option)}\n        {option.help}")
    print(f"\nnext: mpiexec -n 16 $(rankwise workloads {known[0].name}) --class S")
    return 0


def _values(option: Option) -> str:
    """What an option takes, the usual value first."""
    usual = option.text(option.usual)
    others = [choice for choice in option.choices if choice != usual]
    return "|".join([usual, *others]) if option.choices else f"N (usually {usual})"


def _count(args: argparse.Namespace) -> int:
    from rankwise.cli.terminal import Terminal
    from rankwise.workloads import generate, workload

    grid = workload(args.name).grid(args.problem_class, args.ranks, args.own)
    with Terminal(args).progress("counting", args.ranks) as update:
        counted = generate(args.name, args.problem_class, args.ranks, args.iterations, args.own, update)
    if args.json:
        print(json.dumps(_as_json(args, grid, counted)))
    else:
        print("\n".join(_table(args, grid, counted)))
    return 0


def _asked(args: argparse.Namespace) -> str:
    """The workload with its class and the options given."""
    words = [args.name, f"class {args.problem_class}" if args.problem_class else ""]
    return " ".join([*filter(None, words), *(f"--{name} {value}" for name, value in args.own.items())])


def _table(args: argparse.Namespace, grid: tuple[int, int, int], counted: Communication) -> list[str]:
    import numpy as np

    from rankwise.quantities import bytes_text

    total, size = int(counted.messages.sum()), int((counted.messages * counted.bytes).sum())
    shape = " x ".join(str(extent) for extent in grid)
    lines = [
        f"{_asked(args)} on {args.ranks} ranks ({shape})",
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
    which = "with collectives, by MPICH's algorithms" if of_all else "of point-to-point messages"
    lines += [f"\n  pattern {which}: {first}", *(f"    {other}" for other in others)]
    options = [("class", args.problem_class)] if args.problem_class else []
    words = " ".join(f"--{name} {value}" for name, value in [*options, *args.own.items()])
    program = f"$(rankwise workloads {args.name}) {words}".rstrip()
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

    from rankwise.workloads import workload

    options = workload(args.name).options
    columns = (counted.source, counted.destination, counted.bytes, counted.messages)
    names = ("source", "destination", "bytes", "messages")
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {
        "schema": SCHEMA,
        "workload": args.name,
        "class": args.problem_class or None,
        "options": dict(zip((o.name for o in options), workload(args.name).values(args.own), strict=True)),
        "ranks": args.ranks,
        "grid": grid,
        "messages": [dict(zip(names, row, strict=True)) for row in rows],
        "collectives": [_collective(each) for each in counted.collectives],
        "pattern": asdict(_pattern(counted)[0]),
    }


def _collective(calls: Collective) -> dict[str, Any]:
    """Sizes are there where blocks differ: bytes from each rank of the communicator to each."""
    row = {
        "call": calls.call,
        "communicator": calls.communicator,
        "root": calls.root,
        "bytes": calls.bytes,
        "datatype_bytes": calls.datatype_bytes,
        "calls": calls.calls,
    }
    return row if calls.sizes is None else row | {"sizes": calls.sizes.tolist()}
