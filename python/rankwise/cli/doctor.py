# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor`: what works on this machine; behind `--`, where a launcher puts its ranks."""

from __future__ import annotations

import argparse
from dataclasses import asdict

HELP = "find out what works on this machine, or where a launcher puts its ranks"
COMMAND = "srun -n 64"


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
        terminal.result(f"{word} {check.name:<9} {check.found}")
        if not check.ok:
            terminal.result(f"              needed for: {check.needed_for}")
            if check.hint:
                terminal.result(f"              {terminal.paint_out('hint', 'hint:')} {check.hint}")
    if recordable:
        terminal.next("rankwise record -- mpiexec -n 16 ./app")
    return 0 if recordable else 1
