# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab validate -- ./app args`: whether predictions are right about one program."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.validation.own_program import InLab, OnCluster
    from rankwise.lab.validation.result import Document
    from rankwise.lab.validation.state import Options, State

UNFINISHED = 75
RATE = "20mbit"
_LAUNCHER = re.compile(r"(mpiexec|mpirun|orterun|prterun|prun|srun)([.-].*)?$")


def is_asked(args: argparse.Namespace) -> bool:
    """Whether this validation is one of the user's own program.

    Raises:
        RankwiseError: A program follows a launcher, which says nothing of a lab.
    """
    from rankwise.lab.validation.state import State

    if args.on is not None:
        return True
    words = args.command or []
    if words and not _LAUNCHER.match(os.path.basename(words[0])):
        return True
    if len(words) > 1:
        from rankwise.launchers import parse

        line = parse(words)
        rest = [line.program, *line.segments[0].arguments] if line.program else ["./app"]
        launch = shlex.join(words[: len(words) - len(rest)] if line.program else words)
        ranks = f" --ranks {line.ranks}" if line.ranks else ""
        raise RankwiseError(
            f"`{words[0]}` starts the ranks of a cluster, those of a lab are started by the lab",
            f"in a lab: `rankwise lab validate{ranks} -- {shlex.join(rest)}`; on the cluster: "
            f'`rankwise lab validate --on "{launch}" -- {shlex.join(rest)}`',
        )
    return args.resume and not words and bool(State.resume(Path(args.state)).plan.options.command)


