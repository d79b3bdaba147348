# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict`: how long a recorded program would run on a machine, with the ranks placed differently."""

from __future__ import annotations

import argparse
import os
from shlex import quote
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.machine.topology import Topology
    from rankwise.placement.placement import Placement
    from rankwise.replay.predict import Prediction
    from rankwise.replay.source import Source

HELP = "predict the time of a traced program on a machine, for any placement"
_PARTS = ("interfaces", "shared_cores", "progress", "handshake")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    from rankwise.cli.parsing import add_json

    parser.add_argument("input", metavar="REC|FILE.goal", help="a recording made with --trace, or GOAL text")
    parser.add_argument("--machine", "-m", required=True, metavar="FILE", help="the machine file")
    repeat = "may be given again to compare"
    parser.add_argument(
        "--placement", action="append", default=[], metavar="FILE", help=f"placement; {repeat}"
    )
    parser.add_argument(
        "--nodes", metavar="PxQ", help="P nodes with Q ranks each, instead of placement files"
    )
    allocation = f"blocked, cyclic or plane=K; {repeat}"
    parser.add_argument("--allocation", action="append", default=[], metavar="HOW", help=allocation)
    setting = "change a number of the machine, for example network.G=0.1ns/B; repeatable"
    parser.add_argument("--set", action="append", default=[], metavar="T.K=V", help=setting)
    without = "leave out a part of the model: " + ", ".join(part.replace("_", "-") for part in _PARTS)
    choices = [part.replace("_", "-") for part in _PARTS]
    parser.add_argument(
        "--without", action="append", default=[], choices=choices, metavar="PART", help=without
    )
    library = "whose collective algorithms: mpich or openmpi; default that of the recording"
    parser.add_argument("--library", choices=("mpich", "openmpi"), metavar="MPI", help=library)
    parser.add_argument("--goal", metavar="FILE", help="also write the schedule as GOAL text")
    parser.add_argument("-f", "--force", action="store_true", help="replace the file of --goal")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Predict, and say it."""
    from pathlib import Path

    from rankwise.cli.terminal import Terminal
    from rankwise.machine.file import fingerprint, load
    from rankwise.machine.overrides import apply
    from rankwise.replay.document import document
    from rankwise.replay.layout import topology_of
    from rankwise.replay.predict import Predictor, Switches
    from rankwise.replay.source import load as load_source

    terminal = Terminal(args)
    machine = apply(load(args.machine), args.set)
    topology = topology_of(machine, Path(args.machine).parent)
    if args.goal and os.path.exists(args.goal) and not args.force:
        raise RankwiseError(f"`{args.goal}` is there already", "use `--force` to replace it")
    source = load_source(args.input, args.library)
    for what, count in source.omitted.items():
        terminal.warning(f"not replayed: {what} ({count})", "omitted")
    placements = _placements(args, source, topology)
    without = {part.replace("-", "_") for part in args.without}
    switches = Switches(**{part: part not in without for part in _PARTS})
    predictor = Predictor(source.schedule, machine, topology, switches=switches)
    predictions = {}
    with terminal.progress("predicting", len(placements)) as update:
        for done, (name, placement) in enumerate(placements.items(), 1):
            predictions[name] = predictor.predict(placement)
            best = min(each.makespan_s for each in predictions.values())
            update(done, f"best {best:.6g} s")
    if args.goal:
        Path(args.goal).write_text(source.schedule.write_goal(), encoding="utf-8")
        terminal.wrote(args.goal)
    if terminal.as_json:
        sha256 = fingerprint(args.machine)
        terminal.json(
            document(args.input, source, machine, args.machine, sha256, args.set, switches, predictions)
        )
        return 0
    _show(terminal, source, machine.name, predictions)
    terminal.next(f"rankwise place {quote(str(args.input))} --machine {quote(str(args.machine))}")
    return 0


def _placements(args: argparse.Namespace, source: Source, topology: Topology) -> dict[str, Placement]:
    """The placements to compare, by name: files, allocations, or where the recorded ranks ran."""
    from rankwise.placement.file import load
    from rankwise.placement.simple import allocate, parse_nodes

    if args.placement and (args.nodes or args.allocation):
        raise RankwiseError(
            "`--placement` and `--nodes` or `--allocation` exclude each other",
            "write the allocation to a file with `rankwise place`, then compare files",
            status=2,
        )
    if args.placement:
        return {path: load(path) for path in args.placement}
    ranks, node, recorded = source.schedule.ranks, topology.nodes[0], source.recorded
    if not args.nodes and not args.allocation and _fits(recorded, topology):
        return {"recorded": recorded}
    if args.nodes:
        nodes, each = parse_nodes(args.nodes)
    else:
        nodes = len(topology.nodes)
        each = -(-ranks // nodes)
    if not args.nodes and each > node.cores:
        raise RankwiseError(
            f"the program has {ranks} ranks, the machine {nodes * node.cores} cores",
            "use a machine file of more nodes (`node.count`), or a `--placement` in which ranks share cores",
        )
    if nodes > len(topology.nodes):
        raise RankwiseError(
            f"`--nodes {args.nodes}` asks for {nodes} nodes, the machine has {len(topology.nodes)}",
            f"use at most {len(topology.nodes)} nodes, or change `count` in the machine file",
        )
    return {
        f"{how} {nodes}x{each}": allocate(ranks, nodes, each, node, how)[0]
        for how in args.allocation or ["blocked"]
    }


def _fits(recorded: Placement | None, topology: Topology) -> bool:
    """Whether the ranks ran on nodes like the machine's."""
    if recorded is None or len(recorded.node_names) > len(topology.nodes):
        return False
    return set(recorded.topology_sha256) == {topology.nodes[0].sha256}


