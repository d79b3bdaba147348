# SPDX-License-Identifier: BSD-3-Clause
"""Where a launcher's options end and the program begins."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankwise.launchers.line import Option


@dataclass(frozen=True)
class Syntax:
    """How a launcher reads its options.

    Attributes:
        arity: Number of values of each option that has any or is at least known, by name without dashes.
        equals: `--name=value` is understood.
        letters: getopt style: the one-letter options that have a value, which may follow at once (`-n4`);
            other letters may be joined (`-lv`). `None`: one dash or two make no difference (`-np`, `--np`).
        aliases: Other names of an option.
    """

    arity: Mapping[str, int]
    equals: bool
    letters: str | None
    aliases: Mapping[str, str]


def scan(words: Sequence[str], syntax: Syntax) -> tuple[tuple[Option, ...], list[str]]:
    """Split the words of a segment into options and the rest, which starts with the program."""
    options: list[Option] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return (*options, Option("--", (), (word,))), list(words[at + 1 :])
        if not word.startswith("-") or word == "-":
            break
        taken = _take_letters(words, at, syntax) or _take_long(words, at, syntax)
        options.append(taken)
        at += len(taken.words)
    return tuple(options), list(words[at:])


def _take_letters(words: Sequence[str], at: int, syntax: Syntax) -> Option | None:
    word = words[at]
    if syntax.letters is None or word.startswith("--"):
        return None
    for place in range(1, len(word)):
        letter = word[place]
        if letter in syntax.letters:
            name = syntax.aliases.get(letter, letter)
            if place + 1 < len(word):
                return Option(name, (word[place + 1 :],), (word,))
            return Option(name, tuple(words[at + 1 : at + 2]), tuple(words[at : at + 2]))
    return Option(word[1:], (), (word,))


def _take_long(words: Sequence[str], at: int, syntax: Syntax) -> Option:
    word = words[at]
    name, equals, value = word.lstrip("-").partition("=")
    if not syntax.equals:
        name, equals = word.lstrip("-"), ""
    name = _known(name, syntax)
    if equals:
        return Option(name, (value,), (word,))
    count = syntax.arity.get(name)
    if count is None:
        count = _guess_count(words[at + 1 :])
    return Option(name, tuple(words[at + 1 : at + 1 + count]), tuple(words[at : at + 1 + count]))


def _known(name: str, syntax: Syntax) -> str:
    if name not in syntax.arity and name not in syntax.aliases:
        lower = name.lower()
        name = lower if lower in syntax.arity or lower in syntax.aliases else name
    return syntax.aliases.get(name, name)


def _guess_count(words: Sequence[str]) -> int:
    """Values of an option not in the table: what comes before the next option or the first executable."""
    executable = next((at for at, word in enumerate(words) if shutil.which(word)), None)
    if executable is None:
        return 0
    option = next((at for at, word in enumerate(words) if word.startswith("-")), executable)
    return min(option, executable)
