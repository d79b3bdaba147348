# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune`: put processes on other cores while they run, and keep what is measured to help."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.launchers.execute import Ended
    from rankwise.tune.job import TunedJob

HELP = "put ranks on better cores while they run, and keep what is measured to help"
COMMAND = "mpiexec -n 16 ./app args"
FAILURE_STATUS = 125
# `rankwise tune status` and others start no program.
FAILURE_STATUS_WITHOUT_COMMAND = False
_EXAMPLE = "`rankwise tune -- mpiexec -n 16 ./app`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json, add_mpi, add_output

    parser.usage = "%(prog)s [status|stop|show NAME] [OPTIONS] [-- mpiexec -n 16 ./app]"
    parser.epilog = (
        "  rankwise tune --dry-run -- mpiexec -n 16 ./app  what would be done, and why\n"
        "  rankwise tune --pid 1234 1235                   processes that run\n"
        "  rankwise tune --daemon                          as a service of a node\n"
        "  rankwise tune status                            tuners of this node\n"
        "docs/tune.md says how it decides and what it never does."
    )
    parser.add_argument(
        "what", nargs="?", choices=("status", "stop", "show"), help="of tuners that run, or ran"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="for `show`: what `-o` kept, or a recording")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, say what would be done")
    parser.add_argument(
        "--pid", nargs="+", type=int, metavar="PID", help="processes that run, as ranks of one job"
    )
    parser.add_argument("--keep", action="store_true", help="with --pid: leave masks as they are at the end")
    parser.add_argument("--daemon", action="store_true", help="serve this node until it is stopped")
    parser.add_argument("--config", metavar="FILE", help="the daemon's file; default /etc/rankwise/tune.toml")
    parser.add_argument("--machine", "-m", metavar="FILE", help="what messages cost on this node")
    parser.add_argument(
        "--irq", action="store_true", help="also move interrupts instead of ranks, where allowed"
    )
    add_mpi(parser)
    parser.add_argument("--record", metavar="DIR", help="record the run as well")
    parser.add_argument(
        "--socket", metavar="PATH", help="for `status` and `stop`: only the tuner that answers here"
    )
    add_output(parser, "keep plan, events and a summary in this directory", metavar="NAME.tune")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Tune; returns the program's own exit status."""
    from rankwise.cli import tune_service

    ways = {
        "a program after `--`": bool(args.command),
        f"`{args.what}`": args.what is not None,
        "`--pid`": args.pid is not None,
        "`--daemon`": args.daemon,
    }
    asked = [way for way, is_asked in ways.items() if is_asked]
    if len(asked) > 1:
        raise RankwiseError(f"{asked[0]} and {asked[1]} are two ways to tune", "leave one out", status=2)
    _refuse_ignored(args)
    if args.what is not None:
        return {"status": tune_service.status, "stop": tune_service.stop, "show": tune_service.show}[
            args.what
        ](args)
    if args.daemon:
        return tune_service.serve(args)
    if args.pid is not None:
        return tune_service.attach(args)
    if not args.command:
        raise RankwiseError(
            "nothing to tune", f"put a program after `--`, for example {_EXAMPLE}", status=FAILURE_STATUS
        )
    return _job(args)


def _refuse_ignored(args: argparse.Namespace) -> None:
    """Refuse options of another way to tune, which would be taken and do nothing."""
    way = args.what or ("--daemon" if args.daemon else "--pid" if args.pid is not None else "a program")
    of_run = {"machine": args.machine, "irq": args.irq, "output": args.output, "force": args.force}
    ignored: dict[str, dict[str, object]] = {
        "a program": {"keep": args.keep, "config": args.config, "socket": args.socket},
        "--pid": {"config": args.config, "record": args.record, "mpi": args.mpi, "socket": args.socket},
        "--daemon": {
            **of_run,
            "keep": args.keep,
            "record": args.record,
            "mpi": args.mpi,
            "socket": args.socket,
        },
    }
    of_others = {**of_run, "dry_run": args.dry_run, "keep": args.keep, "record": args.record, "mpi": args.mpi}
    named = next((name for name, value in ignored.get(way, of_others).items() if value), None)
    if named is not None:
        hint = "the daemon takes it from its file: `--config FILE`" if args.daemon else "leave it out"
        raise RankwiseError(f"`--{named.replace('_', '-')}` says nothing to `{way}`", hint, status=2)


def _job(args: argparse.Namespace) -> int:
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.record_end import say, say_untied
    from rankwise.launchers.execute import execute, pass_on
    from rankwise.record import recording_run as recorder
    from rankwise.tune.job import Asked, prepare

    if args.json:
        raise RankwiseError(
            "stdout is the program's alone, so there is no `--json` here",
            "keep the decisions with `-o NAME.tune`, then `rankwise tune show NAME.tune --json`",
            status=FAILURE_STATUS,
        )
    if args.machine:
        check_kind("machine", args.machine, "`rankwise tune --machine M.machine.toml -- ...`", FAILURE_STATUS)
    asked = Asked(not args.dry_run, args.irq, args.machine, args.output, args.force, args.record, args.mpi)
    job = prepare(args.command, asked)
    try:
        try:
            ended = execute(job.launch, say_untied)
        except RankwiseError:
            if job.recording is not None:
                recorder.abandon(job.recording)
            raise
        say(lambda: _lines(job, ended, args))
    finally:
        job.close()
    return pass_on(ended)


def _lines(job: TunedJob, ended: Ended, args: argparse.Namespace) -> list[str]:
    """What there is to say, the most important first."""
    from shlex import quote

    from rankwise.cli.record_end import MOST_LINES, tell
    from rankwise.cli.tune_show import best_of, decision_line, outcome

    try:
        done = job.end()
    except (RankwiseError, OSError) as error:
        lines = [f"what the tuner did is not known: {error}"]
    else:
        lines = [] if args.quiet else [outcome(done, not args.dry_run)]
        best = best_of(done)
        if best is not None and not args.quiet:
            lines.append(decision_line(best))
    if job.recording is not None:
        said = tell(job.recording, ended, args.quiet)
        # What was written first, what to do next last.
        said = [*said[:1], *said[1:][-1:]]
        return lines[: MOST_LINES - len(said)] + said
    if job.output is not None and not args.quiet:
        lines.append(f"next: rankwise tune show {quote(str(job.output))}")
    return lines
