# SPDX-License-Identifier: BSD-3-Clause
"""What a command says: results on stdout, narration and progress on stderr, colour where it is wanted."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

# Red error, yellow warning, cyan hint and path, green for a command to type; no meaning by colour alone.
_STYLES = {"error": "1;31", "warning": "1;33", "hint": "1;36", "path": "36", "command": "32", "good": "32"}
_BATCH_INTERVAL_S = 30.0


# All that a terminal could take for a command, and what turns the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Our own colours are kept apart from those in names of others by a word that is drawn for each process.
_MARK = f"\ufdd0{os.urandom(8).hex()}:"
_PAINTED = re.compile(f"{_MARK}([0-9;]*)m")


def printable(text: str) -> str:
    """Text with control characters, which may come from anywhere, written out; lines and tabs stay."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def shown(text: str) -> str:
    """The same for text with parts that `painter` coloured: these colours stay, others do not."""
    parts = _PAINTED.split(text)
    return "".join(f"\033[{part}m" if at % 2 else printable(part) for at, part in enumerate(parts))


# What else the views draw with, in ASCII.
_ASCII = str.maketrans(
    {"█": "#", "▓": "%", "▒": "+", "░": ":", "─": "-", "·": ".", "…": "~", "×": "x", "≥": ">", "±": "~"}
)


def encodable(text: str, stream: TextIO) -> str:
    """Text as this stream can take it: where it takes only ASCII, or another few characters, without others."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


def for_shell(text: str) -> str:
    """What `$(...)` takes, byte for byte; on a terminal without control characters."""
    return printable(text) if sys.stdout.isatty() else text


def wants_colour(stream: TextIO, choice: str) -> bool:
    """Whether to colour a stream, for `--color auto|always|never`."""
    if choice in ("always", "never"):
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painter(stream: TextIO, choice: str = "auto") -> Callable[[str, str], str]:
    """A function `(style, text) -> text` that colours for this stream, or not; `shown` shows what it gave."""
    if not wants_colour(stream, choice):
        return lambda style, text: text
    return lambda style, text: f"{_MARK}{_STYLES[style]}m{text}{_MARK}0m"


def in_lines(command: str, width: int) -> list[str]:
    """A command in lines of at most a width where its words allow that; all but the last end in a backslash.

    An option and what follows it stay together.
    """
    lines: list[str] = []
    for part in re.split(r" (?=-)", command):
        if lines and len(lines[-1]) + 1 + len(part) + len(" \\") <= width:
            lines[-1] += " " + part
        else:
            lines.append(part if not lines else "  " + part)
    return [line + " \\" for line in lines[:-1]] + lines[-1:]


class Terminal:
    """The streams of one command.

    Args:
        args: Parsed arguments with the common options of `rankwise.cli.parsing`, and `json` if the command
            has it.
    """

    def __init__(self, args: argparse.Namespace):
        self.quiet: int = args.quiet
        self.verbose: int = args.verbose
        self.color: str = args.color
        self.as_json: bool = getattr(args, "json", False)
        self.no_progress: bool = args.no_progress
        self.paint_out = painter(sys.stdout, self.color)
        self.paint = painter(sys.stderr, self.color)

    def result(self, text: str) -> None:
        """A line (or several) of the result, on stdout."""
        print(encodable(shown(text), sys.stdout))

    def rendered(self, text: str) -> None:
        """The same of text in which control characters were made printable before it was coloured."""
        print(encodable(text, sys.stdout))

    def json(self, document: dict[str, Any]) -> None:
        """The result as one JSON object on stdout; its first key is `schema`."""
        if next(iter(document)) != "schema":
            raise ValueError("the first key of a JSON result is `schema`")
        text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
        print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))

    def note(self, text: str) -> None:
        """Narration on stderr: silent with `-q` and with `--json`."""
        if not self.quiet and not self.as_json:
            print(shown(text), file=sys.stderr)

    def warning(self, message: str, identifier: str, hint: str | None = None) -> None:
        """A warning on stderr, `warning: MESSAGE  [IDENTIFIER]` and a hint; silent only with `-qq`."""
        if self.quiet > 1:
            return
        print(shown(f"{self.paint('warning', 'warning:')} {message}  [{identifier}]"), file=sys.stderr)
        if hint:
            print(shown(f"\n{self.paint('hint', 'hint:')} {hint}"), file=sys.stderr)

    def wrote(self, path: str | os.PathLike[str]) -> None:
        """Name a file that was written."""
        self.note(f"Wrote {self.paint('path', os.fspath(path))}")

    def next(self, command: str) -> None:
        """Name the command to type next; on a terminal in lines that fit, which still are one command."""
        lines = [command]
        if sys.stderr.isatty():
            lines = in_lines(command, shutil.get_terminal_size().columns - len("next: "))
        self.note("next: " + "\n      ".join(self.paint("command", line) for line in lines))

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None
    ) -> None:
        """A plain table of the result on stdout: first column left, numbers (all others) right.

        Args:
            columns: Column heads.
            rows: Cells, already formatted; `None` is shown as `-`.
            title: A line above.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(
            box=box.SIMPLE_HEAD,
            title=title and Text(printable(title)),
            title_justify="left",
            show_edge=False,
            pad_edge=False,
        )
        for at, column in enumerate(columns):
            table.add_column(
                Text(printable(column)),
                justify="right" if at else "left",
                no_wrap=bool(at),
                overflow="fold",
                vertical="bottom",
            )
        for row in rows:
            table.add_row(*(Text("-" if cell is None else printable(str(cell))) for cell in row))
        coloured = wants_colour(sys.stdout, self.color)
        console = Console(file=sys.stdout, force_terminal=coloured, no_color=not coloured)
        if not sys.stdout.isatty():
            # Who reads a file or a pipe has no screen that the table must fit: nothing is cut off.
            console.width = 10_000
            console.width = console.measure(table).maximum
        console.print(table, highlight=False)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[..., None]]:
        """Show long work on stderr; yields `update(done, best="")`, which is cheap to call often.

        A bar on a terminal, a line at most every 30 s in a batch job, nothing with `-q`, `-v`,
        `--no-progress`.

        Args:
            label: What is being done.
            total: How many steps there are.
        """
        if self.quiet or self.verbose or self.no_progress:
            yield lambda done, best="": None
        elif sys.stderr.isatty():
            yield from self._bar(label, total)
        else:
            last = time.monotonic()

            def update(done: int, best: str = "") -> None:
                nonlocal last
                if time.monotonic() - last >= _BATCH_INTERVAL_S:
                    last = time.monotonic()
                    said = f"{label}: {done} of {total}{'; ' + best if best else ''}"
                    print(printable(said), file=sys.stderr)

            yield update

    def _bar(self, label: str, total: int) -> Iterator[Callable[..., None]]:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(file=sys.stderr, no_color=not wants_colour(sys.stderr, self.color))
        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %")]
        columns += [TimeRemainingColumn(), TextColumn("{task.fields[best]}")]
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(printable(label)), total=total, best="")
            yield lambda done, best="": bar.update(task, completed=done, best=escape(printable(best)))
