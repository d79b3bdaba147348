# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file a command, each with `HELP`, `add_arguments(parser)` and `run(args) -> int`.

A command may also define

* `COMMAND`: what stands after `--`, for its usage line; without it, `--` is refused. `run` finds the words
  in `args.command` (`None` without `--`).
* `FAILURE_STATUS`: the exit status of every failure of Rankwise itself, for commands that pass on the status
  of a program.

Everything heavy (numpy, polars, rich, ...) is imported inside `run`, so that `--help` stays quick on parallel
file systems.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rankwise.errors import RankwiseError
from rankwise.short_memory import was_short

# In the order of the help text.
COMMANDS: tuple[str, ...] = (
    "record",
    "report",
    "export",
    "explain",
    "predict",
    "measure",
    "place",
    "run",
    "pin",
    "tune",
    "lab",
    "study",
    "workloads",
    "doctor",
    "completion",
)

INTERRUPTED_STATUS = 130
BROKEN_PIPE_STATUS = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the only place that turns an exception into text and an exit status."""
    from rankwise.cli import failures, memory
    from rankwise.cli.parsing import build_parser, parse

    failures.open_closed_streams()
    argv = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in failures.ours(argv) if word in COMMANDS), None)
    try:
        parser = build_parser(COMMANDS, verb)
        args = parse(parser, argv)
        if args is None:
            parser.print_help(sys.stderr)
            return 2
        status = memory.status_of_child() if args.verb in memory.COMPUTING else None
        if status is not None:
            return status
        ended: int = args.run(args)
        sys.stdout.flush()
        return ended
    except RankwiseError as error:
        error = memory.short() if was_short(error) else error
        failures.show(error, argv)
        return failures.status_of(error, argv, verb)
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except BrokenPipeError:
        failures.silence_streams()
        return BROKEN_PIPE_STATUS
    except OSError as error:
        if was_short(error):
            return _without_memory(argv, verb)
        if not failures.stdout_fails(error):
            failures.show_bug(error, argv)
            return failures.status_of(error, argv, verb)
        full = RankwiseError(
            f"the result could not be written to stdout: {os.strerror(error.errno or 0).lower()}"
        )
        failures.show(full, argv)
        failures.silence_streams()
        return failures.status_of(full, argv, verb)
    except BaseException as bug:
        if was_short(bug):
            return _without_memory(argv, verb)
        if not isinstance(bug, Exception):
            raise
        failures.show_bug(bug, argv)
        return failures.status_of(bug, argv, verb)


def _without_memory(argv: Sequence[str], verb: str | None) -> int:
    from rankwise.cli import failures, memory

    error = memory.short()
    failures.show(error, argv)
    return failures.status_of(error, argv, verb)
