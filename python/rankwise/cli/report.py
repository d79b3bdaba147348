# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise report`: what a recording shows, in the terminal, as HTML, as JSON."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.findings.on_machine import OnMachine
    from rankwise.recording import Recording
    from rankwise.report.data import ReportData

HELP = "show where a recording's time and messages went"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli import report_compare, report_watch
    from rankwise.cli.parsing import add_json, add_output, size_bytes
    from rankwise.report import IN_HTML_ONLY, SECTIONS

    sections = tuple(name for name in SECTIONS if name not in IN_HTML_ONLY)

    parser.add_argument(
        "recordings",
        metavar="REC",
        nargs="+",
        help="a recording (a directory NAME.rw) or a JSON file of TALP (DLB); two are compared; several with different "
        "numbers of ranks show how the program scales",
    )
    add_output(
        parser,
        "the HTML report; default NAME.report.html beside NAME.rw, of several FIRST-LAST.report.html beside the last",
    )
    add_json(parser)
    parser.add_argument(
        "--talp", metavar="FILE", help="also write the efficiencies as a JSON file of TALP (DLB)"
    )
    parser.add_argument(
        "--figures",
        metavar="DIR",
        help="also write the main figures as SVG and PDF there (needs matplotlib, `rankwise[figures]`)",
    )
    parser.add_argument(
        "--ideal-time",
        choices=("dimemas", "scalasca"),
        default="dimemas",
        help="what the efficiencies take as ideal time: a replay on an ideal network (dimemas, default), or the run "
        "time without the time of transfers (scalasca)",
    )
    parser.add_argument("--open", action="store_true", help="open the HTML report in the browser")
    parser.add_argument(
        "--job",
        metavar="JOB",
        help="number or name of the MPI job to show, if several were recorded; default: the largest",
    )
    parser.add_argument(
        "--section",
        choices=sections,
        metavar="NAME",
        help=f"print only this section, with all that it has: {', '.join(sections)}; `-v` prints all of them",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check the files of the recording: whole, damaged, or not covered by checksums; exit status 1 if one "
        "is damaged",
    )
    parser.add_argument(
        "--machine",
        "-m",
        metavar="FILE",
        help="machine file; with it the report predicts what findings cost, and what a better placement saves",
    )
    parser._option_string_actions["--verbose"].help = "print all sections; show tracebacks of errors"
    report_compare.add_arguments(parser)
    report_watch.add_arguments(parser)
    asked = parser.add_argument_group("other placements, for the message distribution")
    asked.add_argument("--nodes", metavar="PxQ", help="P nodes with up to Q ranks each, for example 4x4")
    asked.add_argument(
        "--allocation",
        metavar="KIND",
        action="append",
        default=[],
        help="how ranks are distributed over nodes: blocked (default), cyclic or plane=K; may be given again",
    )
    asked.add_argument(
        "--node",
        "--topology",
        metavar="DESC",
        help="what a node is: an hwloc synthetic description ('package:2 core:2', with (indexes=...) for OS order) "
        "or XML file; default: as recorded",
    )
    asked.add_argument(
        "--core-order",
        metavar="ORDER",
        help="in which order the ranks of a node take its cores: logical: hwloc's order; os: by OS index; packages: "
        "one core of each package in turn; or a list such as 3,2,0,1. Default: os if --node has (indexes=...), else "
        "logical",
    )
    asked.add_argument("--placement", metavar="FILE", help="a placement file, NAME.placement.json")
    asked.add_argument(
        "--ranges",
        metavar="SIZES",
        type=lambda text: tuple(size_bytes(size) for size in text.split(",")),
        help="upper ends of the size ranges, powers of two; default 256,4KiB,64KiB,256KiB",
    )


def run(args: argparse.Namespace) -> int:
    """Show a recording, or compare several."""
    from rankwise.cli import report_compare, report_page, report_watch

    if args.watch:
        return report_watch.run(args)
    if report_compare.is_asked(args):
        return report_compare.run(args)
    args.recording = args.recordings[0]
    if args.fail_above is not None or args.scaling:
        option = "--scaling" if args.scaling else "--fail-above"
        raise RankwiseError(
            f"`{option}` compares recordings, and there is one",
            f"`rankwise report before.rw {shlex.quote(args.recording)} {option} ...`",
            status=2,
        )
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.terminal import Terminal, wants_colour
    from rankwise.findings import talp
    from rankwise.placement.distribution_data import DEFAULT_RANGES, check_ranges
    from rankwise.recording import Recording
    from rankwise.report import data

    terminal = Terminal(args)
    if talp.looks_like(Path(args.recording)):
        return _talp(args, terminal)
    check_kind("recording", args.recording, "`rankwise report app.rw`", 1)
    if args.check:
        return _check(args, terminal)
    ranges = args.ranges or DEFAULT_RANGES
    check_ranges(ranges)
    path = _output(args, terminal)
    _check_others(args)
    recording = Recording.open(args.recording, args.job)
    report = _report(args, recording, ranges)
    _write_others(args, recording, report, terminal)

    def show() -> None:
        from rankwise.report.text import render

        if args.json:
            terminal.json(data.to_dict(report))
        elif wants_colour(sys.stdout, args.color):
            terminal.rendered(
                render(report_page.printable_data(report), True, args.section, bool(args.verbose))
            )
        else:
            terminal.result(render(report, False, args.section, bool(args.verbose)))

    def write_page() -> None:
        if path:
            from rankwise.report.html import render as render_page

            page = render_page(report_page.printable_data(report))
            report_page.write(args, path, page, terminal)

    report_page.show_and_write(show, write_page)
    if not args.quiet and not args.json:
        following = _next(args, recording, report)
        if following:
            terminal.next(following)
    return 0


