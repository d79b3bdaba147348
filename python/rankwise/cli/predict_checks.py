# SPDX-License-Identifier: BSD-3-Clause
"""What of the options of `rankwise predict` does not go together, or not with what was read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.machine.machine import Machine
    from rankwise.replay.recorded_run import RecordedRun
    from rankwise.schedule.source import Source

_MUCH = 0.05  # of the ranks' time, in calls that are not modelled
FAR_OFF = 1.5  # times as long: said of the recorded run, and of computation without a trace
_EXAMPLE = "`rankwise predict app.rw --machine M.machine.toml`"


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before anything is read."""
    from rankwise.cli.kinds import check_kinds
    from rankwise.whole_files import check_free

    check_kinds("predict", args.input, args.machine, args.placement)

    of_machines = (
        "machine",
        "placement",
        "nodes",
        "allocation",
        "set",
        "sweep",
        "without",
        "perfetto",
        "memory_bound",
    )
    machine_options = [name.replace("_", "-") for name in of_machines if getattr(args, name)]
    if args.loggops and machine_options:
        raise RankwiseError(
            f"`--loggops` and `--{machine_options[0]}` exclude each other",
            "plain LogGOPS has one set of parameters and no machine",
            status=2,
        )
    if not args.machine and not args.loggops and not args.goal:
        raise RankwiseError("a machine is needed", _machines(args.input), status=2)
    if not args.machine and machine_options:
        raise RankwiseError(
            f"`--{machine_options[0]}` needs `--machine`", f"for example {_EXAMPLE}", status=2
        )
    if args.placement and (args.nodes or args.allocation):
        raise RankwiseError(
            "`--placement` and `--nodes` or `--allocation` exclude each other",
            "write the allocation to a file with `rankwise place`, then compare files",
            status=2,
        )
    if args.plot and not args.sweep:
        raise RankwiseError(
            "`--plot` draws what `--sweep` finds", "add `--sweep network.L=1us..100us`", status=2
        )
    several = max(map(len, (args.machine, args.placement, args.allocation))) > 1
    if args.perfetto and (args.sweep or several):
        raise RankwiseError(
            "`--perfetto` needs one prediction",
            "name one machine and one placement, and leave `--sweep` out",
            status=2,
        )
    for path in filter(None, (args.goal, args.plot, args.perfetto)):
        check_free(path, args.force, "use `--force` to replace it")
    if args.plot:
        from rankwise.cli import predict_plot

        predict_plot.check(args.plot)


def _machines(read: str) -> str:
    """How to come by a machine file, with one that ships."""
    from shlex import quote

    from rankwise.site_build import source_room

    measured = "`rankwise measure -o here.machine.toml -- mpiexec -n 2` measures one"
    try:
        shipped = sorted(source_room("machines").glob("*.machine.toml"))
    except RankwiseError:
        shipped = []
    if not shipped:
        return f"{measured}; then add `--machine here.machine.toml`"
    example = next((path for path in shipped if path.name.startswith("azure-hbv3")), shipped[0])
    return (
        f"{measured}; {len(shipped)} files of published machines are in `{example.parent}`: "
        f"`rankwise predict {quote(read)} --machine {quote(str(example))}`"
    )


def say_partial(terminal: Terminal, source: Source) -> None:
    """First of all, that nothing ran, or only a part of the run was recorded, and why."""
    if source.generated:
        terminal.warning(f"no program ran: this is {source.generated}", "generated")
    for line in dict.fromkeys(map(str, source.missing)):
        terminal.warning(line, "partial")


def say_unused(args: argparse.Namespace, terminal: Terminal, kind: str) -> None:
    """Options that change nothing for what was read, each with the reason."""
    goal, no_trace = (
        "GOAL has messages and times only",
        "without a trace there is no order of calls to replay",
    )
    timed = {
        "recording": "a recording has computation as times",
        "otf2": "an OTF2 trace has computation as times",
        "counts": "a recording has computation as times",
    }
    small = "only recordings are replayed in windows"
    unused = {
        "flops": {**timed, "goal": goal, "goal-binary": goal},
        "library": {"goal": goal, "goal-binary": goal, "counts": no_trace},
        "memory": {"goal": small, "goal-binary": small, "simgrid": small, "otf2": small, "counts": no_trace},
    }
    for option, reasons in unused.items():
        if getattr(args, option) is not None and kind in reasons:
            terminal.warning(f"`--{option}` changes nothing: {reasons[kind]}", "unused-option")


def counts_only(args: argparse.Namespace, terminal: Terminal, computation_factor: float) -> None:
    """A recording without trace: say how coarse that is, refuse what needs the order of calls."""
    again = "record it again with its trace: `rankwise record --trace -- ...`"
    for option in ("loggops", "goal", "perfetto", "memory_bound"):
        if getattr(args, option):
            named = option.replace("_", "-")
            raise RankwiseError(f"`{args.input}` has no trace, which `--{named}` needs", again)
    terminal.warning(
        "no trace was recorded: a coarse estimate from counts of messages, in which no rank waits for another",
        "no-trace",
        again,
    )
    if computation_factor > FAR_OFF:
        terminal.warning(
            "ranks waited for cores while they were recorded: how long they compute is only known to a factor of "
            f"{computation_factor:.1f}, which is the interval of the times",
            "shared-cores",
            "record it with a core for each rank, or with `--trace`",
        )


def in_windows(args: argparse.Namespace, terminal: Terminal, source: Source) -> None:
    """A trace that is replayed in windows: say so, refuse what needs the schedule as a whole."""
    from rankwise.quantities import bytes_text

    for option in ("loggops", "goal", "perfetto"):
        if getattr(args, option):
            source.whole(args.input, f"`--{option}`")
    terminal.note(
        f"the schedule would take about {bytes_text(source.whole_bytes)}: replayed in windows of the trace, "
        "without timeline and critical path"
    )


def warn_of_disturbed(terminal: Terminal, machine: Machine) -> None:
    """Say so where numbers of a machine were only timed while others used it."""
    from rankwise.machine.distrusted import distrusted

    if known := distrusted(machine):
        terminal.warning(
            f"others used `{machine.name}` while it was measured, so intervals are wider: {', '.join(known)}",
            "disturbed",
            "measure again when nothing else runs: `rankwise measure` with `--resume`",
        )


def warn_of_model_error(
    terminal: Terminal, machine: str, run: RecordedRun | None, not_modelled: dict[str, float]
) -> None:
    """Say so where the recorded run is far from what this machine is predicted to need for it."""
    from rankwise.quantities import share_text

    if run and run.factor > FAR_OFF:
        than = "as long as" if run.error < 0 else "as fast as"
        hint = (
            "was something else running when the machine was measured or the program recorded? "
            "record the run again, or measure again"
        )
        part = sum(not_modelled.values())
        if part > _MUCH:
            longest = ", ".join(f"`{call}`" for call in list(not_modelled)[:3])
            hint = f"calls that are not modelled took {share_text(part)} of the ranks' time, most of it {longest}"
        terminal.warning(
            f"the recorded run was {run.factor:.1f} times {than} its replay on {machine}",
            "model-error",
            hint,
        )
