# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune`: put processes on other cores while they run, and keep what is measured to help."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.launchers.execute import Ended
    from rankwise.tune.job import TunedJob

HELP = "move ranks to better cores while they run, and keep what makes the program faster"
COMMAND = "mpiexec -n 16 ./app args"
FAILURE_STATUS = 125
# `rankwise tune status` and others start no program.
FAILURE_STATUS_WITHOUT_COMMAND = False
_EXAMPLE = "`rankwise tune -- mpiexec -n 16 ./app`"
_WORDS = ("status", "stop", "show")
_PROGRAM = "a program"
# Option: the ways to tune that take it, and what `add_argument` is given.
_OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "--dry-run": (
        (_PROGRAM, "--pid", "--daemon"),
        {"action": "store_true", "help": "change nothing, only say what would be done"},
    ),
    "--keep": (("--pid",), {"action": "store_true", "help": "do not move ranks back at the end"}),
    "--config": (
        ("--daemon", "status", "stop"),
        {"metavar": "FILE", "help": "configuration of the daemon; default /etc/rankwise/tune.toml"},
    ),
    "--machine": (
        (_PROGRAM, "--pid"),
        {"metavar": "FILE", "help": "machine file: what messages cost on this node"},
    ),
    "--irq": (
        (_PROGRAM, "--pid"),
        {"action": "store_true", "help": "also move interrupts instead of ranks, if that is allowed"},
    ),
    "--socket": (("status", "stop"), {"metavar": "PATH", "help": "ask only the tuner with this socket"}),
    "--mpi": ((_PROGRAM,), {}),
    "--record": ((_PROGRAM,), {}),
    "--trace": ((_PROGRAM,), {}),
    "--exact-times": ((_PROGRAM,), {}),
    "--keep-arguments": ((_PROGRAM,), {}),
    "--output": ((_PROGRAM, "--pid"), {}),
    "--force": ((_PROGRAM, "--pid"), {}),
    "--json": (("--pid", "status", "show"), {}),
}
_SHORT = {"--machine": ("-m",)}
# The daemon has these in its file.
_IN_FILE = {"--machine": 'machine = "/path/to/M.machine.toml"', "--irq": "irq = true"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json, add_mpi, add_output
    from rankwise.cli.record import add_record

    parser.usage = "%(prog)s [status|stop|show NAME] [OPTIONS] [-- mpiexec -n 16 ./app]"
    parser.epilog = (
        "  rankwise tune --dry-run -- mpiexec -n 16 ./app  what would be done, and why\n"
        "  rankwise tune --pid 1234 1235                   processes that already run\n"
        "  rankwise tune --daemon                          as a service of a node\n"
        "  rankwise tune status                            tuners of this node\n"
        "  rankwise tune stop                              move ranks back and end\n"
        "  rankwise tune show NAME                         what was done\n"
        "docs/tune.md says how it decides and what it never does."
    )
    parser.set_defaults(what=None, name=None, take_own_options=_take_words)
    parser.add_argument(
        "--pid",
        nargs="*",
        type=_process,
        metavar="PID",
        help="tune processes that already run, as ranks of one job",
    )
    parser.add_argument("--node", help=argparse.SUPPRESS)  # what a rank gives the tuner that it starts
    parser.add_argument("--daemon", action="store_true", help="tune all jobs of this node until stopped")
    for option, (_, keywords) in _OPTIONS.items():
        if keywords:
            parser.add_argument(option, *_SHORT.get(option, ()), **keywords)
    add_mpi(parser)
    add_record(parser)
    add_output(parser, "keep plan, events and a summary in this directory", metavar="NAME.tune")
    add_json(parser)
    for action in parser._actions:
        ways = next((_OPTIONS[name][0] for name in action.option_strings if name in _OPTIONS), ())
        if ways:
            action.help = f"{action.help} (with {_typed(ways)})"


def _process(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of a process, for example `1234`")
    return int(text)


def _listed(ways: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(ways[:-1])] * (len(ways) > 1) + [ways[-1]])


def _typed(ways: Sequence[str]) -> str:
    """As they stand on a command line: `-- PROGRAM`, `--pid` or `status`."""
    return _listed([f"`{'-- PROGRAM' if way == _PROGRAM else way}`" for way in ways], "or")


def _take_words(args: argparse.Namespace, words: list[str]) -> list[str]:
    """Take what to do, and the name of what is shown, out of words that are no option; returns the rest."""
    from rankwise.cli.parsing import fail

    first = next((word for word in words if not word.startswith("-")), None)
    if first in _WORDS:
        words.remove(first)
        args.what = first
        names = [word for word in words if not word.startswith("-")]
        if first == "show" and names:
            args.name = names.pop(0)
            words.remove(args.name)
        if names:
            fail(args.parser, f"`rankwise tune {first}` does not know what to do with `{names[0]}`")
    elif first is not None and words == [first] and shutil.which(first) is None:
        near = _near(first)
        if near:
            fail(args.parser, f"`{first}` is not what `rankwise tune` does", near=(first, _WORDS))
    return words


def _near(word: str) -> bool:
    from difflib import get_close_matches

    return bool(get_close_matches(word, _WORDS, n=1, cutoff=0.6))


def run(args: argparse.Namespace) -> int:
    """Tune; returns the program's own exit status."""
    from rankwise.cli import tune_service

    if args.node is not None:
        from rankwise.tune.node import tune_node

        tune_node(args.node)
        return 0
    ways = {
        _PROGRAM: bool(args.command),
        args.what: args.what is not None,
        "--pid": args.pid is not None,
        "--daemon": args.daemon,
    }
    asked = [way for way, is_asked in ways.items() if is_asked]
    if len(asked) > 1:
        raise RankwiseError(f"`{asked[0]}` and `{asked[1]}` are two ways to tune", "leave one out", status=2)
    way = asked[0] if asked else _PROGRAM
    _refuse_ignored(args, way)
    if way in _WORDS:
        return {"status": tune_service.status, "stop": tune_service.stop, "show": tune_service.show}[way](
            args
        )
    if way == "--daemon":
        return tune_service.serve(args)
    if way == "--pid":
        return tune_service.attach(args)
    if not args.command:
        raise RankwiseError(
            "nothing to tune", f"put a program after `--`, for example {_EXAMPLE}", status=FAILURE_STATUS
        )
    return _job(args)


def _refuse_ignored(args: argparse.Namespace, way: str) -> None:
    """Refuse options of another way to tune, which would be taken and do nothing."""
    for option, (ways, _) in _OPTIONS.items():
        if way in ways or not getattr(args, option[2:].replace("-", "_")):
            continue
        if option == "--json" and way == _PROGRAM:
            raise RankwiseError(
                "stdout is the program's alone, so there is no `--json` here",
                "keep the decisions with `-o NAME.tune`, then `rankwise tune show NAME.tune --json`",
                status=2,
            )
        hint = "leave it out"
        if way == "--daemon" and option in _IN_FILE:
            hint = f"write `{_IN_FILE[option]}` in the daemon's file, `--config FILE`"
        raise RankwiseError(f"`{option}` is for {_quoted(ways)} only", hint, status=2)
    if args.force and args.output is None and args.record is None:
        raise RankwiseError(
            "`--force` replaces what is there, and nothing is written",
            "name it with `-o NAME.tune` or `--record DIR`",
            status=2,
        )


def _quoted(ways: Sequence[str]) -> str:
    return _listed([f"`{way}`" if way != _PROGRAM else "a program after `--`" for way in ways])


def _job(args: argparse.Namespace) -> int:
    from rankwise.cli.record import record_request
    from rankwise.cli.record_end import run_to_end
    from rankwise.cli.tune_service import asked_of
    from rankwise.tune.job import prepare

    request = record_request(args, force_is_ours=False)
    job = prepare(args.command, asked_of(args), request, args.mpi)
    return run_to_end(job, lambda ended: _lines(job, ended, args))


def _lines(job: TunedJob, ended: Ended, args: argparse.Namespace) -> list[str]:
    """What there is to say, the most important first."""
    from shlex import quote

    from rankwise.cli.record_end import MOST_LINES, tell
    from rankwise.cli.tune_show import best_of, outcome, proposal_line
    from rankwise.tune.document import together

    lines = []
    try:
        each, unknown = job.end()
    except (RankwiseError, OSError) as error:
        lines.append(f"what the tuner did is not known: {error}")
    else:
        done = together(each)
        if done.ended_early or done.left or not args.quiet and (done.ranks_seen or not unknown):
            lines.append(outcome(done))
        best = best_of(done)
        if unknown and not args.quiet:
            lines.append(unknown[0])
        elif best is not None and not args.quiet:
            lines.append(proposal_line(best))
    if job.recording is not None:
        said = tell(job.recording, ended, args.quiet)
        # What was written first, what to do next last.
        said = [*said[:1], *said[1:][-1:]]
        return lines[: MOST_LINES - len(said)] + said
    if job.session.output is not None and not args.quiet:
        lines.append(f"next: rankwise tune show {quote(str(job.session.output))}")
    return lines
