# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure`: what each level of this machine costs, as a machine file."""

from __future__ import annotations

import argparse
import contextlib
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.measure.site import Site

HELP = "measure what messages cost on each level of a machine"
COMMAND = "mpiexec -n 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json, add_output, duration

    add_output(parser, "the machine file; default HOST.machine.toml", metavar="FILE.machine.toml")
    parser.add_argument("--quick", action="store_true", help="take less than a minute instead of about five")
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="TIME",
        help="take about this much time, such as 2min; below 100 s only what --quick measures",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with an interrupted measurement, and measure again what others disturbed",
    )
    parser.add_argument(
        "--plot",
        action="append",
        default=[],
        metavar="FILE",
        help="draw every curve with its fit: FILE.svg, .pdf or .png; FILE.html is a page with all answers",
    )
    parser.add_argument(
        "--lab", metavar="NAME", help="measure this lab; with `-- mpiexec`: with the MPI of this mpiexec"
    )
    instead = parser.add_argument_group("instead of measuring")
    instead.add_argument(
        "--show",
        nargs="*",
        metavar="NODE",
        help="draw the nodes, and the pairs of ranks that would measure; NODE: a machine file, an hwloc XML file or a "
        "synthetic description; several may follow; default: the nodes of the launch line, else this one",
    )
    instead.add_argument(
        "--compare", nargs="+", metavar="FILE.machine.toml", help="show machine files side by side"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and write the machine file; 130 if interrupted, with what was measured until then, 1 if disturbed."""
    began = time.monotonic()
    if args.compare is not None:
        from rankwise.cli import measure_compare

        return measure_compare.run(args)
    if args.show is not None:
        from rankwise.cli import measure_show

        return measure_show.run(args, _site(args) if args.command or args.lab else None)
    from rankwise.cli import measure_end, measure_plot
    from rankwise.cli.terminal import Terminal
    from rankwise.measure import outcome, resume
    from rankwise.measure import samples as sample_files
    from rankwise.measure.measurement import Measurement
    from rankwise.measure.steps import effort

    terminal = Terminal(args)
    site = _site(args)
    default = f"{args.lab}{outcome.SUFFIX}" if args.lab else None
    output = outcome.output_path(args.output or default, args.force, args.resume)
    kept = outcome.samples_path(output)
    measure_plot.check(args.plot, args.force or args.resume)
    measurement = Measurement(site, effort(args.quick, args.budget), began=began)
    if args.resume:
        measurement.before = resume.load(kept)
    measurement.prepare()
    resume.check(measurement.before, measurement.context())
    measurement.kept = lambda samples: sample_files.save(samples, kept) if len(samples) else None
    measure_end.announce(terminal, measurement)
    parts = 1000
    with _end_at_sigterm(), terminal.progress("measuring", parts) as update:
        measurement.measure(
            lambda done, total, now: update(
                parts * done // total if total else parts,
                measure_end.best(now) if total else "again what others disturbed",
            )
        )
        if not measurement.interrupted:
            update(parts, "")  # points and launches that were left out are done, too
    written = outcome.write(measurement, output)
    measure_plot.write(args.plot, written)
    measure_end.tell(terminal, measurement, written, args.plot)
    return 130 if measurement.interrupted else int(written.path != output)


@contextlib.contextmanager
def _end_at_sigterm() -> Iterator[None]:
    """Take the end of a job's time and `kill` as Ctrl-C; not where SIGTERM is ignored or taken otherwise."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _site(args: argparse.Namespace) -> Site:
    from rankwise.measure import launch
    from rankwise.measure.site import Site

    if args.lab is None:
        launch.check(args.command)
        return Site(args.command)
    from rankwise.lab.site import LabSite
    from rankwise.lab.state import load

    launch.check_lab(args.command)
    return LabSite(load(args.lab), args.command or ())
