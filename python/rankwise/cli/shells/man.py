# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages: one of rankwise, and one of each command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rankwise.cli.shells.model import Command, Option

_STATUS = """\
0: done. 1: it failed; standard error says what, and a way out. 2: the command line is wrong.
70: a defect of Rankwise. 130: ended by Ctrl-C.
Commands that start a program pass on its status; 125 is then a failure of Rankwise itself."""


def pages(top: Command, version: str) -> dict[str, str]:
    """Text of each page by the name of its file."""
    return {
        f"{'-'.join(command.words)}.1": "\n".join(_page(top, command, version)) + "\n"
        for command in top.all()
    }


def _page(top: Command, command: Command, version: str) -> Iterator[str]:
    name = "-".join(command.words)
    yield ".\\\" Made from rankwise's parser."
    yield f'.TH {name.upper()} 1 "" "Rankwise {version}" "Rankwise"'
    yield ".SH NAME"
    yield f"{_plain(name)} \\- {_plain(_without_dot(command.help))}"
    yield ".SH SYNOPSIS"
    yield f".B {_plain(' '.join(command.words))}"
    yield _plain(command.usage.removeprefix(" ".join(command.words)).strip())
    if command.commands:
        yield ".SH COMMANDS"
        for each in command.commands:
            yield ".TP"
            yield f".BR {_plain('-'.join(each.words))} (1)"
            yield _plain(each.help)
    yield ".SH OPTIONS"
    for option in command.options:
        yield ".TP"
        yield _names(option)
        yield _plain(option.help)
    if command.epilog:
        yield ".SH NOTES"
        yield ".nf"
        yield from (_plain(line) for line in command.epilog.splitlines())
        yield ".fi"
    yield ".SH EXIT STATUS"
    yield from (_plain(line) for line in _STATUS.splitlines())
    others = [each for each in (top, *top.commands) if each.words != command.words]
    yield ".SH SEE ALSO"
    for at, each in enumerate(others):
        yield f".BR {_plain('-'.join(each.words))} (1){',' if at + 1 < len(others) else ''}"


def _names(option: Option) -> str:
    names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in option.names)
    return names + (f" \\fI{_plain(option.value.name)}\\fR" if option.value is not None else "")


def _plain(text: str) -> str:
    """Text in which roff sees no command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def _without_dot(text: str) -> str:
    return " ".join(text.split()).removesuffix(".")
