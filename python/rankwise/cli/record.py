# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise record`: run a program as it is run today, and keep what it said to whom."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.record.library import What
    from rankwise.record.recording_run import Request

HELP = "record an unmodified MPI program"
COMMAND = "mpiexec -n 16 ./app args"
FAILURE_STATUS = 125
_MOST_COUNTERS = 16
_EXAMPLE = "`rankwise record -- mpiexec -n 16 ./app`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_mpi, add_output

    add_output(
        parser,
        "the recording; default: named after the program, the ranks, and the job or the time, such as app.16r.JOB.rw",
        metavar="DIR",
    )
    add_what(parser)
    parser.add_argument(
        "--link",
        action="store_true",
        help="for programs with MPI linked in: print the object file to link them with, and stop",
    )
    add_mpi(parser)


def add_what(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is kept of a run; `what_of` reads them."""
    times = parser.add_mutually_exclusive_group()
    times.add_argument(
        "--trace", action="store_true", help="also keep every call in order; predict and place need it"
    )
    times.add_argument("--counts", action="store_true", help="count calls, but do not time them")
    parser.add_argument(
        "--exact-times",
        action="store_true",
        help="with --trace: do not round times; shows who waits for whom, and makes the trace three times as large",
    )
    parser.add_argument(
        "--trace-calls",
        metavar="FIRST..LAST",
        help="trace only these calls of each rank, counted from 1",
    )
    parser.add_argument(
        "--phase",
        metavar="NAME",
        help="trace only from MPI_Pcontrol(1, NAME) to MPI_Pcontrol(-1, NAME); a number: from "
        "MPI_Pcontrol(NUMBER) to the next other level",
    )
    parser.add_argument(
        "--callsites",
        action="store_true",
        help="also keep where in the program each call is: function, file and line",
    )
    parser.add_argument(
        "--counters",
        metavar="LIST",
        help="other counters of the processor, with commas between: names of `perf list` or libpfm4, or raw codes "
        "such as r10d1; `none` for none",
    )
    parser.add_argument(
        "--samples",
        metavar="TIME",
        help="time between samples of what ranks use, such as 10ms; `off`: at the start and the end only; default "
        "100ms",
    )
    add_keep_arguments(parser)


def add_keep_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the option of commands that keep a command."""
    parser.add_argument(
        "--keep-arguments",
        action="store_true",
        help="keep the command as it is; without this, `***` replaces values of passwords, tokens and keys",
    )


def add_record(parser: argparse._ActionsContainer) -> None:
    """Add the options of commands that start a program and may record it as well; `record_request` reads them."""
    parser.add_argument("--record", metavar="DIR", help="also record the run, in this directory")
    parser.add_argument("--trace", action="store_true", help="with --record: also keep every call in order")
    parser.add_argument("--exact-times", action="store_true", help="with --trace: do not round times")
    add_keep_arguments(parser)


def record_request(args: argparse.Namespace, force_is_ours: bool = True) -> Request | None:
    """The recording that `--record` asks for.

    Args:
        args: Of a command with the options of `add_record`, and `--force`.
        force_is_ours: `--force` says nothing of anything else.

    Raises:
        RankwiseError: There is none, but options that say how it is to be made; or these do not fit together.
    """
    from rankwise.record.library import What
    from rankwise.record.recording_run import Request

    if args.record is not None:
        what = What(trace=args.trace, exact=_exact(args, args.trace), arguments=args.keep_arguments)
        return Request(args.record, args.force, what)
    about = ("trace", "exact_times", "keep_arguments", *(("force",) if force_is_ours else ()))
    asked = next((option for option in about if getattr(args, option)), None)
    if asked is not None:
        raise RankwiseError(
            f"`--{asked.replace('_', '-')}` is about a recording, and none is made", "add `--record DIR`"
        )
    return None


def run(args: argparse.Namespace) -> int:
    """Record; returns the program's own exit status."""
    from rankwise.cli.record_end import say, say_untied, tell
    from rankwise.launchers.execute import execute, pass_on
    from rankwise.record import recording_run

    if args.link:
        return _link(args)
    if not args.command:
        hint = f"put it after `--`, for example {_EXAMPLE}"
        raise RankwiseError("no program to record", hint=hint, status=FAILURE_STATUS)
    recording = recording_run.prepare(args.command, args.output, args.force, what_of(args), args.mpi)
    try:
        ended = execute(recording.launch, say_untied)
    except RankwiseError:
        recording_run.abandon(recording)
        raise
    say(lambda: tell(recording, ended, args.quiet))
    return pass_on(ended)


def _link(args: argparse.Namespace) -> int:
    """Print the object to link with; the compiler wrapper is that of the launcher, where one is named."""
    from rankwise.cli.terminal import for_shell, printable
    from rankwise.record.link import linkable
    from rankwise.site_build import find_mpicc

    mpicc = find_mpicc(args.command[0] if args.command else None)
    print(for_shell(str(linkable(mpicc))))
    if not args.quiet:
        print(f"next: {printable(mpicc.name)} app.o $(rankwise record --link) -o app", file=sys.stderr)
    return 0


def what_of(args: argparse.Namespace) -> What:
    """What is to be kept of a run, by the options of `add_what`."""
    from rankwise.record.library import What

    window = _range(args.trace_calls) if args.trace_calls else None
    parts = [f"`{name}`" for name, asked in (("--trace-calls", window), ("--phase", args.phase)) if asked]
    if args.phase == "":
        raise RankwiseError(
            "`--phase` names no phase", hint="for example `--phase solve`", status=FAILURE_STATUS
        )
    if len(parts) > 1:
        raise RankwiseError(
            f"{' and '.join(parts)} are two ways to cut a trace", hint="leave one out", status=FAILURE_STATUS
        )
    if args.counts and parts:
        raise RankwiseError(
            f"{parts[0]} traces, `--counts` does not time", hint="leave one out", status=FAILURE_STATUS
        )
    trace = args.trace or bool(parts)
    return What(
        trace=trace,
        exact=_exact(args, trace),
        trace_calls=window,
        phase=args.phase,
        counts=args.counts,
        call_sites=args.callsites,
        arguments=args.keep_arguments,
        counters=None if args.counters is None else _counters(args.counters),
        samples_ms=None if args.samples is None else _milliseconds(args.samples),
    )


def _exact(args: argparse.Namespace, trace: bool) -> bool:
    if args.exact_times and not trace:
        raise RankwiseError("`--exact-times` is for traces", hint="add `--trace`", status=FAILURE_STATUS)
    return bool(args.exact_times)


def _counters(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    wrong = [name for name in names if not name or not name.isprintable() or " " in name or len(name) > 100]
    if wrong or len(names) > _MOST_COUNTERS:
        what = f"`{text}` is no list of counters" if wrong else f"`--counters` names {len(names)} counters"
        hint = f"up to {_MOST_COUNTERS} names with commas between, for example `--counters cycles,instructions,r10d1`"
        raise RankwiseError(what, hint=hint, status=FAILURE_STATUS)
    return names


def _milliseconds(text: str) -> int:
    if text == "off":
        return 0
    for unit, factor in (("ms", 1), ("s", 1000)):
        number = text.removesuffix(unit)
        if number != text and number.isdecimal() and 10 <= int(number) * factor <= 3_600_000:
            return int(number) * factor
    hint = "from `10ms` to `3600s`, or `off`, for example `--samples 50ms`"
    raise RankwiseError(f"`{text}` is no time between samples", hint=hint, status=FAILURE_STATUS)


def _range(text: str) -> tuple[int, int]:
    first, dots, last = text.partition("..")
    if not (dots and first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) < 2**63):
        hint = "write the first and the last call, for example `--trace-calls 1000..2000`"
        raise RankwiseError(f"`{text}` is no range of calls", hint=hint, status=FAILURE_STATUS)
    return int(first), int(last)
