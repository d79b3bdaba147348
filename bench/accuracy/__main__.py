# SPDX-License-Identifier: BSD-3-Clause
"""`python -m accuracy`: predictions of many programs against runs, every number fixed before the first run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import command
import msgspec

from accuracy import cases, described, page
from accuracy.result import PREDICTORS, ValidationResult, evaluate
from accuracy.state import Options, State
from accuracy.validation import Validation, context, find_launcher
from rankwise.cli.lab_validate import UNFINISHED, add_state, begin, go_on, refuse_others
from rankwise.cli.parsing import add_json, add_output
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError
from rankwise.lab.rate import parse_rate
from rankwise.lab.up import plan_lab
from rankwise.lab.validation import placements
from rankwise.lab.validation.validation import LAB_NAME
from rankwise.launchers.identify import identify

_DEFAULTS = {"nodes": 4, "cores": 4, "seed": 1}
_FULL = {"placements": 8, "repetitions": 5, "rates": "10mbit,20mbit"}
_QUICK = {"placements": 4, "repetitions": 3, "rates": "200mbit"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; those of the plan have no default, so that `--resume` sees what was given."""
    plan = parser.add_argument_group("what is validated (fixed when a validation begins)")
    plan.add_argument("--nodes", type=int, metavar="N", help="nodes of the lab; default 4")
    plan.add_argument("--cores", type=int, metavar="N", help="cores of each; default 4")
    plan.add_argument(
        "--rates", metavar="A,B,...", help="of each interface; default 10mbit,20mbit, one with --quick"
    )
    plan.add_argument("--ranks", metavar="A,B,...", help="default as many as cores, and half as many")
    plan.add_argument(
        "--mpi", choices=("mpich", "openmpi"), help="default mpich; `-- mpiexec` names the launcher"
    )
    plan.add_argument(
        "--cases", metavar="A,B,...", help="lj, chain, rhodo, hpl, cg, ft, mg, halo, transpose; default all"
    )
    plan.add_argument(
        "--programs", metavar="FILE.toml", help="programs that this file describes (held_out.toml), instead"
    )
    plan.add_argument(
        "--frozen",
        metavar="COMMIT",
        help="these programs are held out: none was ever run against a prediction of a version before it",
    )
    plan.add_argument("--placements", type=int, metavar="N", help="of each case; default 8, 4 with --quick")
    plan.add_argument("--repetitions", type=int, metavar="N", help="of each run; default 5, 3 with --quick")
    plan.add_argument(
        "--machine", metavar="FILE", help="measured before in such a lab; default: measured now"
    )
    plan.add_argument("--seed", type=int, metavar="N", help="of random placements and searches; default 1")
    quick = "two cases, four placements, a machine file measured in 12 s: a check that it works"
    plan.add_argument("--quick", action="store_true", help=quick)
    add_state(parser, "default none")
    also = "show this validation in FILE too, or those of an earlier FILE.json.gz that are not made anew; repeatable"
    parser.add_argument("--also", action="append", default=[], metavar="DIR|FILE.json.gz", help=also)
    add_output(parser, "write the page, with its figure and all results beside it", metavar="FILE.md")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Validate as far as the window allows; say what came out until then."""
    terminal = Terminal(args)
    also = [
        page.read_results(Path(each)) if each.endswith(page.RESULTS) else State.resume(Path(each))
        for each in args.also
    ]
    if args.output:
        page.check(Path(args.output), args.force)
    state = begin(args, State, _options, _check_same, context)
    if args.tolerate is not None:
        for each in (state, *also):
            if isinstance(each, State):
                each.tolerated = args.tolerate
    finished = evaluate(state).complete
    if not finished or args.machine:
        finished = go_on(args, terminal, Validation(state, terminal.note, args.window), finished)

    document = evaluate(state)
    state.write_result(document)
    shown = [document, *(evaluate(each) for each in also if isinstance(each, State))]
    earlier = [each for results in also if not isinstance(results, State) for each in results]
    documents = page.renewed(earlier, shown)
    if args.output and any(each.cases for each in documents):
        for path in page.write(Path(args.output), documents):
            terminal.wrote(path)
    _tell(terminal, document)
    if not finished:
        made = sum(
            len(each.measured.times_s) for case in document.cases for each in case.placements if each.measured
        )
        terminal.note(f"not finished: {made} runs measured, {len(state.missing())} planned runs missing")
        terminal.next(f"python -m accuracy --resume --state {args.state}")
        return UNFINISHED
    return 1 if document.failures else 0


def _options(args: argparse.Namespace) -> Options:
    """What is asked for, checked before anything is made."""
    sizes = _DEFAULTS | (_QUICK if args.quick else _FULL)

    def chosen(name: str):
        given = getattr(args, name)
        return sizes[name] if given is None else given

    launcher = find_launcher(args.mpi or _family(args.command), args.command or [])
    cores = chosen("nodes") * chosen("cores")
    ranks = (cores,) if args.quick else tuple(sorted({max(cores // 2, 2), cores}))
    known = described.load(Path(args.programs)) if args.programs else ()
    names = tuple(each.name for each in known)
    usual = names or (cases.QUICK if args.quick else cases.NAMES)
    missing = described.missing(known, launcher) if known else cases.missing(launcher)
    options = Options(
        nodes=chosen("nodes"),
        cores=chosen("cores"),
        rates_bytes_per_s=_rates(chosen("rates")),
        ranks=ranks if args.ranks is None else _numbers(args.ranks),
        mpi=launcher.family,
        launcher=launcher.path,
        programs=_names(args.cases, tuple(name for name in usual if name not in missing)),
        not_run={name: missing[name] for name in usual if name in missing and args.cases is None},
        placements=chosen("placements"),
        repetitions=chosen("repetitions"),
        seed=chosen("seed"),
        quick=args.quick,
        described=known,
        frozen=args.frozen or "",
    )
    cases.check_names(options.programs, names or cases.NAMES)
    placements.check_count(options.placements)
    if options.repetitions < 1:
        raise RankwiseError(
            f"`{options.repetitions}` repetitions measure nothing",
            "6 give intervals of 95 %: `--repetitions 6`",
        )
    for rate in options.rates_bytes_per_s:
        plan_lab(LAB_NAME, options.nodes, options.cores, rate)
    wrong = [each for each in options.ranks if not 2 <= each <= cores]
    if wrong:
        raise RankwiseError(
            f"`{wrong[0]}` ranks cannot be placed in a lab of {cores} cores, a core each",
            f"2 to {cores} ranks, for example `--ranks {cores}`",
        )
    return options


def _names(text: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if text is None else tuple(text.split(","))


def _rates(text: str) -> tuple[float, ...]:
    return tuple(dict.fromkeys(map(parse_rate, text.split(","))))


def _numbers(text: str) -> tuple[int, ...]:
    if not all(each.isdecimal() for each in text.split(",")):
        raise RankwiseError(f"`{text}` is not a list of numbers of ranks", "for example `--ranks 8,16`")
    return tuple(dict.fromkeys(map(int, text.split(","))))


def _family(command: list[str] | None) -> str:
    launcher = identify(command[0]) if command else None
    return (launcher.family if launcher else None) or "mpich"


def _check_same(args: argparse.Namespace, options: Options) -> None:
    """Refuse options of the plan that are not those the validation began with."""
    alike = ("nodes", "cores", "mpi", "placements", "seed")
    given = {f"--{name}": (getattr(args, name), getattr(options, name)) for name in alike}
    # More of them are as good as planned from the beginning; what was run is not taken back.
    fewer = args.repetitions if (args.repetitions or 0) < options.repetitions else None
    given["--repetitions"] = (fewer, options.repetitions)
    given["--cases"] = (_names(args.cases, ()) or None, options.programs)
    given["--rates"] = (_rates(args.rates) if args.rates is not None else None, options.rates_bytes_per_s)
    given["--ranks"] = (_numbers(args.ranks) if args.ranks is not None else None, options.ranks)
    given["--quick"] = (True if args.quick else None, options.quick)
    refuse_others(args.state, given)


def _tell(terminal: Terminal, document: ValidationResult) -> None:
    if terminal.as_json:
        terminal.json(msgspec.to_builtins(document))
        return
    for case in document.cases:
        terminal.result(f"{case.name}: {case.title}")
        terminal.table(("placement", "measured", "interval", "predicted", "interval", "error"), _rows(case))
        terminal.result("")
    rows = [_summary(title, found) for by, title in PREDICTORS.items() if (found := getattr(document, by))]
    terminal.table(("", "pairs ordered", "median error", "worst error", "covered"), rows)
    for invalid in document.invalid:
        terminal.result(f"not valid: {invalid}")
    for failure in document.failures:
        terminal.result(f"failed: {failure}")
    for rate, sha256 in document.machine_sha256.items():
        terminal.result(f"machine file of {rate}: SHA-256 {sha256}")


def _rows(case) -> list[tuple]:
    def spread(low: float, high: float) -> str:
        return f"{low:.3f} - {high:.3f}"

    return [
        (
            each.name,
            f"{each.measured.median_s:.3f} s"
            if each.measured
            else ("failed" if each.failures else "none counts"),
            spread(each.measured.low_s, each.measured.high_s) if each.measured else None,
            f"{each.predicted_s:.3f} s",
            spread(each.low_s, each.high_s),
            _percent(each.error, signed=True),
        )
        for each in case.placements
    ]


def _summary(name: str, summary) -> tuple:
    return (
        name,
        f"{summary.ordered} of {summary.pairs}",
        _percent(summary.median_error),
        _percent(summary.worst_error, signed=True),
        f"{summary.covered} of {summary.to_cover}" if summary.covered is not None else None,
    )


def _percent(value: float | None, signed: bool = False) -> str | None:
    return None if value is None else f"{100 * value:{'+' if signed else ''}.1f} %"


if __name__ == "__main__":
    sys.exit(
        command.main("accuracy", "Predictions against measured runs of many programs.", add_arguments, run)
    )
