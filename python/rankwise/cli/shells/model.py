# SPDX-License-Identifier: BSD-3-Clause
"""The command line as a tree of commands, options and what their values are."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rankwise.cli.shells.names import BY_COMMAND

Kind = Literal[
    "words", "file", "directory", "recording", "machine", "placement", "tuning", "graph", "lab", "text"
]

# What a file of a kind is called.
PATTERNS: dict[Kind, str] = {
    "recording": "*.rw",
    "machine": "*.machine.toml",
    "placement": "*.placement.json",
    "tuning": "*.tune",
    "graph": "*.graph",
}
_BY_OPTION: dict[str, Kind] = {
    "--machine": "machine",
    "--compare": "machine",
    "--placement": "placement",
    "--current": "placement",
    "--lab": "lab",
    "--name": "lab",
    "--against": "recording",
    "--graph": "graph",
}
# Values of options that take other ones, too.
_WORDS_BY_OPTION: dict[str, tuple[str, ...]] = {
    "--allocation": ("blocked", "cyclic"),
    "--on": ("machine", "lab", "cluster"),
}
_BY_METAVAR: dict[str, Kind] = {
    "REC": "recording",
    "REC|FILE": "recording",
    "DIR": "directory",
    "NAME.tune": "directory",
    "FILE": "file",
    "OUT": "file",
    "FILE.md": "file",
    "FILE.machine.toml": "machine",
    "PATH": "file",
}


@dataclass(frozen=True)
class Value:
    """What stands behind an option, or for itself.

    Attributes:
        kind: What it names.
        words: All there are, of the kind `words`.
        name: As help has it.
    """

    kind: Kind
    words: tuple[str, ...]
    name: str


_BEHIND: dict[tuple[str, ...], tuple[tuple[str, Value], ...]] = {
    ("tune",): (("show", Value("tuning", (), "NAME.tune")),),
}


@dataclass(frozen=True)
class Option:
    """An option: its names, what it does, and its value, if it takes one."""

    names: tuple[str, ...]
    help: str
    value: Value | None
    optional: bool


@dataclass(frozen=True)
class Command:
    """A command, and those below it.

    Attributes:
        words: As typed: `rankwise lab up`.
        help: A sentence.
        usage: The line behind "usage:".
        epilog: What help ends with.
        options: All, in the order of help; those of every command last.
        operands: What it takes without an option.
        commands: Below it.
        starts_program: What follows `--` is a command line of its own.
        behind: What stands behind a word, as the name of a directory behind `show`.
    """

    words: tuple[str, ...]
    help: str
    usage: str
    epilog: str
    options: tuple[Option, ...]
    operands: tuple[Value, ...]
    commands: tuple[Command, ...] = field(default=())
    starts_program: bool = False
    behind: tuple[tuple[str, Value], ...] = ()

    @property
    def path(self) -> str:
        """Its words behind the program's name, each after a blank."""
        return "".join(f" {word}" for word in self.words[1:])

    def all(self) -> Iterator[Command]:
        """This one and all below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def describe(parser: argparse.ArgumentParser) -> Command:
    """The tree of a parser and its subparsers."""
    return _command(parser, (parser.prog,), parser.description or "")


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], help: str) -> Command:
    parser.format_help()  # puts the groups in order
    actions = [action for group in parser._action_groups for action in group._group_actions]
    below = next((each for each in actions if isinstance(each, argparse._SubParsersAction)), None)
    helps = {each.dest: each.help or "" for each in below._choices_actions} if below else {}
    return Command(
        words=words,
        help=help,
        usage=" ".join(parser.format_usage().split()[1:]),
        epilog=parser.epilog or "",
        options=tuple(_option(action) for action in actions if action.option_strings),
        operands=_operands(
            words, [each for each in actions if not each.option_strings and each is not below]
        ),
        commands=tuple(
            _command(each, (*words, name), helps.get(name, ""))
            for name, each in (below.choices.items() if below else ())
        ),
        starts_program=bool(parser.get_default("takes_command")),
        behind=_BEHIND.get(words[1:], ()),
    )


def _operands(words: tuple[str, ...], actions: list[argparse.Action]) -> tuple[Value, ...]:
    names = BY_COMMAND.get(" ".join(words[1:]))
    if names is not None:
        return (Value("words", names, "NAME"),)
    return tuple(_value(action) for action in actions)


def _option(action: argparse.Action) -> Option:
    value = None if action.nargs == 0 else _value(action)
    return Option(
        tuple(action.option_strings), (action.help or "").replace("%%", "%"), value, action.nargs == "?"
    )


def _value(action: argparse.Action) -> Value:
    name = str(action.metavar or action.dest.upper())
    if action.choices:
        return Value(
            "words", tuple(map(str, action.choices)), str(action.metavar or "|".join(action.choices))
        )
    for each in action.option_strings:
        if each in _WORDS_BY_OPTION:
            return Value("words", _WORDS_BY_OPTION[each], name)
    kinds = [_BY_OPTION[each] for each in action.option_strings if each in _BY_OPTION]
    return Value(kinds[0] if kinds else _BY_METAVAR.get(name, "text"), (), name)
