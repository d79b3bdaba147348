# SPDX-License-Identifier: BSD-3-Clause
"""Completion for zsh."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from rankwise.cli.shells.labs import LABS
from rankwise.cli.shells.model import PATTERNS, Command, Option, Value

_SCRIPT = """\
#compdef rankwise
# eval "$(rankwise completion zsh)", behind `autoload -U compinit; compinit`
_rankwise_labs() {
    local -a labs
    labs=(${(f)"$(%(labs)s)"})
    compadd -a labs
}
# What follows `--` is a command line of its own.
_rankwise_program() {
    local at=${words[(ie)--]}
    (( at < CURRENT )) || return 1
    shift at words
    (( CURRENT -= at ))
    _normal
}
%(functions)s
# The file itself is the function where zsh finds it in $fpath.
if [[ $funcstack[1] == _rankwise ]]; then
    _rankwise "$@"
else
    compdef _rankwise rankwise
fi
"""


def script(top: Command) -> str:
    """The script."""
    functions = "\n".join("\n".join(_function(command)) for command in top.all())
    return _SCRIPT % {"labs": LABS, "functions": functions}


def _name(command: Command) -> str:
    return "_" + "_".join(command.words)


def _function(command: Command) -> Iterator[str]:
    yield f"{_name(command)}() {{"
    if command.starts_program:
        yield "    _rankwise_program && return"
    if command.commands:
        yield "    local curcontext=$curcontext state line"
        yield "    typeset -A opt_args"
    arguments = [quote(each) for option in command.options for each in _specifications(option)]
    if command.commands:
        arguments += [quote("1:command:->command"), quote("*::argument:->arguments")]
    else:
        # Behind the words of which one has something behind it, that comes second.
        first = "1" if command.behind else "*"
        arguments += [
            quote(f"{first}:{_plain(value.name)}:{_action(value)}") for value in command.operands[:1]
        ]
        arguments += [quote(f"2:{_plain(value.name)}:{_action(value)}") for _, value in command.behind]
    flags = "-C " if command.commands else ""
    yield f"    _arguments {flags}-s -S \\"
    yield from (f"        {each} \\" for each in arguments[:-1])
    yield f"        {arguments[-1]}"
    if command.commands:
        yield "    case $state in"
        yield "    command)"
        yield "        local -a commands=("
        yield from (f"            {quote(f'{each.words[-1]}:{each.help}')}" for each in command.commands)
        yield "        )"
        yield "        _describe command commands ;;"
        yield "    arguments)"
        yield "        case $line[1] in"
        yield from (f"        {each.words[-1]}) {_name(each)} ;;" for each in command.commands)
        yield "        esac ;;"
        yield "    esac"
    yield "}"


def _specifications(option: Option) -> Iterator[str]:
    """For `_arguments`, one of each name; `*`: it may come again."""
    for name in option.names:
        text = f"*{name}[{_plain(option.help)}]"
        if option.value is not None:
            colon = "::" if option.optional else ":"
            text += f"{colon}{_plain(option.value.name)}:{_action(option.value)}"
        yield text


def _plain(text: str) -> str:
    """Text without the letters that mean something to `_arguments`."""
    return text.replace("\\", "").replace("[", "(").replace("]", ")").replace(":", " -").replace("'", "")


def _action(value: Value) -> str:
    if value.kind == "words":
        return f"({' '.join(value.words)})"
    if value.kind == "lab":
        return "_rankwise_labs"
    if value.kind == "directory":
        return "_files -/"
    if value.kind in PATTERNS:
        return f'_files -g "{PATTERNS[value.kind]}(-/,-.)"'
    return "_files" if value.kind == "file" else " "
