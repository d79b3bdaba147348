# SPDX-License-Identifier: BSD-3-Clause
"""Command lines: the parser with its hints, the options that mean the same everywhere, values with units."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import shlex
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

import rankwise
from rankwise.cli.version import PrintVersion
from rankwise.errors import RankwiseError

USAGE_STATUS = 2
_EVERYWHERE = "everywhere"


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `RankwiseError` with a hint instead of leaving the process."""

    def __init__(self, *args: Any, **keywords: Any):
        keywords.setdefault("allow_abbrev", False)
        keywords.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **keywords)
        self.set_defaults(parser=self)
        _add_common(self)

    def format_help(self) -> str:
        """The help text, with the options of every command last."""
        self._action_groups.sort(key=lambda group: group.title == _EVERYWHERE)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Turn argparse's words into ours."""
        choice = re.match(r"argument (.+?): invalid choice: '?(.*?)'? \(choose from (.*)\)", message)
        if choice:
            name, value, choices = choice[1], choice[2], re.findall(r"[^\s',]+", choice[3])
            if name == "COMMAND":
                fail(self, f"`{value}` is not a command of {self.prog}", near=(value, choices))
            listed = ", ".join(f"`{each}`" for each in choices)
            fail(self, f"`{value}` is not a value of `{name}`, which takes {listed}", near=(value, choices))
        about = re.match(r"argument (.+?): (.*)", message)
        missing = re.match(r"the following arguments are required: (.*)", message)
        if missing:
            fail(self, f"`{self.prog}` needs {missing[1]}")
        if about:
            text = re.sub(r"'([^']*)'", r"`\1`", about[2])
            fail(self, f"`{about[1]}`: {text}")
        fail(self, message)


def fail(
    parser: argparse.ArgumentParser, message: str, near: tuple[str, Sequence[str]] | None = None
) -> NoReturn:
    """Raise a usage error, with the nearest known word as a hint.

    Args:
        parser: The parser of the command that was typed; its help is the last resort of a hint.
        message: The sentence.
        near: What was typed, and the words it could have been.
    """
    close = difflib.get_close_matches(near[0], near[1], n=1, cutoff=0.6) if near else []
    hint = f"did you mean `{close[0]}`?" if close else f"see `{parser.prog} --help`"
    raise RankwiseError(message, hint=hint, status=USAGE_STATUS)


def build_parser(commands: Sequence[str], only: str | None = None) -> Parser:
    """The parser of the whole command line, from the modules in `rankwise.cli`.

    Args:
        commands: Their names.
        only: The one that is typed: of the others nothing but the name is known then.
    """
    parser = Parser(
        prog="rankwise",
        description=_lines((rankwise.__doc__ or "").partition("\n")[0]),
        epilog="What follows `--` is what you type today, for example `mpiexec -n 16 ./app`.",
    )
    parser.add_argument("--version", action=PrintVersion, help="show the version and what it was built of")
    verbs = parser.add_subparsers(metavar="COMMAND", dest="verb", title="commands")
    for name in commands:
        if only not in (None, name):
            verbs.choices[name] = parser  # a parser each would take more time than all else here
            continue
        module = importlib.import_module(f"rankwise.cli.{name}")
        command = verbs.add_parser(name, description=_lines(_sentence(module.HELP)), help=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=module.run, takes_command=getattr(module, "COMMAND", None))
        if getattr(module, "COMMAND", None) and not command.usage:
            command.usage = f"%(prog)s [OPTIONS] -- {module.COMMAND}"
    return parser


def parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace | None:
    """Parse a command line; `None` if it names no command.

    What follows the first `--` never meets argparse, whose handling of it differs between Python versions.
    """
    argv = list(argv)
    cut = argv.index("--") if "--" in argv else len(argv)
    args, unknown = parser.parse_known_args(argv[:cut])
    used: argparse.ArgumentParser = args.parser
    if getattr(args, "take_own_options", None):
        unknown = args.take_own_options(args, unknown)
    if unknown and cut == len(argv) and getattr(args, "takes_command", None):
        _fail_without_dashes(used, argv, unknown)
    if unknown and cut < len(argv) and getattr(args, "takes_command", None):
        _fail_launcher_before_dashes(used, argv[:cut], unknown, argv[cut + 1 :])
    for word in unknown:
        if word.startswith("-") and word != "-":
            option = word.partition("=")[0]
            options = [name for action in used._actions for name in action.option_strings]
            fail(used, f"`{option}` is not an option of `{used.prog}`", near=(option, options))
        message = f"`{used.prog}` does not know what to do with `{word}`"
        if "--name" in used._option_string_actions:
            hint = f"names follow `--name`: `{used.prog} --name {shlex.quote(word)}`"
            raise RankwiseError(message, hint=hint, status=USAGE_STATUS)
        fail(used, message)
    if not args.verb:
        if cut < len(argv):
            fail(parser, "no command before `--`")
        return None
    args.command = argv[cut + 1 :] if cut < len(argv) else None
    if args.command is not None and args.takes_command is None:
        fail(used, f"`{used.prog}` takes no command after `--`")
    for name, value in _COMMON_DEFAULTS.items():
        if not hasattr(args, name):
            setattr(args, name, value)
    args.no_progress = args.no_progress or bool(os.environ.get("RANKWISE_NO_PROGRESS"))
    return args


