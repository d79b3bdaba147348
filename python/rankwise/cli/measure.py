# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure`: what each level of this machine costs, as a machine file."""

from __future__ import annotations

import argparse

HELP = "measure what messages cost on each level of a machine"
COMMAND = "mpiexec -n 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json, add_output, seconds

    add_output(parser, "the machine file; default HOST.machine.toml", metavar="FILE.machine.toml")
    parser.add_argument("--quick", action="store_true", help="less than a minute instead of about five")
    parser.add_argument(
        "--budget", type=seconds, metavar="TIME", help="aim at this much time, for example 2min"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and write the machine file; 130 if interrupted, with what was measured until then."""
    from rankwise.cli import measure_end
    from rankwise.cli.terminal import Terminal
    from rankwise.measure import launch, outcome
    from rankwise.measure.session import Session
    from rankwise.measure.site import Site
    from rankwise.measure.steps import effort

    terminal = Terminal(args)
    launch.check(args.command)
    output = outcome.output_path(args.output, args.force)
    session = Session(Site(args.command), effort(args.quick, args.budget))
    session.prepare()
    measure_end.announce(terminal, session)
    parts = 1000
    parts = 1000
    with terminal.progress("measuring", parts) as update:
        session.measure(lambda done, total, now: update(parts * done // total, measure_end.best(now)))
    written = outcome.write(session, output)
    measure_end.tell(terminal, session, written)
    return 130 if session.interrupted else 0
