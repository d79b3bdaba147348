# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise lab validate -- ./app args`: whether predictions are right about one program."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.lab.validation.own_program import InLab
    from rankwise.lab.validation.result import ValidationResult
    from rankwise.lab.validation.state import Options, State
    from rankwise.lab.validation.validation import Validation

    AnyState = TypeVar("AnyState", bound=State)

# A window was over before all runs were made: the same command with `--resume` goes on (EX_TEMPFAIL).
UNFINISHED = 75
_RATE = "20mbit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this action; those of the plan have no default, so that `--resume` sees what was given."""
    from rankwise.cli.parsing import add_json, add_output

    own = "run on these hosts: a launch line without the program, such as 'mpiexec -n 64 -hosts n01,n02'"
    parser.add_argument("--on", metavar="LINE", help=own + "; default: in a lab")
    plan = parser.add_argument_group("what is validated (fixed when a validation begins)")
    plan.add_argument("--nodes", type=int, metavar="N", help="number of nodes of the lab; default 4")
    plan.add_argument("--cores", type=int, metavar="N", help="number of cores of each node; default 4")
    plan.add_argument("--rate", metavar="RATE", help=f"rate of each node's interface; default {_RATE}")
    plan.add_argument("--ranks", metavar="N", help="number of ranks; default: one for each core")
    plan.add_argument(
        "--mpi", choices=("mpich", "openmpi"), help="MPI library of the program, if Rankwise does not find it"
    )
    plan.add_argument("--placements", type=int, metavar="N", help="number of placements; default 6")
    plan.add_argument(
        "--repetitions",
        type=int,
        metavar="N",
        help="runs of each placement; default 5, or fewer if time is short",
    )
    plan.add_argument(
        "--machine", metavar="FILE", help="machine file of these nodes; default: measure one now"
    )
    plan.add_argument(
        "--seed", type=int, metavar="N", help="where random placements and searches start; default 1"
    )
    plan.add_argument("--quick", action="store_true", help="measure the machine in 12 s only")
    add_state(parser, "default 5min")
    add_output(parser, "also write the result as a page", metavar="FILE.md")
    add_json(parser)


def add_state(parser: argparse.ArgumentParser, window: str) -> None:
    """Add the options that say where a validation is kept, and how far it goes; `window` says the default of one."""
    from rankwise.cli.parsing import seconds, share

    parser.add_argument(
        "--state",
        default="validation",
        metavar="DIR",
        help="directory for everything that was measured; default ./validation",
    )
    parser.add_argument("--resume", action="store_true", help="go on with the validation in DIR")
    parser.add_argument(
        "--window",
        type=seconds,
        metavar="TIME",
        help=f"start no run after this time; exit status {UNFINISHED} if runs are missing; {window}",
    )
    tolerate = "repeat a run if others used more than this share of the machine meanwhile; default 0.05"
    parser.add_argument("--tolerate", type=share, metavar="SHARE", help=tolerate)


def run(args: argparse.Namespace) -> int:
    """Validate as far as the window allows; the verdict comes first."""
    import msgspec

    from rankwise.cli.terminal import Terminal
    from rankwise.lab.validation import own_program, validation, verdict
    from rankwise.lab.validation.result import evaluate
    from rankwise.lab.validation.state import State

    terminal = Terminal(args)
    _check(args)
    if args.output:
        _check_page(Path(args.output), args.force, verdict.MARK)
    state = begin(args, State, _options, _check_same, validation.context)
    if args.tolerate is not None:
        state.tolerated = args.tolerate
    window_s = own_program.WINDOW_S if args.window is None else args.window
    finished = go_on(args, terminal, _validation(args, terminal, state, window_s), evaluate(state).complete)
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
        terminal.next(f"rankwise lab validate --resume --state {args.state}")
        return UNFINISHED
    return 1 if document.failures else 0


