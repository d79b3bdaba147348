# SPDX-License-Identifier: BSD-3-Clause
"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from rankwise.cli.shells.labs import LABS
from rankwise.cli.shells.model import PATTERNS, Command, Option, Value

_SCRIPT = """\
# rankwise completion fish | source
# The words before `--` that name commands, as `rankwise lab up`; fails behind `--`.
function __rankwise_at
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    set -l path rankwise
    for word in $words[2..]
        contains -- "$path $word" $__rankwise_commands; and set path "$path $word"
    end
    test "$path" = "$argv"
end
# What follows `--` is a command line of its own.
function __rankwise_program
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words); or return 1
    complete -C (string join ' ' -- $words[(math $at + 1)..])
end
function __rankwise_behind
    contains -- -- (commandline -opc)
end
function __rankwise_behind_word
    test (commandline -opc)[-1] = $argv[1]; and __rankwise_at $argv[2..]
end
function __rankwise_labs
    sh -c %(labs)s
end
function __rankwise_files
    for each in (commandline -ct)*
        if string match -q -- $argv[1] $each; or test -d $each
            echo $each
        end
    end
end
set -g __rankwise_commands %(commands)s
complete -c rankwise -e
complete -c rankwise -f
complete -c rankwise -n __rankwise_behind -a '(__rankwise_program)'
%(lines)s
"""


def script(top: Command) -> str:
    """The script."""
    commands = " ".join(_quote(" ".join(each.words)) for each in top.all() if len(each.words) > 1)
    lines = "\n".join(line for command in top.all() for line in _lines(command))
    return _SCRIPT % {"labs": _quote(LABS), "commands": commands, "lines": lines}


def _lines(command: Command) -> Iterator[str]:
    path = " ".join(command.words)
    at = f"complete -c rankwise -n {_quote(f'__rankwise_at {path}')}"
    for each in command.commands:
        yield f"{at} -a {_quote(each.words[-1])} -d {_quote(each.help)}"
    for option in command.options:
        yield f"{at} {_option(option)}"
    for value in command.operands[:1]:
        if not command.commands:
            yield f"{at} {_value(value)}"
    for word, value in command.behind:
        yield f"complete -c rankwise -n {_quote(f'__rankwise_behind_word {word} {path}')} {_value(value)}"


def _option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = "" if option.value is None or option.optional else f" -r {_value(option.value)}"
    return f"{' '.join(names)} -d {_quote(option.help)}{value}"


def _value(value: Value) -> str:
    if value.kind == "words":
        return f"-f -a {_quote(' '.join(value.words))}"
    if value.kind == "lab":
        return "-f -a '(__rankwise_labs)'"
    if value.kind == "directory":
        return "-f -a '(__fish_complete_directories)'"
    if value.kind in PATTERNS:
        return f"-f -a {_quote(f'(__rankwise_files {_quote(PATTERNS[value.kind])})')}"
    return "-F" if value.kind == "file" else "-f"


def _quote(text: str) -> str:
    """In fish's single quotes, where only backslash and quote are escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
