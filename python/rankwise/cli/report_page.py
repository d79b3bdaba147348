# SPDX-License-Identifier: BSD-3-Clause
"""The HTML file of `rankwise report`: where it goes, and how it is written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal

_Data = TypeVar("_Data")


def place(args: argparse.Namespace, default: Path, terminal: Terminal) -> Path | None:
    """Where the HTML goes, checked before any work; with `--json` there is none unless it is asked for.

    Where the default place cannot be written to, the report is for the terminal only.

    Raises:
        RankwiseError: It may not be written.
    """
    from rankwise.report import files

    if args.output:
        files.check(Path(args.output), args.force)
        return Path(args.output)
    if args.json and not args.open:
        return None
    if not args.open and not os.access(default.parent, os.W_OK):
        _no_html(terminal, f"`{default.parent}` cannot be written to")
        return None
    # A report under its default name is only as old as the last `rankwise report`: it is made anew.
    files.check(default, force=True)
    return default


def show_and_write(show: Callable[[], None], write_page: Callable[[], None]) -> None:
    """Both. The page is written also where the reader of what is shown goes away, as `head` does.

    Raises:
        BrokenPipeError: It has gone.
    """
    try:
        show()
    except BrokenPipeError:
        write_page()
        raise
    write_page()


def write(args: argparse.Namespace, path: Path, page: str, terminal: Terminal) -> None:
    """Write the page, and open it if that is wanted.

    Raises:
        RankwiseError: A page that was asked for cannot be written.
    """
    from rankwise.report import files

    try:
        files.write(path, page)
        terminal.note("\nWrote " + terminal.paint("path", str(path)))
    except RankwiseError as error:
        if args.output or args.open:
            raise
        _no_html(terminal, error.message)
    if args.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def printable_data(found: _Data) -> _Data:
    """The same, whose names cannot be taken for colours."""
    import msgspec

    from rankwise.cli.terminal import printable

    def cleaned(content: Any) -> Any:
        if isinstance(content, dict):
            return {cleaned(key): cleaned(value) for key, value in content.items()}
        if isinstance(content, list):
            return [cleaned(each) for each in content]
        return printable(content) if isinstance(content, str) else content

    return msgspec.convert(cleaned(msgspec.to_builtins(found)), type(found))


def _no_html(terminal: Terminal, why: str) -> None:
    terminal.warning(f"{why}: no HTML report", "no-html", "choose a place for it with `-o FILE`")
