# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise place`: the placement with the least predicted time."""

from __future__ import annotations

import argparse
import os
import time
from shlex import quote
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from pathlib import Path

    from rankwise.cli.terminal import Terminal
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology
    from rankwise.placement.constraints import Constraints
    from rankwise.placement.estimate_error import EstimateError
    from rankwise.placement.search import Candidate, PlacementSearch
    from rankwise.replay.predictor import Predictor
    from rankwise.schedule.source import Source

HELP = "find the best placement of a traced program on a machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli import place_graph
    from rankwise.cli.parsing import (
        add_json,
        add_output,
        add_plain,
        add_replays,
        duration,
        seed,
        share,
        size_bytes,
    )
    from rankwise.cli.place_format import FORMATS

    parser.usage = (
        "%(prog)s [OPTIONS] REC --machine FILE\n"
        "       %(prog)s [OPTIONS] --graph FILE --hierarchy A:B:...:N\n"
        "                      --distances A:B:..."
    )
    parser.add_argument("input", nargs="?", metavar="REC", help="a recording made with --trace")
    parser.add_argument("--machine", "-m", metavar="FILE", help="the machine file")
    add_output(parser, "the placement file; default NAME.placement.json beside the recording")
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="also write the files of this launcher, and print its launch line",
    )
    parser.add_argument(
        "--hosts", metavar="A,B,...", help="the hosts of the nodes, for `--format` and `--current`"
    )
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="TIME",
        help="time for the search, such as 30s; default 10s; a graph: until the search ends by itself",
    )
    parser.add_argument(
        "--seed",
        type=seed,
        default=1,
        metavar="N",
        help="where the search starts: the same number gives the same placement; default 1",
    )
    parser.add_argument(
        "--objective",
        choices=("time", "network", "bytes"),
        help="what to minimise: the predicted time (default), the time of the busiest network interface, or the bytes "
        "between nodes. With --graph: time and network allow no placement whose busiest node sends more than with "
        "blocked, cyclic and --current",
    )
    parser.add_argument(
        "--current", metavar="FILE", help="be no worse than this placement; default: where the program ran"
    )
    parser.add_argument(
        "--least-gain",
        type=share,
        metavar="SHARE",
        help="keep the placement in which the program ran, unless another one saves more than this share of its time, "
        "such as 0.1; default 0",
    )
    parser.add_argument(
        "--memory-bound",
        metavar="F,R=F",
        help="part of the computation that waits for memory, as in `rankwise predict`",
    )
    add_replays(parser)
    add_plain(parser)
    parser.add_argument(
        "--nodes",
        metavar="N|PxQ|HOSTS",
        help="use N of the nodes, P nodes with at most Q ranks each, or these hosts; "
        "default: as many as the program ran on, else as many as the ranks need with a core each",
    )
    memory = "replay larger schedules in windows, which takes longer; as of `rankwise predict`"
    parser.add_argument("--memory", type=size_bytes, metavar="SIZE", help=memory)
    limits = parser.add_argument_group("limits of the search, for recordings")
    limits.add_argument(
        "--fix",
        action="append",
        metavar="RANK=NODE:CORE",
        help="keep a rank on this core; may be given again",
    )
    limits.add_argument(
        "--forbid",
        action="append",
        metavar="NODE:CORE",
        help="put no rank on this core; `*:0` is core 0 of all nodes, `0:2-5` are four cores",
    )
    limits.add_argument(
        "--cores-per-rank", type=int, metavar="N", help="give each rank N neighbouring cores; default 1"
    )
    limits.add_argument(
        "--keep-nodes", action="store_true", help="keep ranks on their nodes, change only cores"
    )
    place_graph.add_arguments(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Search, write the best placement, say why it is best."""
    from rankwise.cli import place_graph
    from rankwise.cli.kinds import check_kinds

    if args.graph:
        options = (
            "machine",
            "nodes",
            "format",
            "hosts",
            "fix",
            "forbid",
            "cores_per_rank",
            "keep_nodes",
            "plain",
            "memory_bound",
            "memory",
        )
        _refuse(args, "a graph", "input", *options)
        return place_graph.run(args)
    _refuse(args, "a recording", "hierarchy", "distances", "grid")
    for name, option in (("input", "REC"), ("machine", "--machine")):
        if not getattr(args, name):
            raise RankwiseError(f"`rankwise place` needs `{option}`", "see `rankwise place --help`", status=2)
    check_kinds("place", args.input, [args.machine])
    return _run(args)


def _refuse(args: argparse.Namespace, placed: str, *names: str) -> None:
    """Raise a usage error for an option that means nothing for what is placed."""
    for name in names:
        if getattr(args, name):
            option = "REC" if name == "input" else "--" + name.replace("_", "-")
            raise RankwiseError(
                f"`{option}` is not for placing {placed}", "see `rankwise place --help`", status=2
            )


def _check_room(machine: str, ranks: int, topology: Topology) -> None:
    """Refuse a machine that has fewer cores than the program ranks."""
    from rankwise.machine.file import unfit
    from rankwise.quantities import counted

    if ranks > (cores := sum(node.cores for node in topology.nodes)):
        raise unfit(
            machine,
            "node.count",
            f"the program has {counted(ranks, 'rank')}, the machine {counted(cores, 'core')}",
            "use a machine file of more nodes (`node.count`)",
        )


def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from rankwise.cli.place_document import document
    from rankwise.cli.place_format import Format
    from rankwise.cli.place_show import compare, is_doubtful, settle, show, show_estimate_error
    from rankwise.cli.terminal import Terminal
    from rankwise.machine.file import load
    from rankwise.machine.machine import topology_of
    from rankwise.placement.file import save
    from rankwise.placement.place import make_search
    from rankwise.recording.recording import Recording

    terminal = Terminal(args)
    output = _output(args)
    machine = load(args.machine)
    topology = topology_of(machine, Path(args.machine).parent)
    source = _source(args, terminal)
    named, every, (topology, constraints) = args.hosts, topology, _usable(args, source, topology)
    launcher = None
    if args.format:
        launcher = Format.prepare(args.format, args.hosts, machine, topology, output, args.force)
    elif named and not args.current:
        raise RankwiseError(
            "`--hosts` names the nodes in the files of launchers",
            "name the launcher with `--format`, or such a file with `--current`",
        )
    predictor = _predictor(args, source, machine, every, terminal)
    messages = Recording.open(args.input).messages
    search = make_search(predictor, messages, topology, args.objective or "time", constraints)
    current = _current(args, source.recorded, search)
    found = _search(args, search, predictor, current, terminal)
    found[-1] = _with_gaps(found[-1], source)
    save(found[-1].placement, output)
    if search.interrupted:
        terminal.note("interrupted: the best so far is taken")
    estimate_error = _estimate_error(search, predictor)
    candidates = settle(_with_intervals(found, predictor, terminal))
    doubtful = search.objective == "time" and is_doubtful(candidates, predictor)
    words = launcher.write(candidates[-1].placement) if launcher else None
    if terminal.as_json:
        paths = (args.input, args.machine, str(output))
        why = compare(candidates, topology, machine, doubtful)
        terminal.json(document(paths, source, predictor, candidates, topology, why, estimate_error, words))
    else:
        show(terminal, candidates, topology, predictor, source, doubtful)
        show_estimate_error(terminal, estimate_error)
        if words:
            terminal.result(f"\n{words}")
            if " -rankmap " in words:
                terminal.note("`-rankmap` is followed by MPICH 5.0.2 and newer")
        terminal.wrote(output)
        terminal.next(_next(args, output, machine, topology, candidates[-1].placement))
    return 0


def _source(args: argparse.Namespace, terminal: Terminal) -> Source:
    """The recording, and a warning of what is not in it, or not replayed of it."""
    from rankwise.cli.predict_checks import say_partial
    from rankwise.schedule.source import MEMORY_BYTES
    from rankwise.schedule.source import load as load_source

    if not os.path.isdir(args.input):
        raise RankwiseError(
            f"`{args.input}` is not a recording directory",
            "record a program: `rankwise record --trace -- ...`",
        )
    memory_bytes = MEMORY_BYTES if args.memory is None else args.memory
    source = load_source(args.input, memory_bytes=memory_bytes)
    if source.kind != "recording":
        raise RankwiseError(
            f"`{args.input}` is a trace of OTF2, and a placement is searched for a recording",
            "record the program: `rankwise record --trace -- ...`; "
            "`rankwise predict` compares placements of a trace",
        )
    say_partial(terminal, source)
    for what, count in source.omitted.items():
        terminal.warning(f"not replayed: {what} ({count})", "omitted")
    return source


def _with_gaps(chosen: Candidate, source: Source) -> Candidate:
    """The placement says what was missing in the recording, for those who have its file alone."""
    from dataclasses import replace

    partial = tuple(dict.fromkeys(gap.said_by or f"{gap.what}: {gap.why}" for gap in source.missing))
    return replace(chosen, placement=replace(chosen.placement, partial=partial))


def _search(
    args: argparse.Namespace,
    search: PlacementSearch,
    predictor: Predictor,
    current: Placement | None,
    terminal: Terminal,
) -> list[Candidate]:
    from rankwise.placement.place import run_search
    from rankwise.quantities import seconds_text

    budget_s = 10.0 if args.budget is None else args.budget
    start = time.monotonic()
    with terminal.progress("searching", 100) as update:

        def say(judged_by: str, value: float) -> None:
            done = int(100 * (time.monotonic() - start) / max(budget_s, 1e-3))
            update(min(99, done), f"{seconds_text(value)} {judged_by}" if search.objective == "time" else "")

        return run_search(
            search,
            predictor,
            current,
            seed=args.seed,
            budget_s=budget_s,
            least_gain=args.least_gain,
            progress=say,
        )


def _estimate_error(search: PlacementSearch, predictor: Predictor) -> EstimateError | None:
    """How far the estimate that the search went by is from the replays that decided."""
    import numpy as np

    from rankwise.placement.estimate_error import EstimateError

    if search.objective != "time" or predictor.in_windows:  # where estimated times are replayed ones
        return None
    placements = [each.placement for each in search.judged]
    times = np.array([each.makespan_s for each in search.judged])
    try:
        return EstimateError.of(predictor.estimates_s(placements), times)
    except KeyboardInterrupt:
        return None


def _usable(args: argparse.Namespace, source: Source, topology: Topology) -> tuple[Topology, Constraints]:
    """The nodes that ranks may be placed on, and the limits there."""
    from dataclasses import replace

    from rankwise.launchers.hosts import distinct
    from rankwise.machine.placement import fits
    from rankwise.placement.constraints import Constraints
    from rankwise.placement.usable import NodesWanted, usable_nodes

    ranks = source.schedule.ranks
    _check_room(args.machine, ranks, topology)
    constraints = Constraints.parse(
        topology,
        ranks,
        fix=args.fix or (),
        forbid=args.forbid or (),
        cores_per_rank=1 if args.cores_per_rank is None else args.cores_per_rank,
        keep_nodes=args.keep_nodes,
    )
    wanted = NodesWanted.parse(args.nodes) if args.nodes else None
    if wanted and wanted.hosts:
        args.hosts = args.hosts or ",".join(wanted.hosts)
    if wanted is None and args.hosts:
        wanted = NodesWanted(len(distinct(args.hosts.split(","), "--hosts")))
    at_least = [1, *(node + 1 for node, _ in constraints.fixed.values())]
    if current := _named_current(args, topology):
        at_least.append(len(current.node_names))
    elif fits(source.recorded, topology):
        at_least.append(len(source.recorded.trimmed.node_names))
    size = constraints.cores_per_rank
    if wanted is None and constraints.forbidden:
        from rankwise.placement.costs import nodes_that_hold

        at_least.append(nodes_that_hold(topology, ranks, size, constraints.forbidden))
    usable = usable_nodes(topology, ranks, wanted, max(at_least), size)
    forbidden = {seat for seat in constraints.forbidden if seat[0] < len(usable.nodes)}
    if wanted and wanted.ranks_per_node:
        for at, node in enumerate(usable.nodes):
            free = [core for core in range(node.cores) if (at, core) not in forbidden]
            forbidden |= {(at, core) for core in free[wanted.ranks_per_node * size :]}
    return usable, replace(constraints, forbidden=frozenset(forbidden))


def _predictor(
    args: argparse.Namespace, source: Source, machine: Machine, topology: Topology, terminal: Terminal
) -> Predictor:
    """The predictor, and a warning where it is far from the recorded run."""
    from rankwise.cli.predict_checks import warn_of_disturbed, warn_of_model_error
    from rankwise.replay.memory_bound import memory_bound
    from rankwise.replay.predictor import Predictor

    bound = memory_bound(args.memory_bound, source.schedule.ranks) if args.memory_bound else None
    predictor = Predictor.of(
        source, machine, topology, draws=args.replays, plain=args.plain, memory_bound=bound
    )
    warn_of_disturbed(terminal, machine)
    warn_of_model_error(terminal, machine.name, predictor.run, source.not_modelled)
    return predictor


def _with_intervals(candidates: list[Candidate], predictor: Predictor, terminal: Terminal) -> list[Candidate]:
    """Only what is shown gets an interval: it takes many replays, which Ctrl-C leaves out."""
    from rankwise.placement.place import predicted, with_intervals
    from rankwise.schedule.omitted import ended_sends_text

    if most := max((predicted(each).ended_sends for each in candidates), default=0):
        terminal.warning(ended_sends_text(most), "ended-sends")
    try:
        return with_intervals(candidates, predictor)
    except KeyboardInterrupt:
        terminal.note("interrupted: intervals are left out")
        return candidates


def _next(
    args: argparse.Namespace, output: Path, machine: Machine, topology: Topology, placement: Placement
) -> str:
    """The command that runs with the placement, with what it cannot find out by itself."""
    from rankwise.launchers.hosts import allocation
    from rankwise.machine.topology import from_this_machine

    if machine.node.host_cores is not None:
        return f"rankwise lab run --placement {quote(str(output))} -- ./app"
    words = f"rankwise run --placement {quote(str(output))}"
    if topology.nodes[0].sha256 != from_this_machine().sha256:
        words += f" --machine {quote(str(args.machine))}"
    if args.hosts:
        words += f" --hosts {quote(args.hosts)}"
    elif len(topology.nodes) > 1 and not allocation(os.environ):
        used = len(placement.node_names)
        words += " --hosts " + ",".join(["HOST"] * min(used, 2)) + (",..." if used > 2 else "")
    return f"{words} -- mpiexec -n {placement.ranks} ./app"


def _output(args: argparse.Namespace) -> Path:
    from pathlib import Path

    from rankwise.whole_files import check_free

    recording = Path(args.input)
    output = Path(args.output) if args.output else recording.with_name(recording.stem + ".placement.json")
    check_free(output, args.force)
    return output


def _current(
    args: argparse.Namespace, recorded: Placement | None, search: PlacementSearch
) -> Placement | None:
    """What the user names, or where the program ran, if that was on this machine and within the limits."""
    if current := _named_current(args, search.topology):
        if current.ranks != search.ranks:
            raise RankwiseError(
                f"`{args.current}` places {current.ranks} ranks, the program has {search.ranks}",
                "name a placement of this program",
            )
        return current
    if recorded is None:
        return None
    recorded = recorded.trimmed
    return recorded if search.has(recorded) else None


def _named_current(args: argparse.Namespace, topology: Topology) -> Placement | None:
    """What `--current` names, on the nodes that have ranks."""
    from rankwise.placement.launcher_files import load_any

    if not args.current:
        return None
    hosts = args.hosts.split(",") if args.hosts else ()
    return load_any(args.current, topology, hosts).trimmed
