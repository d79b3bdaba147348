# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise completion bash`: shell completion, generated from the parser itself."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

HELP = "print the script that completes rankwise's command lines"

# What follows `--` is completed as that command's own line where the bash-completion package is there.
_SCRIPT = """\
# eval "$(rankwise completion bash)"
_rankwise() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= at words
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        if [[ ${COMP_WORDS[at]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((at + 1))
            elif ((at + 1 == COMP_CWORD)); then
                COMPREPLY=($(compgen -c -- "$word"))
            else
                COMPREPLY=($(compgen -f -- "$word"))
            fi
            return
        fi
        case "$command ${COMP_WORDS[at]}" in
%(descents)s
        esac
    done
    case "$command $before" in
%(values)s
    esac
    case "$command" in
%(words)s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ ${#COMPREPLY[@]} -gt 0 || $word == -* ]] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _rankwise rankwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("shell", choices=("bash",), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from rankwise.cli import COMMANDS
    from rankwise.cli.parsing import build_parser

    print(bash_script(build_parser(COMMANDS)), end="")
    return 0


def bash_script(parser: argparse.ArgumentParser) -> str:
    """The completion script of a parser and its subparsers."""
    descents, values, words = [], [], []
    for path, each in _walk("", parser):
        offered = [name for action in each._actions for name in action.option_strings]
        for name in _subparsers(each):
            descents.append(f"{shlex.quote(f'{path} {name}')}) command={shlex.quote(f'{path} {name}')} ;;")
            offered.append(name)
        if each.get_default("takes_command"):
            offered.append("--")
        words.append(f"{shlex.quote(path)}) words={shlex.quote(' '.join(offered))} ;;")
        values += [_value_line(path, action) for action in each._actions if _has_value(action)]
    lines = {"descents": (descents, 12), "values": (values, 8), "words": (words, 8)}
    return _SCRIPT % {key: "\n".join(" " * depth + each for each in ls) for key, (ls, depth) in lines.items()}


def _walk(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield path, parser
    for name, each in _subparsers(parser).items():
        yield from _walk(f"{path} {name}", each)


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found[0].choices if found else {}


def _has_value(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.nargs != 0


def _value_line(path: str, action: argparse.Action) -> str:
    patterns = "|".join(shlex.quote(f"{path} {name}") for name in action.option_strings)
    kind = f"-W {shlex.quote(' '.join(map(str, action.choices)))}" if action.choices else "-f"
    return f'{patterns}) COMPREPLY=($(compgen {kind} -- "$word")); return ;;'
