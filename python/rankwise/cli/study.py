# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise study`: experiments of the papers, on anything."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.study.catalogue import Study
    from rankwise.study.program import StudyProgram
    from rankwise.study.request import Request
    from rankwise.study.result import StudyList, StudyResult

HELP = "repeat an experiment of a paper, predicted or measured, with its figures"
COMMAND = "LAUNCHER"
_MODES = ("machine", "lab", "cluster")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json

    parser.usage = "%(prog)s [NAME] [OPTIONS] [-- LAUNCHER]"
    parser.epilog = (
        "Without NAME, all studies are listed. If a study was interrupted, the same\n"
        "command goes on with what is in its directory.\n"
        "  rankwise study message-distribution\n"
        '  rankwise study allocation --app "cg --class A" --on machine site.machine.toml\n'
        "  rankwise study network-sharing --on cluster --part 2/8 -- srun -n 64"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="the study, such as levels; without it all are listed"
    )
    on = (
        "machine FILE ...: predict for these machine files (default: those of the paper); lab [NAME]: measure "
        "in a lab; cluster: measure with the launcher behind `--`"
    )
    parser.add_argument("--on", nargs="+", metavar="WHERE", help=on)
    app = "program instead of the study's own: a workload such as cg.A, a recording, or a command; may be given again"
    parser.add_argument("--app", action="append", default=[], metavar="PROGRAM", help=app)
    parser.add_argument("--ranks", type=int, metavar="N", help="number of ranks instead of the study's own")
    part = (
        "measure only the cases K, K+N, K+2N, ...: element K of a job array of N. At the end, run the command once "
        "without --part: it puts all together"
    )
    parser.add_argument("--part", metavar="K/N", help=part)
    files = parser.add_argument_group("files")
    files.add_argument("-o", "--output", metavar="DIR", help="directory of the result; default NAME.study")
    files.add_argument("--markdown", metavar="FILE", help="also write the page as Markdown")
    files.add_argument("--no-files", action="store_true", help="write no files")
    add_json(files)


def run(args: argparse.Namespace) -> int:
    """List the studies, or make one."""
    from rankwise.cli.terminal import Terminal
    from rankwise.study.catalogue import study
    from rankwise.study.run.outcomes import PartDoneError

    terminal = Terminal(args)
    if not args.name:
        return _list(terminal)
    chosen = study(args.name)
    request = _request(args)
    if request.mode not in chosen.modes:
        on = " or ".join(f"`--on {mode}`" for mode in chosen.modes)
        raise RankwiseError(
            f"the study `{chosen.name}` is made with {on}", f"`rankwise study {chosen.name}`", status=2
        )
    for option, given in (("--app", args.app), ("--ranks", args.ranks)):
        if given and option not in chosen.takes:
            raise RankwiseError(
                f"the study `{chosen.name}` takes no `{option}`", f"`rankwise study {chosen.name}`", status=2
            )
    _check_outputs(args)
    try:
        result = _made(chosen, request, terminal)
    except PartDoneError as done:
        terminal.note(f"{done.message}; {done.hint}")
        return 0
    _show(terminal, result, args)
    return 0


