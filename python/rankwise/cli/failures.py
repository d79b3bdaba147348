# SPDX-License-Identifier: BSD-3-Clause
"""How a command that failed says so: text on stderr and an exit status."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import RankwiseError

BUG_STATUS = 70


def status_of(error: BaseException, argv: Sequence[str], verb: str | None) -> int:
    """Exit status for an exception that ended the command `verb`."""
    status = error.status if isinstance(error, RankwiseError) else BUG_STATUS
    if verb is not None and status in (1, 2, BUG_STATUS):
        command = importlib.import_module(f"rankwise.cli.{verb}")
        if "--" in argv or getattr(command, "FAILURE_STATUS_WITHOUT_COMMAND", True):
            return getattr(command, "FAILURE_STATUS", status)
    return status


def show(error: RankwiseError, argv: Sequence[str]) -> None:
    """Print `error:`, `cause:` lines, a blank line and `hint:`; the traceback too with `-v`."""
    from rankwise.cli.terminal import painter, printable, shown

    paint = painter(sys.stderr, _colour_choice(argv))
    if _verbose(argv):
        _write(printable(traceback.format_exc()))
    lines = [paint("error", "error:") + f" {error.message}"]
    lines += [paint("error", "cause:") + f" {cause}" for cause in error.causes]
    if error.hint:
        lines += ["", paint("hint", "hint:") + f" {error.hint}"]
    _write(shown("\n".join(lines)) + "\n")


def show_bug(bug: Exception, argv: Sequence[str]) -> None:
    """Say in two lines that Rankwise has a bug, and where; the traceback only with `-v`."""
    last = traceback.extract_tb(bug.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    what = " ".join(f"{type(bug).__name__}: {bug}".split())
    hint = "report it with the output of `rankwise doctor --json` and of the same command with `-v`"
    show(RankwiseError(f"a bug in rankwise: `{what}` at `{where}`", hint=hint), argv)


def stdout_fails(error: OSError) -> bool:
    """Whether nothing more can be written to stdout, for example on a full disk, and that was the error."""
    if error.filename is not None:
        return False
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as again:
        return again.errno == error.errno
    return False


def open_closed_streams() -> None:
    """Give a stream that the caller closed (`>&-`) an end that leads nowhere, in this process only.

    Its number is taken as well: the next file that is opened would get it, and with it what is meant for the stream.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, and is closed in what is started
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends


def silence_streams() -> None:
    """Point stdout and stderr at nowhere, so that the interpreter does not complain again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        silence_streams()


def ours(argv: Sequence[str]) -> Sequence[str]:
    """The part of a command line that is Rankwise's own: up to the first `--`."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _verbose(argv: Sequence[str]) -> bool:
    return any(word == "--verbose" or re.fullmatch("-v+", word) for word in ours(argv))


def _colour_choice(argv: Sequence[str]) -> str:
    # The command line may be the very thing that is wrong, so it cannot be asked of the parser.
    words = list(ours(argv))
    for at, word in enumerate(words):
        if word.startswith("--color="):
            return word.partition("=")[2]
        if word == "--color" and at + 1 < len(words):
            return words[at + 1]
    return "auto"
