# SPDX-License-Identifier: BSD-3-Clause
"""Completion for bash."""

from __future__ import annotations

from shlex import quote

from rankwise.cli.shells.labs import LABS
from rankwise.cli.shells.model import PATTERNS, Command, Value

# What follows `--` is completed as that command's own line where the bash-completion package is there.
_SCRIPT = """\
# eval "$(rankwise completion bash)"
_rankwise_labs() {
    %(labs)s
}
# Files called PATTERN and directories on the way to them; where there are none, all files.
_rankwise_files() {
    local pattern=$1 word=$2 each
    COMPREPLY=()
    while IFS= read -r each; do
        [[ $each == $pattern || -d $each ]] && COMPREPLY+=("$each")
    done < <(compgen -f -- "$word")
    [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$word"))
}
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
    [[ ${#COMPREPLY[@]} -gt 0 || $word == -* ]] && return
    case "$command" in
%(operands)s
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _rankwise rankwise
"""


def script(top: Command) -> str:
    """The script."""
    descents, values, words, operands = [], [], [], []
    for command in top.all():
        path = command.path
        descents += [f"{quote(each.path)}) command={quote(each.path)} ;;" for each in command.commands]
        offered = [name for option in command.options for name in option.names]
        offered += [each.words[-1] for each in command.commands]
        offered += [word for value in command.operands for word in value.words]
        if command.starts_program:
            offered.append("--")
        words.append(f"{quote(path)}) words={quote(' '.join(offered))} ;;")
        for option in command.options:
            if option.value is not None:
                patterns = "|".join(quote(f"{path} {name}") for name in option.names)
                values.append(f"{patterns}) {_reply(option.value)}; return ;;")
        for word, value in command.behind:
            values.append(f"{quote(f'{path} {word}')}) {_reply(value)}; return ;;")
        if command.operands and command.operands[0].kind in PATTERNS:
            operands.append(f"{quote(path)}) {_reply(command.operands[0])} ;;")
    lines = {
        "descents": (descents, 12),
        "values": (values, 4),
        "words": (words, 4),
        "operands": (operands, 4),
    }
    parts = {key: "\n".join(" " * depth + each for each in found) for key, (found, depth) in lines.items()}
    return _SCRIPT % {**parts, "labs": LABS}


def _reply(value: Value) -> str:
    if value.kind == "words":
        return f'COMPREPLY=($(compgen -W {quote(" ".join(value.words))} -- "$word"))'
    if value.kind == "lab":
        return 'COMPREPLY=($(compgen -W "$(_rankwise_labs)" -- "$word"))'
    if value.kind == "directory":
        return 'COMPREPLY=($(compgen -d -- "$word"))'
    if value.kind in PATTERNS:
        return f'_rankwise_files {quote(PATTERNS[value.kind])} "$word"'
    return 'COMPREPLY=($(compgen -f -- "$word"))'