def _fail_without_dashes(used: argparse.ArgumentParser, argv: list[str], unknown: list[str]) -> None:
    """Raise a usage error with the whole line as a hint, where a launch line was typed without `--`."""
    first = next((word for word in unknown if not word.startswith("-")), None)
    launches = unknown[0] == first or unknown[0] in ("-n", "-np")
    if first is None or not launches or "--" not in (used.usage or "--"):
        return
    start = argv.index(unknown[0])
    before, behind = argv[:start], argv[start:]
    if unknown[0] != first:
        behind = ["mpiexec", *behind]
    hint = f"`{shlex.join(['rankwise', *before, '--', *behind])}`"
    raise RankwiseError(
        f"`{used.prog}` needs `--` before the program it starts", hint=hint, status=USAGE_STATUS
    )


def _fail_launcher_before_dashes(
    used: argparse.ArgumentParser, before: list[str], unknown: list[str], behind: list[str]
) -> None:
    """Raise a usage error with the whole line as a hint, where a launcher stands before `--`."""
    from rankwise.launchers.wrappers import WRAPPERS

    name = os.path.basename(unknown[0])
    if not LAUNCHER.match(name) and name not in WRAPPERS:
        return
    ours, launcher = [], list(unknown)
    for word in before:
        if launcher and word == launcher[0]:
            launcher.pop(0)
        else:
            ours.append(word)
    hint = f"`{shlex.join(['rankwise', *ours, '--', *unknown, *behind])}`"
    raise RankwiseError(
        f"`{unknown[0]}` belongs behind `--`, with the program it starts", hint=hint, status=USAGE_STATUS
    )


LAUNCHER = re.compile(r"(mpiexec|mpirun|orterun|prterun|prun|srun)([.-].*)?$")
_COMMON_DEFAULTS = {"quiet": 0, "verbose": 0, "color": "auto", "no_progress": False}


def _add_common(parser: argparse.ArgumentParser) -> None:
    # Defaults are set after parsing: a subparser's default would undo what was given before its name.
    common = parser.add_argument_group(_EVERYWHERE)
    quiet = "say less on stderr; twice: only errors"
    common.add_argument("-q", "--quiet", action="count", default=argparse.SUPPRESS, help=quiet)
    verbose = "say more on stderr; show tracebacks of errors"
    common.add_argument("-v", "--verbose", action="count", default=argparse.SUPPRESS, help=verbose)
    choices = ("auto", "always", "never")
    common.add_argument("--color", choices=choices, default=argparse.SUPPRESS, help="use colours")
    progress = "draw no progress bars (also: RANKWISE_NO_PROGRESS=1)"
    common.add_argument("--no-progress", action="store_true", default=argparse.SUPPRESS, help=progress)


def add_output(parser: argparse.ArgumentParser, help: str, metavar: str = "FILE") -> None:
    """Add `-o/--output` and `-f/--force`."""
    parser.add_argument("-o", "--output", metavar=metavar, help=help)
    parser.add_argument("-f", "--force", action="store_true", help="replace what is there")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def add_nodes(parser: argparse.ArgumentParser) -> None:
    """Add `--machine` and `--node`, either of which describes the nodes of a placement."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--machine",
        "-m",
        metavar="FILE",
        help="machine file that describes the nodes, if they differ from this one",
    )
    kind.add_argument(
        "--node",
        metavar="TOPOLOGY",
        help="description of a node instead of --machine: hwloc synthetic description or XML file",
    )


def add_mpi(parser: argparse.ArgumentParser) -> None:
    """Add `--mpi`."""
    flavours = ("mpich", "openmpi", "standard_abi")
    parser.add_argument(
        "--mpi", choices=flavours, help="MPI library of the program, if Rankwise does not find it"
    )


def add_replays(parser: argparse.ArgumentParser) -> None:
    """Add `--replays`."""
    help = "replays for the interval, each with other numbers of the machine; default 20; 0: no interval"
    parser.add_argument("--replays", type=_count, default=20, metavar="N", help=help)


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Add `--plain`."""
    help = "do not correct predicted times by the time that the recorded run really took on this machine"
    parser.add_argument("--plain", action="store_true", help=help)


def seconds(text: str) -> float:
    """A time with a unit (`2us`, `1.5 ms`, `30s`) in seconds; for `type=` of an option."""
    from rankwise.machine.quantities import time

    value = time(text.strip())
    if value is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not a time with a unit, for example `30s`")
    return value


def duration(text: str) -> float:
    """How long something may take (`30s`, `2min`), in seconds, more than none; for `type=` of an option."""
    value = seconds(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"`{text}` is no time to do anything in, for example `30s`")
    return value


def share(text: str) -> float:
    """A part of a whole, more than none and at most 1; for `type=` of an option."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(
            f"`{text}` is no share, more than 0 and at most 1, for example `0.05`"
        )
    return value


def seed(text: str) -> int:
    """What random choices start from; for `type=` of an option."""
    return _count(text)


def _count(text: str) -> int:
    """A whole number from 0; for `type=` of an option."""
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 0")
    return int(text)


def flops_per_s(text: str) -> float:
    """A speed in floating-point operations a second (`1e9`, `2.5Gf`); for `type=` of an option."""
    from rankwise.machine.quantities import flop_rate

    rate = flop_rate(text.strip())
    if rate is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not a speed, for example `2.5Gf`")
    return rate


def size_bytes(text: str) -> int:
    """A size (`64KiB`, `1MB`, `300`) in bytes; for `type=` of an option."""
    from rankwise.machine.quantities import size

    value = size(text.strip())
    if value is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not a size, for example `64KiB`")
    if value != int(value):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number of bytes")
    return int(value)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _lines(text: str) -> str:
    return textwrap.fill(text, 78)
