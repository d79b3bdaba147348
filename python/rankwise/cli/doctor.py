# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor`: what works on this machine; behind `--`, where a launcher puts its ranks."""

from __future__ import annotations

import argparse
import re
import textwrap
from dataclasses import asdict

HELP = "find out what works on this machine, or where a launcher puts its ranks"
COMMAND = "srun -n 64"
_INDENT = " " * 14


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json

    parser.usage = f"%(prog)s [OPTIONS] [-- {COMMAND}]"
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the checks; 1 if programs cannot be recorded here."""
    if args.command is not None:
        from rankwise.cli.doctor_launch import run_launch

        return run_launch(args)
    import rankwise
    from rankwise.cli.terminal import Terminal
    from rankwise.doctor import examine

    terminal = Terminal(args)
    checks = examine()
    recordable = any(c.ok for c in checks if c.name == "recorder") and any(
        c.ok for c in checks if c.name == "launcher"
    )
    if args.json:
        document = {"schema": "rankwise.doctor/1", "rankwise": rankwise.__version__, "can_record": recordable}
        terminal.json(document | {"checks": [asdict(check) for check in checks]})
        return 0 if recordable else 1
    for check in checks:
        word = terminal.paint_out("good", "ok ") if check.ok else terminal.paint_out("error", "no ")
        first, *others = _wrapped(check.found)
        terminal.result(f"{word} {check.name:<9} {first}")
        for line in others:
            terminal.result(_INDENT + line)
        if not check.ok:
            terminal.result(f"{_INDENT}needed for: {check.needed_for}")
            first, *others = _wrapped(f"hint: {check.hint}") if check.hint else [""]
            if first:
                terminal.result(_INDENT + first.replace("hint:", terminal.paint_out("hint", "hint:"), 1))
            for line in others:
                terminal.result(_INDENT + line)
    if recordable:
        terminal.next("rankwise record -- mpiexec -n 16 ./app")
    return 0 if recordable else 1


def _wrapped(text: str) -> list[str]:
    """Lines of 80 columns behind the name of a check; what is in backticks stays whole, to be pasted."""
    held = re.sub("`[^`]*`", lambda quoted: quoted[0].replace(" ", "\0"), text)
    width = 80 - len(_INDENT)
    lines = textwrap.wrap(held, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines] if len(text) > width and "`/" not in text else [text]
