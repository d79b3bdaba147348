# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict`: how long a program would run on a machine, with the ranks placed differently."""

from __future__ import annotations

import argparse
from shlex import quote
from typing import TYPE_CHECKING

from rankwise.cli.predict_cases import Case, label, machine_used, make_case, named_machines
from rankwise.cli.predict_checks import (
    check,
    counts_only,
    in_windows,
    say_partial,
    say_unused,
    warn_of_disturbed,
    warn_of_model_error,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankwise.cli.predict_document import Outcome
    from rankwise.cli.terminal import Terminal
    from rankwise.machine.placement import Placement
    from rankwise.replay.sweep import Sweep
    from rankwise.schedule.source import Source

HELP = "predict the time of a program on a machine, for any placement"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from dataclasses import fields

    from rankwise.cli.parsing import add_json, add_plain, add_replays, flops_per_s, size_bytes
    from rankwise.replay.switches import Switches

    read = (
        "a recording (with --trace, else a coarse estimate), GOAL text or binary, a trace of SimGrid or OTF2"
    )
    parser.add_argument("input", metavar="REC|FILE", help=read)
    repeat = "may be given again to compare"
    parser.add_argument(
        "--machine", "-m", action="append", default=[], metavar="FILE", help=f"machine file; {repeat}"
    )
    plain = "instead of a machine: plain LogGOPS, for example L=2us,o=1us,g=0,G=0.1ns/B,O=0,S=64KiB"
    parser.add_argument("--loggops", metavar="K=V,...", help=plain)
    parser.add_argument(
        "--placement", action="append", default=[], metavar="FILE", help=f"placement; {repeat}"
    )
    parser.add_argument(
        "--nodes",
        metavar="N|PxQ|HOSTS",
        help="use N of the nodes, P nodes with Q ranks each, or these hosts; "
        "default: as many as the program ran on, else as many as the ranks need",
    )
    allocation = f"blocked, cyclic or plane=K; {repeat}"
    parser.add_argument("--allocation", action="append", default=[], metavar="HOW", help=allocation)
    setting = "change a number of the machine, such as network.G=0.1ns/B; may be given again"
    parser.add_argument("--set", action="append", default=[], metavar="T.K=V", help=setting)
    sweep = "predict for a range of a number, such as network.L=1us..100us:21,log"
    parser.add_argument("--sweep", metavar="T.K=A..B", help=sweep)
    parser.add_argument("--plot", metavar="FILE", help="draw what --sweep finds: .svg, .png or .pdf")
    perfetto = "write a timeline for ui.perfetto.dev (Chrome trace JSON)"
    parser.add_argument("--perfetto", metavar="FILE", help=perfetto)
    choices = [part.name.replace("_", "-") for part in fields(Switches)]
    without = "leave out a part of the model: " + ", ".join(choices)
    parser.add_argument(
        "--without", action="append", default=[], choices=choices, metavar="PART", help=without
    )
    parser.add_argument(
        "--no-losses",
        action="store_true",
        help="do not find out what each part of the machine costs",
    )
    bound = (
        "part of the computation that waits for memory, 0 to 1: 0.3, or 0.3,4-7=0.9 with another value for "
        "ranks 4 to 7"
    )
    parser.add_argument("--memory-bound", metavar="F,R=F", help=bound)
    add_replays(parser)
    add_plain(parser)
    library = (
        "MPI library whose collective algorithms are used: mpich, mpich2, cray, openmpi or openmpi-4; "
        "default: that of the recording"
    )
    parser.add_argument(
        "--library", choices=("mpich", "mpich2", "cray", "openmpi", "openmpi-4"), metavar="MPI", help=library
    )
    flops = "floating-point operations per second of a core, such as 2.5Gf; for SimGrid's traces, which count them"
    parser.add_argument("--flops", type=flops_per_s, metavar="RATE", help=flops)
    memory = (
        "memory for the replay; a larger schedule is replayed in windows, without timeline and critical "
        "path; default 2GiB"
    )
    parser.add_argument("--memory", type=size_bytes, metavar="SIZE", help=memory)
    goal = "also write the schedule as GOAL: text, or binary if it ends in .bin"
    parser.add_argument("--goal", metavar="FILE", help=goal)
    parser.add_argument(
        "-f", "--force", action="store_true", help="replace the files of --goal, --plot and --perfetto"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Predict, and say it."""
    from rankwise.cli.terminal import Terminal
    from rankwise.quantities import rounded
    from rankwise.schedule.source import MEMORY_BYTES, load, name_calls, write_goal
    from rankwise.schedule.untraced import UntracedRun

    terminal = Terminal(args)
    check(args)
    memory_bytes = MEMORY_BYTES if args.memory is None else args.memory
    source = load(args.input, args.library, args.flops, counts_suffice=True, memory_bytes=memory_bytes)
    say_partial(terminal, source)
    for what, count in source.omitted.items():
        terminal.warning(f"not replayed: {what} ({count})", "omitted")
    say_unused(args, terminal, source.kind)
    schedule = source.schedule
    if isinstance(schedule, UntracedRun):
        counts_only(args, terminal, schedule.computation_factor)
    if source.in_windows:
        in_windows(args, terminal, source)
    if args.goal:
        whole = source.whole(args.input, "`--goal`")
        if synchronous := whole.synchronous:
            terminal.warning(
                f"GOAL has no synchronous sends: {rounded(synchronous, 'send')} of MPI_Ssend or MPI_Issend "
                "will wait for their receive above the eager limit only",
                "goal-synchronous",
            )
        write_goal(whole, args.goal)
        terminal.wrote(args.goal)
    with name_calls(args.input):
        if args.loggops:
            _plain(args, terminal, source)
        elif args.machine:
            _on_machines(args, terminal, source)
    return 0


def _plain(args: argparse.Namespace, terminal: Terminal, source: Source) -> None:
    from rankwise.cli.predict_document import document
    from rankwise.cli.predict_show import show_plain
    from rankwise.replay.plain import LogGOPS, gains, predict_plain
    from rankwise.replay.switches import Switches

    schedule = source.whole(args.input, "`--loggops`")
    prediction = predict_plain(schedule, LogGOPS.parse(args.loggops))
    found = {} if args.no_losses else gains(schedule, prediction)
    _warn_of_ended_sends(terminal, [prediction.ended_sends])
    if terminal.as_json:
        terminal.json(document(args.input, source, [], Switches(), [], plain=(prediction, found)))
        return
    show_plain(terminal, source, prediction, found)
    terminal.next(f"rankwise predict {quote(str(args.input))} --machine M.machine.toml")


def _on_machines(args: argparse.Namespace, terminal: Terminal, source: Source) -> None:
    from dataclasses import replace

    from rankwise.cli.predict_document import document
    from rankwise.cli.predict_show import show, show_sweep
    from rankwise.explain.losses import count, losses
    from rankwise.replay.sweep import Sweep
    from rankwise.replay.switches import Switches

    switches = Switches(**{part.replace("-", "_"): False for part in args.without})
    cases = [make_case(path, name, args, source, switches) for path, name in named_machines(args.machine)]
    for case in cases:
        warn_of_disturbed(terminal, case.machine)
        warn_of_model_error(terminal, case.name, case.predictor.run, source.not_modelled)
    sweep = Sweep.parse(args.sweep, cases[0].machine) if args.sweep else None
    outcomes: list[Outcome] = []
    with terminal.progress("predicting", sum(len(case.placements) for case in cases)) as update:
        for case in cases:
            for name, placement in case.placements.items():
                outcomes.append(_predicted(args, case, name, placement))
                best = min(each.prediction.makespan_s for each in outcomes)
                update(len(outcomes), f"best {best:.6g} s")
    if not args.no_losses and not sweep:
        total = sum(count(each.predictor, each.prediction) for each in outcomes)
        with terminal.progress("what if it were free", total) as update:
            done = 0

            def one_more() -> None:
                nonlocal done
                done += 1
                update(done)

            outcomes = [
                replace(each, losses=losses(each.predictor, each.prediction, one_more)) for each in outcomes
            ]
    has_timeline = source.kind != "counts" and not source.in_windows
    if len(outcomes) == 1 and not sweep and has_timeline and (args.perfetto or not args.no_losses):
        outcomes = [_explained(args, terminal, outcomes[0])]
    swept = (sweep, _swept(terminal, sweep, cases, outcomes)) if sweep else None
    _warn_of_ended_sends(terminal, [each.prediction.ended_sends for each in outcomes])
    if args.plot and swept:
        from rankwise.cli.predict_plot import plot

        plot(args.plot, *swept, [label(each, cases) for each in outcomes])
        terminal.wrote(args.plot)
    if terminal.as_json:
        machines = [
            machine_used(case, source, path, args.set) for case, path in zip(cases, args.machine, strict=True)
        ]
        terminal.json(document(args.input, source, machines, switches, outcomes, swept))
        return
    if swept:
        show_sweep(terminal, source, *swept, [label(each, cases) for each in outcomes])
    else:
        show(terminal, source, outcomes, {case.name: case.predictor for case in cases})
    _say_notes(terminal, source, cases)
    _say_left_of_interfaces(args, terminal)
    words = f"{quote(str(args.input))} --machine {quote(str(args.machine[0]))}"
    if source.kind == "recording":
        terminal.next(f"rankwise place {words}")
    elif len(outcomes) == 1:
        # GOAL text has no messages table to search with.
        terminal.next(f"rankwise predict {words} --allocation blocked --allocation cyclic")


def _say_notes(terminal: Terminal, source: Source, cases: list[Case]) -> None:
    """What the reader should know of the machines, after the results."""
    from rankwise.machine.placement import fits

    for case in cases:
        for name, placement in case.placements.items():
            if placement.partial:
                terminal.note(f"{name} was searched for a part of a run: {placement.partial[0]}")
        if case.not_as_recorded:
            terminal.note(f"{', '.join(case.placements)} and not as recorded: {case.not_as_recorded}")
    if not_modelled := sorted({name for case in cases for name in case.predictor.not_modelled}):
        terminal.note(f"resources of the machine file that are not modelled: {', '.join(not_modelled)}")
    for case in cases if source.kind == "recording" else []:
        if case.predictor.slows_computation and not fits(source.recorded, case.topology):
            terminal.note(f"not recorded on nodes of `{case.name}`: computation is taken to have been alone")


def _say_left_of_interfaces(args: argparse.Namespace, terminal: Terminal) -> None:
    """What a changed interface leaves as it was measured through the old one."""
    from rankwise.machine.file import load
    from rankwise.machine.overrides import changes_interfaces

    if args.set and any(changes_interfaces(load(path), args.set) for path in args.machine):
        terminal.note(
            "the network's G follows the changed interface; its latency, overheads and the processor's time for bytes "
            "are as measured through the old one (`--set network.L=...`)"
        )


def _warn_of_ended_sends(terminal: Terminal, sends: list[int]) -> None:
    """How many sends did not wait, in the prediction in which these were most."""
    from rankwise.schedule.omitted import ended_sends_text

    if most := max(sends, default=0):
        terminal.warning(ended_sends_text(most), "ended-sends")


def _predicted(args: argparse.Namespace, case: Case, name: str, placement: Placement) -> Outcome:
    """A prediction with its interval, ties served in an order that names of ranks do not change, and in others."""
    from rankwise.cli.predict_document import Outcome
    from rankwise.explain.ties import ORDERS, tie_spread

    predictor, spread = case.predictor.in_canonical_order(placement), None
    prediction = predictor.predict_with_interval(placement)
    whole = not predictor.is_coarse and not predictor.in_windows
    if whole and not args.sweep and args.replays and placement.ranks > 1:
        spread = tie_spread(predictor, placement, prediction.makespan_s, min(ORDERS, args.replays))
    return Outcome(name, case.name, prediction, predictor, ties=spread)


def _explained(args: argparse.Namespace, terminal: Terminal, outcome: Outcome) -> Outcome:
    """The outcome with what its timeline says, which is written if that is wanted."""
    from dataclasses import replace
    from pathlib import Path

    from rankwise.explain import perfetto
    from rankwise.explain.critical_path import critical_path
    from rankwise.explain.explanation import explain
    from rankwise.explain.timeline import Timeline
    from rankwise.quantities import count_text, seconds_text

    placement = outcome.prediction.placement
    explanation = explain(outcome.predictor, placement)
    if args.perfetto:
        written = perfetto.write(Path(args.perfetto), Timeline.of(explanation), placement)
        terminal.wrote(args.perfetto)
        if written.left_out:
            terminal.note(
                f"{count_text(written.left_out)} slices shorter than {seconds_text(written.shortest_s)} are not in it"
            )
    return replace(outcome, waiting=explanation.waiting, path=critical_path(explanation))


def _swept(
    terminal: Terminal, sweep: Sweep, cases: list[Case], outcomes: Sequence[Outcome]
) -> list[list[float]]:
    """For each outcome its makespans over the values."""
    from rankwise.machine.overrides import apply

    machines = {case.name: case.machine for case in cases}
    times: list[list[float]] = [[] for _ in outcomes]
    with terminal.progress("sweeping", len(sweep.values) * len(times)) as update:
        for step, setting in enumerate(sweep.settings()):
            for at, each in enumerate(outcomes):
                machine = apply(machines[each.machine], [setting])
                predictor = each.predictor.variant(machine, each.predictor.switches)
                times[at].append(predictor.makespan_s(each.prediction.placement))
                update(step * len(times) + at + 1)
    return times