def begin(
    args: argparse.Namespace,
    kind: type[AnyState],
    options_of: Callable[[argparse.Namespace], Options],
    check_same: Callable[[argparse.Namespace, Options], None],
    context: Callable[[], dict[str, str | int]],
) -> AnyState:
    """The validation in `--state`, to go on with, or a new one there with these options."""
    from rankwise.lab.validation import validation

    directory = Path(args.state)
    if args.resume:
        state = kind.resume(directory)
        check_same(args, state.plan.options)
        state.repeat_more(args.repetitions or 0)
        return state
    options = options_of(args)
    if args.machine and not options.on:
        validation.check_machine(Path(args.machine), options)
    return kind.create(directory, options, context())


def go_on(args: argparse.Namespace, terminal: Terminal, validation: Validation, finished: bool) -> bool:
    """Make what is missing as far as the window allows; returns whether all is there."""
    from rankwise.lab.own_lab import remove_orphans
    from rankwise.lab.state import remove_dead

    remove_dead()
    remove_orphans()
    if args.machine:
        validation.take_machine(Path(args.machine))
    if finished:
        return True
    with terminal.progress("measured runs", 1000) as update:
        return validation.go_on(
            lambda done, total: update(1000 * done // max(total, 1), f"{done} of {total}")
        )


def refuse_others(state: str, given: Mapping[str, tuple[object, object]]) -> None:
    """Raise if what was given of an option, and is not `None`, is not what the validation began with."""
    for option, (value, before) in given.items():
        if value is not None and value != before:
            raise RankwiseError(
                f"`{option}` is another than the validation in `{state}` began with",
                "leave it out, or begin another validation with `--state`",
            )


def _validation(args: argparse.Namespace, terminal: Terminal, state: State, window_s: float) -> InLab:
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


def _check_program(words: list[str]) -> None:
    """Refuse a launch line, which says nothing of a lab, and no program at all."""
    if not words:
        raise RankwiseError(
            "no program to validate", "put it after `--`: `rankwise lab validate -- ./app args`"
        )
    from rankwise.cli.parsing import LAUNCHER

    if not LAUNCHER.match(os.path.basename(words[0])):
        return
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


def _options(args: argparse.Namespace) -> Options:
    """What is asked for, checked before anything is made."""
    from rankwise.lab.choose_mpi import choose_launcher
    from rankwise.lab.launch import check_launcher
    from rankwise.lab.rate import parse_rate
    from rankwise.lab.up import plan_lab
    from rankwise.lab.validation import own_program, placements, validation
    from rankwise.lab.validation.state import Options
    from rankwise.launchers import parse
    from rankwise.launchers.detect import find_program, mpi_of
    from rankwise.launchers.secrets import masked

    words = args.command or []
    _check_program(words)
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
    nodes, cores = args.nodes or 4, args.cores or 4
    ranks = _ranks(args.ranks, nodes * cores)
    program = find_program(words[0])
    launcher = choose_launcher(program, mpi_of(program, words[0]), args.mpi)
    check_launcher(launcher)
    rate = parse_rate(_RATE if args.rate is None else args.rate)
    plan_lab(validation.LAB_NAME, nodes, cores, rate)
    return Options(
        nodes, cores, (rate,), (ranks,), launcher.family or "mpich", launcher.path or launcher.word, **alike
    )


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
    """Refuse options that are about a lab where there is none."""
    if args.on is None:
        return
    names = ("nodes", "cores", "rate", "ranks", "mpi", "tolerate")
    given = next((name for name in names if getattr(args, name) is not None), None)
    if given:
        raise RankwiseError(f"`--{given}` is about a lab, and `--on` names a cluster", "leave one out")


def _check_same(args: argparse.Namespace, options: Options) -> None:
    """Refuse another program or plan than the validation began with."""
    from rankwise.launchers.secrets import MASK, masked

    given = {
        "-- COMMAND": (tuple(masked(args.command)) if args.command else None, options.command),
        "--on": (tuple(shlex.split(args.on)) if args.on is not None else None, options.on),
        "--placements": (args.placements, options.placements),
        "--seed": (args.seed, options.seed),
    }
    if args.on is None and not options.on:
        given |= {"--nodes": (args.nodes, options.nodes), "--cores": (args.cores, options.cores)}
    refuse_others(args.state, given)
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


def _tell(terminal: Terminal, document: ValidationResult) -> None:
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