def _report(args: argparse.Namespace, recording: Recording, ranges: Sequence[int]) -> ReportData:
    """What to show; made anew with what is asked for besides the run."""
    if not any((args.machine, args.nodes, args.allocation, args.node, args.placement)):
        from rankwise.report.data import kept

        return kept.report_of(recording, ranges, args.ideal_time)
    from rankwise.report import build, placements

    asked = placements.Asked(args.nodes, args.allocation, args.node, args.core_order, args.placement)
    others = placements.asked_placements(recording, asked)
    return build.build(recording, others, ranges, _on_machine(args, recording), args.ideal_time)


def _on_machine(args: argparse.Namespace, recording: Recording) -> OnMachine | None:
    if not args.machine:
        return None
    from rankwise.api import load_machine
    from rankwise.findings.on_machine import OnMachine
    from rankwise.machine.machine import topology_of

    machine = load_machine(args.machine)
    return OnMachine(recording, machine, topology_of(machine, Path(".")), args.machine)


def _talp(args: argparse.Namespace, terminal: Terminal) -> int:
    """Show the efficiencies of a JSON of TALP."""
    import msgspec

    from rankwise.findings import talp
    from rankwise.report.text import efficiency, lay_out

    found = talp.read(Path(args.recording))
    if args.json:
        terminal.json({"schema": "rankwise.efficiency/1", "efficiency": msgspec.to_builtins(found)})
    else:
        terminal.result(lay_out([efficiency.section(found)]))
    return 0


def _check_others(args: argparse.Namespace) -> None:
    """Refuse, before any work, what could not be written beside the report."""
    if args.talp:
        from rankwise.whole_files import check_free

        check_free(args.talp, args.force)
    if args.figures:
        from rankwise.report import figures

        figures.check(Path(args.figures), args.force)


def _write_others(
    args: argparse.Namespace, recording: Recording, report: ReportData, terminal: Terminal
) -> None:
    if args.talp:
        from rankwise.findings import talp

        talp.write(Path(args.talp), recording, report.efficiency)
        terminal.wrote(args.talp)
    if args.figures:
        from rankwise.report import figures

        for why in figures.write(Path(args.figures), report, recording):
            terminal.warning(why, "no-figure")
        terminal.wrote(args.figures)


def _check(args: argparse.Namespace, terminal: Terminal) -> int:
    from dataclasses import asdict

    from rankwise.recording.check import check

    if args.output or args.open:
        raise RankwiseError(
            "`--check` writes no report",
            f"leave `-o` and `--open` out: `rankwise report {args.recording} --check`",
        )
    files = check(Path(args.recording))
    damaged = any(file.state == "damaged" for file in files)
    if args.json:
        document = {"schema": "rankwise.check/1", "recording": args.recording, "damaged": damaged}
        terminal.json(document | {"files": [asdict(file) for file in files]})
        return int(damaged)
    width = max(len(file.file) for file in files)
    style = {"whole": "good", "damaged": "error", "not covered": "warning"}
    for file in files:
        state = terminal.paint_out(style[file.state], file.state.ljust(len("not covered")))
        first, *others = file.details or ("",)
        terminal.result(f"{file.file:<{width}}  {state}  {first}".rstrip())
        for detail in others:
            terminal.result(" " * (width + len("  not covered  ")) + detail)
    if not damaged:
        terminal.next(f"rankwise report {shlex.quote(args.recording)}")
    return int(damaged)


def _output(args: argparse.Namespace, terminal: Terminal) -> Path | None:
    """Where the HTML goes; nowhere by default of what is no directory."""
    from rankwise.cli import report_page
    from rankwise.report import files

    if not args.output and not Path(args.recording).is_dir():
        return None
    return report_page.place(args, files.default_path(Path(args.recording), args.job), terminal)


def _next(args: argparse.Namespace, recording: Recording, report: ReportData) -> str | None:
    """Of the first finding; else what tells more of this recording. `None` where nothing does."""
    if report.findings:
        first = report.findings[0]
        return first.command or f"rankwise explain {first.name}"
    if report.program.world_size == 1:
        return None
    again = report.program.command and not (recording.in_lab or recording.generated)
    if report.pair_waits is None and again:
        return shlex.join(["rankwise", "record", "--trace", "--exact-times", "--", *report.program.command])
    if not args.machine:
        return f"rankwise measure -- mpiexec -n {report.program.world_size}"
    if len(report.program.hosts) > 1:
        return f"rankwise place {shlex.quote(args.recording)} --machine {shlex.quote(args.machine)}"
    return None
