# SPDX-License-Identifier: BSD-3-Clause
"""What the commands do, as functions; `rankwise` gives them to users (docs/python.md)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launch
from rankwise.machine import file as machine_file
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.nodes import with_absolute_paths
from rankwise.machine.placement import Placement, fits, misfit
from rankwise.machine.topology import Topology
from rankwise.placement import file as placement_file
from rankwise.placement.place import make_search, run_search, with_intervals
from rankwise.placement.search import Candidate
from rankwise.placement.usable import NodesWanted, usable_nodes
from rankwise.recording.recording import Recording
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor
from rankwise.report.data import ReportData
from rankwise.schedule import source as sources
from rankwise.schedule.source import Source, name_calls

PathName = str | os.PathLike[str]
DRAWS = 20
"""Replays for the interval of a prediction, unless something else is said."""


def load_machine(path: PathName) -> Machine:
    """Read a machine file, `NAME.machine.toml`.

    Paths of topologies in it are made absolute, so that the machine can be used from any directory.

    Raises:
        RankwiseError: It cannot be read or breaks the schema; the message names key and line.

    Example:
        >>> rankwise.load_machine("site.machine.toml").link_classes[0].channel
    """
    machine = machine_file.load(path)
    return msgspec.structs.replace(machine, node=with_absolute_paths(machine.node, Path(path).parent))


def predict(
    program: PathName | Source,
    machine: PathName | Machine,
    placement: PathName | Placement | None = None,
    *,
    draws: int = DRAWS,
    plain: bool = False,
) -> Prediction:
    """How long a program would run on a machine with its ranks placed: `rankwise predict`.

    Args:
        program: A recording `NAME.rw`, GOAL, a trace of SimGrid or OTF2, or what `load_program` gave of one.
        machine: A machine file, or what `load_machine` gave of one.
        placement: Where the ranks are, or a placement file; where they ran if `None`.
        draws: Replays for the interval, with the machine's numbers drawn from theirs; 0: no interval.
        plain: Times as replayed, also where the recorded run was on this machine and its time is known.

    Returns:
        Times in seconds, sizes in bytes; arrays over ranks have shape (ranks,), those of interfaces
        (nodes,), and of each of several (`by_interface`) (nodes, interfaces).

    Raises:
        RankwiseError: Something cannot be read, the placement does not fit the program or the machine, it is not known
            where the ranks ran, or they wait for each other for ever.

    Example:
        >>> rankwise.predict("app.rw", "site.machine.toml", "app.placement.json").makespan_s
    """
    source, known, topology = _read(program, machine)
    if placement is None:
        where = _recorded(source, topology)
    else:
        where = placement if isinstance(placement, Placement) else placement_file.load(placement)
    with name_calls(_name(program)):
        predictor = Predictor.of(source, known, topology, draws=draws, plain=plain)
        return predictor.predict_with_interval(where)


def place(
    recording: PathName,
    machine: PathName | Machine,
    *,
    nodes: int | None = None,
    objective: Literal["time", "network", "bytes"] = "time",
    budget_s: float = 10.0,
    seed: int = 1,
    draws: int = DRAWS,
) -> list[Candidate]:
    """Search for the placement of a program's ranks, one a core, that is best on a machine: `rankwise place`.

    Args:
        recording: `NAME.rw`, recorded with its trace.
        machine: A machine file, or what `load_machine` gave of one.
        nodes: How many of its nodes may be used; as many as it ran on, or as hold the ranks, if `None`.
        objective: What the best has least of: `time`, predicted; `network`, the time of the busiest network interface;
            `bytes`, the bytes between nodes.
        budget_s: Seconds for the search.
        seed: Of the search.
        draws: As of `predict`.

    Returns:
        Placements with their `name`, `placement` and `prediction`: simple ones, `current` where the program ran, and
        last the best.

    Raises:
        RankwiseError: Something cannot be read, or the nodes do not hold the ranks.

    Example:
        >>> best = rankwise.place("app.rw", "site.machine.toml")[-1]
        >>> rankwise.save_placement(best.placement, "app.placement.json")
    """
    source, known, topology = _read(recording, machine)
    if source.kind != "recording":
        raise RankwiseError(
            f"`{recording}` is no recording with a trace", "record one: `rankwise record --trace -- ...`"
        )
    ran = source.recorded.trimmed if source.recorded and fits(source.recorded, topology) else None
    wanted = None if nodes is None else NodesWanted(nodes)
    usable = usable_nodes(topology, source.schedule.ranks, wanted, len(ran.node_names) if ran else 1)
    with name_calls(recording):
        predictor = Predictor.of(source, known, topology, draws=draws)
        search = make_search(predictor, Recording.open(recording).messages, usable, objective)
        current = ran if ran and search.has(ran) else None
        found = run_search(search, predictor, current, seed=seed, budget_s=budget_s)
        return with_intervals(found, predictor)


def measure_machine(
    launcher: Sequence[str],
    output: PathName,
    *,
    quick: bool = False,
    budget_s: float | None = None,
    replace: bool = False,
) -> Machine:
    """Measure the nodes that a launcher line reaches, and write their machine file: `rankwise measure`.

    Args:
        launcher: Words of the launcher with its options, without a program, for example `["mpiexec", "-n", "2"]`.
        output: The machine file, `NAME.machine.toml`; samples are kept beside it. Where others used the nodes meanwhile
            it is `NAME.disturbed.machine.toml`.
        quick: Measure less, in a minute.
        budget_s: Seconds that it may take; as long as it needs if `None`.
        replace: Replace files that are there.

    Raises:
        RankwiseError: Nothing can be measured with this launcher, or a file is there.

    Example:
        >>> machine = rankwise.measure_machine(["mpiexec", "-n", "2"], "here.machine.toml", quick=True)
    """
    from rankwise.measure import launch, outcome
    from rankwise.measure.measurement import Measurement
    from rankwise.measure.site import Site
    from rankwise.measure.steps import effort

    launch.check(list(launcher))
    path = outcome.output_path(os.fspath(output), replace)
    measurement = Measurement(Site(launcher), effort(quick, budget_s))
    measurement.prepare()
    measurement.measure(lambda done, total, now: None)
    written = outcome.write(measurement, path)
    if measurement.interrupted:
        raise KeyboardInterrupt
    return written.machine


def record_program(
    command: Sequence[str], output: PathName | None = None, *, trace: bool = True, replace: bool = False
) -> Recording:
    """Run an MPI program and record it: `rankwise record`.

    Args:
        command: The launch line, for example `["mpiexec", "-n", "4", "./app"]`.
        output: The directory of the recording, `NAME.rw`; named by program, ranks and time if `None`.
        trace: Keep every call in program order, which predictions need.
        replace: Replace a recording that is there.

    Returns:
        The recording, however the program ended: `recording.context["run"]["exit_status"]` says how.

    Raises:
        RankwiseError: The program cannot be started or recorded, or left nothing.

    Example:
        >>> rankwise.record_program(["mpiexec", "-n", "4", "./app"], "app.rw").ranks
    """
    from rankwise.launchers.execute import Ended
    from rankwise.record import recording_run
    from rankwise.record.library import What

    to = None if output is None else os.fspath(output)
    begun = recording_run.prepare(list(command), to, replace, What(trace=trace), None)
    start_s = time.time()
    try:
        status = _run(begun.launch)
    except OSError as error:
        recording_run.abandon(begun)
        raise RankwiseError(
            f"`{command[0]}` cannot be started: {(error.strerror or str(error)).lower()}", status=127
        ) from None
    signal = -status if status < 0 else None
    ended = Ended(128 - status if status < 0 else status, signal, False, start_s, time.time())
    if not recording_run.finish(begun, ended):
        raise RankwiseError(
            f"`{command[0]}` ended with status {ended.status} and nothing was recorded",
            "check that it is an MPI program, linked dynamically (docs/record.md)",
        )
    return Recording.open(begun.path)


def build_report(recording: PathName | Recording, html: PathName | None = None) -> ReportData:
    """What a recording shows: `rankwise report`.

    Args:
        recording: `NAME.rw`, or what `Recording.open` gave of one.
        html: Also write it as a page; a report that is there is replaced.

    Returns:
        Plain data, as `rankwise report --json` prints it (formats/report.schema.json).

    Raises:
        RankwiseError: The recording cannot be read, or the page not written.

    Example:
        >>> rankwise.build_report("app.rw", "app.report.html").summary
    """
    from rankwise.report import build, files
    from rankwise.report.html import render

    if html is not None:
        files.check(Path(html), force=True)
    report = build.build(recording if isinstance(recording, Recording) else Recording.open(recording))
    if html is not None:
        files.write(Path(html), render(report))
    return report


def _read(program: PathName | Source, machine: PathName | Machine) -> tuple[Source, Machine, Topology]:
    source = program if isinstance(program, Source) else sources.load(program, counts_suffice=True)
    known = machine if isinstance(machine, Machine) else load_machine(machine)
    return source, known, topology_of(known, Path("."))


def _name(program: PathName | Source) -> PathName:
    return "program" if isinstance(program, Source) else program


def _recorded(source: Source, topology: Topology) -> Placement:
    """Where the ranks ran, on these nodes."""
    why = misfit(source.recorded, topology)
    if source.recorded is None or why:
        raise RankwiseError(f"a placement is needed: {why}", "name one, or let `rankwise.place` find it")
    return source.recorded


def _run(launch: Launch) -> int:
    """Run a launch with our streams to its end; its exit status, less than 0 if a signal ended it."""
    return subprocess.run(launch.words, env=launch.environment_of_first(os.environ), check=False).returncode