def run(args: argparse.Namespace) -> int:
    """Validate as far as the window allows; the verdict comes first."""
    import msgspec

    from rankwise.cli.lab_validate import begun
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.own_lab import remove_orphans
    from rankwise.lab.state import remove_dead
    from rankwise.lab.validation import own_program, verdict
    from rankwise.lab.validation.result import evaluate

    terminal = Terminal(args)
    _check(args)
    if args.output:
        _check_page(Path(args.output), args.force, verdict.MARK)
    directory = Path(args.state)
    state = begun(args, _check_same, _options)
    if args.tolerate is not None:
        state.tolerated = args.tolerate
    remove_dead()
    remove_orphans()
    window_s = own_program.WINDOW_S if args.window is None else args.window
    validation = _validation(args, terminal, state, window_s)
    if args.machine:
        validation.take_machine(Path(args.machine))
    finished = evaluate(state).complete
    if not finished:
        with terminal.progress("measured runs", 1000) as update:
            finished = validation.go_on(
                lambda done, total: update(1000 * done // max(total, 1), f"{done} of {total}")
            )
    document = evaluate(state)
    document = msgspec.structs.replace(document, verdict=verdict.sentence(document))
    state.write_result(document)
    _tell(terminal, document)
    if args.output and document.cases:
        from rankwise import whole_files

        whole_files.write(Path(args.output), verdict.page(document).encode(), "choose another file with `-o`")
        terminal.wrote(args.output)
    if not finished:
        terminal.note(f"not finished: {len(state.missing())} planned runs missing")
        terminal.next(f"rankwise lab validate --resume --state {directory}")
        return UNFINISHED
    return 1 if document.failures else 0


def _validation(
    args: argparse.Namespace, terminal: Terminal, state: State, window_s: float
) -> InLab | OnCluster:
    from rankwise.lab.validation import own_program

    options = state.plan.options
    kind = own_program.OnCluster if options.on else own_program.InLab
    return kind(
        state,
        terminal.note,
        window_s,
        own_program.traced_limit_s(window_s),
        words=tuple(args.command or options.command),
        fit=args.repetitions is None and not args.resume,
    )


def _options(args: argparse.Namespace) -> Options:
    """What is asked for, checked before anything is made."""
    from rankwise.lab.choose_mpi import choose_launcher
    from rankwise.lab.launch import check_launcher
    from rankwise.lab.rate import parse_rate
    from rankwise.lab.up import plan_lab
    from rankwise.lab.validation import own_program, placements, session
    from rankwise.lab.validation.state import Options
    from rankwise.launchers import parse
    from rankwise.launchers.detect import find_program, mpi_of
    from rankwise.launchers.secrets import masked

    words = args.command or []
    if not words:
        raise RankwiseError(
            "no program to validate", "put it after `--`: `rankwise lab validate -- ./app args`"
        )
    count = own_program.PLACEMENTS if args.placements is None else args.placements
    placements.check_count(count)
    repetitions = own_program.MOST_REPETITIONS if args.repetitions is None else args.repetitions
    if repetitions < 1:
        raise RankwiseError(f"`{repetitions}` repetitions measure nothing", "for example `--repetitions 5`")
    alike = {
        "programs": (own_program.short_name(words),),
        "placements": count,
        "repetitions": repetitions,
        "seed": 1 if args.seed is None else args.seed,
        "quick": args.quick,
        "command": tuple(masked(words)),
    }
    if args.on is not None:
        on = shlex.split(args.on)
        ranks = own_program.check_on(on, words)
        find_program(words[0])
        launcher = parse(on).launcher
        family = launcher.family or mpi_of(find_program(words[0]), words[0]).flavour
        return Options(
            0,
            0,
            (0.0,),
            (ranks,),
            "openmpi" if family == "openmpi" else "mpich",
            launcher.path or on[0],
            on=tuple(on),
            **alike,
        )
    program = find_program(words[0])
    launcher = choose_launcher(program, mpi_of(program, words[0]), args.mpi)
    check_launcher(launcher)
    nodes, cores = args.nodes or 4, args.cores or 4
    ranks = _ranks(args.ranks, nodes * cores)
    rate = parse_rate(RATE if args.rates is None else args.rates)
    plan_lab(session.LAB_NAME, nodes, cores, rate)
    return Options(nodes, cores, (rate,), (ranks,), launcher.family or "mpich", launcher.path, **alike)


def _ranks(text: str | None, cores: int) -> int:
    if text is None:
        return cores
    if not text.isdecimal() or not 2 <= int(text) <= cores:
        raise RankwiseError(
            f"`{text}` ranks of one program cannot be placed in a lab of {cores} cores, a core each",
            f"2 to {cores} ranks, for example `--ranks {cores}`",
        )
    return int(text)


def _check(args: argparse.Namespace) -> None:
    """Refuse options that are about the programs that Rankwise brings, or about a lab where there is none."""
    refused = {"--cases": args.cases, "--also": args.also or None}
    if args.on is not None:
        refused |= {
            "--nodes": args.nodes,
            "--cores": args.cores,
            "--rates": args.rates,
            "--ranks": args.ranks,
        }
        refused |= {"--mpi": args.mpi, "--tolerate": args.tolerate}
    given = next((option for option, value in refused.items() if value is not None), None)
    if given in ("--cases", "--also"):
        raise RankwiseError(
            f"`{given}` is about the programs that Rankwise brings, and one follows `--`", "leave one out"
        )
    if given:
        raise RankwiseError(f"`{given}` is about a lab, and `--on` names a cluster", "leave one out")


def _check_same(args: argparse.Namespace, options: Options) -> None:
    """Refuse another program or plan than the validation began with."""
    from rankwise.launchers.secrets import MASK, masked

    if not options.command:
        raise RankwiseError(
            f"the validation in `{args.state}` is of the programs that Rankwise brings",
            "leave the program out, or begin another validation with `--state`",
        )
    given = {
        "-- COMMAND": (tuple(masked(args.command)) if args.command else None, options.command),
        "--on": (tuple(shlex.split(args.on)) if args.on is not None else None, options.on),
        "--placements": (args.placements, options.placements),
        "--seed": (args.seed, options.seed),
    }
    if args.on is None and not options.on:
        given |= {"--nodes": (args.nodes, options.nodes), "--cores": (args.cores, options.cores)}
    for option, (value, before) in given.items():
        if value is not None and value != before:
            raise RankwiseError(
                f"`{option}` is another than the validation in `{args.state}` began with",
                "leave it out, or begin another validation with `--state`",
            )
    if not args.command and any(MASK in word for word in options.command):
        raise RankwiseError(
            f"the command is not kept whole in `{args.state}`, because of what looks like a secret",
            f"name it again: `rankwise lab validate --resume --state {args.state} -- ./app args`",
        )


def _check_page(path: Path, force: bool, mark: str) -> None:
    """Make sure that the page can be written, before anything is measured."""
    from rankwise import whole_files

    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise RankwiseError(f"`{path}` cannot be written", "name a file with `-o`, for example `-o page.md`")
    whole_files.refuse_special(path)
    if path.exists() and not force and mark not in path.read_text(encoding="utf-8", errors="replace"):
        raise RankwiseError(f"`{path}` exists and is not of such a page", "add `--force` to replace it")


def _tell(terminal: Terminal, document: Document) -> None:
    import msgspec

    from rankwise.lab.validation import verdict
    from rankwise.quantities import counted

    if terminal.as_json:
        terminal.json(msgspec.to_builtins(document))
        return
    terminal.result(document.verdict)
    for case in document.cases:
        if case.placements:
            terminal.result("")
            terminal.table(verdict.HEADS, verdict.rows(case))
    for failure in document.failures:
        terminal.result(f"failed: {failure}")
    if document.invalid:
        count = len(document.invalid)
        terminal.result(
            f"{counted(count, 'run')} that the lab does not let count; the first: {document.invalid[0]}"
        )