def _show(terminal: Terminal, source: Source, machine: str, predictions: dict[str, Prediction]) -> None:
    from rankwise.quantities import bytes_text, count_text, seconds_text

    schedule = source.schedule
    terminal.result(
        f"{schedule.ranks} ranks, {count_text(schedule.messages)} messages, {bytes_text(schedule.bytes)} "
        f"on {machine}\n"
    )
    if len(predictions) == 1:
        _show_one(terminal, *next(iter(predictions.items())))
    else:
        _compare(terminal, predictions)
    not_modelled = next(iter(predictions.values())).not_modelled
    if not_modelled:
        terminal.note(f"resources of the machine file that are not modelled: {', '.join(not_modelled)}")
    terminal.detail(f"first rank to end: {seconds_text(min(p.finish_s.min() for p in predictions.values()))}")


def _show_one(terminal: Terminal, name: str, prediction: Prediction) -> None:
    from rankwise.quantities import bytes_text, count_text, seconds_text
    from rankwise.replay.document import PARTS, OverRanks

    terminal.result(f"{name}: {seconds_text(prediction.makespan_s)}\n")
    rows = []
    for part in PARTS:
        over = OverRanks.of(getattr(prediction, f"{part}_s"))
        rows.append([part.replace("_", "-"), *map(seconds_text, (over.min_s, over.mean_s, over.max_s))])
    terminal.table(["a rank's time", "min", "mean", "max"], rows)
    rows = [
        [channel, count_text(messages), bytes_text(total)]
        for channel, (messages, total) in prediction.channels.items()
        if messages
    ]
    terminal.result("")
    terminal.table(["link class", "messages", "bytes"], rows)
    rows = []
    for at, node in enumerate(prediction.placement.node_names[: len(prediction.interfaces["tx"]["bytes"])]):
        cells = [node]
        for direction in ("tx", "rx"):
            loads = prediction.interfaces[direction]
            cells += [bytes_text(int(loads["bytes"][at]))]
            cells += [seconds_text(float(loads[key][at])) for key in ("busy_s", "queued_s")]
        rows.append(cells)
    terminal.result("")
    terminal.table(["interface", "tx", "busy", "queued", "rx", "busy", "queued"], rows)


def _compare(terminal: Terminal, predictions: dict[str, Prediction]) -> None:
    from rankwise.quantities import bytes_text, seconds_text

    best = min(prediction.makespan_s for prediction in predictions.values())
    rows = []
    for name, prediction in predictions.items():
        over = prediction.makespan_s / best - 1 if best > 0 else 0.0
        network = int(prediction.interfaces["tx"]["bytes"].sum())
        parts = [
            prediction.computation_s,
            prediction.overhead_s + prediction.time_shared_s,
            prediction.waiting_s,
        ]
        rows.append(
            [name, seconds_text(prediction.makespan_s), f"+{100 * over:.1f} %" if over > 0 else "best"]
            + [seconds_text(float(part.mean())) for part in parts]
            + [bytes_text(network)]
        )
    terminal.table(["placement", "time", "", "computation", "overhead", "waiting", "over network"], rows)