def _made(chosen: Study, request: Request, terminal: Terminal) -> StudyResult:
    """The study; what it measures is said line by line, what it predicts in one line of a terminal."""
    from dataclasses import replace

    if request.mode != "machine":
        return chosen.run(replace(request, progress=lambda doing, share=0.0: terminal.note(doing)))
    with terminal.progress(f"study {chosen.name}, percent", 100) as update:
        return chosen.run(
            replace(request, progress=lambda doing, share=0.0: update(round(100 * share), doing))
        )


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before anything is made, files that could not be written afterwards."""
    import os

    wanted = [] if args.no_files else [Path(args.output or f"{args.name}.study")]
    for path in [*wanted, *([Path(args.markdown)] if args.markdown else [])]:
        place = path if path.is_dir() else path.parent
        if not os.access(place, os.W_OK):
            reason = "cannot be written" if place.is_dir() else "does not exist"
            raise RankwiseError(f"the directory `{place}` {reason}", "choose another one")


def _list(terminal: Terminal) -> int:
    from rankwise.study.catalogue import names, study
    from rankwise.study.result import StudyList, StudyListed

    studies = [study(name) for name in names()]
    if terminal.as_json:
        listed = [
            StudyListed(s.name, s.summary, list(s.claims), list(s.modes), list(s.takes)) for s in studies
        ]
        _print_json(terminal, StudyList(listed))
        return 0
    for each in studies:
        terminal.result(f"{each.name}\n    {each.summary}")
    terminal.next(f"rankwise study {studies[0].name}")
    return 0


def _request(args: argparse.Namespace) -> Request:
    from rankwise.study.request import Request

    mode, *where = args.on or ["machine"]
    if mode not in _MODES:
        hint = f"`--on machine {mode}`" if mode.endswith(".toml") else f"one of {', '.join(_MODES)}"
        raise RankwiseError(f"`--on {mode}` is not known", hint, status=2)
    if mode != "machine" and len(where) > (mode == "lab"):
        raise RankwiseError(f"`--on {mode}` takes no `{where[-1]}`", f"`--on {mode}`", status=2)
    if args.part is not None and mode == "machine":
        raise RankwiseError(
            "`--part` goes with what is measured", "`--on cluster` or `--on lab`, or leave it out", status=2
        )
    if args.command and mode != "cluster":
        raise RankwiseError("a launcher goes with `--on cluster`", "`--on cluster -- srun -n 64`", status=2)
    if args.ranks is not None and args.ranks < 1:
        raise RankwiseError(f"`--ranks {args.ranks}` is no number of ranks", "`--ranks 16`", status=2)
    directory = Path(args.output or f"{args.name}.study")
    if directory.exists() and not directory.is_dir():
        raise RankwiseError(f"`{directory}` is no directory", "choose another one with `-o`")
    return Request(
        mode=mode,
        machines=tuple(map(Path, where)) if mode == "machine" else (),
        programs=_programs(args.app),
        ranks=args.ranks,
        directory=None if args.no_files else directory,
        part=_part(args.part),
        launcher=tuple(args.command or ()),
        lab=where[0] if mode == "lab" and where else None,
    )


def _programs(texts: list[str]) -> tuple[StudyProgram, ...]:
    """Those asked for, each by a name of its own."""
    from collections import Counter
    from dataclasses import replace

    from rankwise.study.program import parse_program

    programs = [parse_program(text) for text in dict.fromkeys(texts)]
    often = Counter(each.label for each in programs)
    named = zip(programs, dict.fromkeys(texts), strict=True)
    return tuple(replace(each, label=text) if often[each.label] > 1 else each for each, text in named)


def _part(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if not match or int(match[1]) > int(match[2]):
        raise RankwiseError(
            f"`{text}` is no part of a study", "`--part 2/8` is the second of eight", status=2
        )
    return int(match[1]), int(match[2])


def _print_json(terminal: Terminal, document: StudyResult | StudyList) -> None:
    """With its schema first."""
    import msgspec

    plain = msgspec.to_builtins(document)
    terminal.json({"schema": plain.pop("schema"), **plain})


def _show(terminal: Terminal, result: StudyResult, args: argparse.Namespace) -> None:
    import io
    import sys

    from rich.console import Console

    from rankwise import whole_files
    from rankwise.cli.terminal import wants_colour
    from rankwise.study.show import figure, files, markdown, text

    if terminal.as_json:
        _print_json(terminal, result)
    else:
        made = io.StringIO()
        console = Console(
            file=made, width=80, force_terminal=wants_colour(sys.stdout, terminal.color), highlight=False
        )
        for each in text.render(result):
            console.print(each)
        terminal.rendered(made.getvalue().rstrip("\n"))
    if not args.no_files:
        directory = Path(args.output or f"{args.name}.study")
        for path in files.write(result, directory)[:1]:
            terminal.wrote(path)
        if result.figures and not figure.is_possible():
            terminal.note("no SVG was drawn: `pip install 'rankwise[figures]'`")
    if args.markdown:
        whole_files.write(Path(args.markdown), markdown.render(result).encode())
        terminal.wrote(args.markdown)
