# SPDX-License-Identifier: BSD-3-Clause
"""The machines that `rankwise predict` compares, each with its placements: from options to predictors."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.machine.file import Machine
    from rankwise.machine.topology import Topology
    from rankwise.placement.placement import Placement
    from rankwise.replay.document import MachineUsed, Outcome
    from rankwise.replay.predict import Predictor
    from rankwise.replay.source import Source
    from rankwise.replay.switches import Switches


@dataclass(frozen=True)
class Case:
    """A machine with the placements to compare on it."""

    name: str
    machine: Machine
    topology: Topology
    predictor: Predictor
    placements: dict[str, Placement]


def named_machines(paths: list[str]) -> list[tuple[str, str]]:
    """Path and a name for people: the machine's own, unless two files have the same."""
    from rankwise.machine.file import load

    names = [load(path).name for path in paths]
    return [(path, name if names.count(name) == 1 else path) for path, name in zip(paths, names, strict=True)]


def make_case(path: str, name: str, args: argparse.Namespace, source: Source, switches: Switches) -> Case:
    """A machine as the options change it, and what is predicted on it."""
    from pathlib import Path

    from rankwise.machine.file import load
    from rankwise.machine.overrides import apply
    from rankwise.replay.computation import recorded_computation
    from rankwise.replay.counts import CountsPredictor
    from rankwise.replay.layout import topology_of
    from rankwise.replay.predict import Predictor
    from rankwise.replay.recorded_run import recorded_run

    measured = load(path)
    machine = apply(measured, args.set)
    topology = topology_of(machine, Path(path).parent)
    if source.kind == "counts":
        predictor = CountsPredictor(source.schedule, machine, topology, switches=switches)
    else:
        draws = 0 if args.sweep else args.replays
        computation = recorded_computation(source, topology, measured, args.memory_bound)
        predictor = Predictor(
            source.schedule,
            machine,
            topology,
            switches=switches,
            draws=draws,
            computation=computation,
            expand=source.expand,
        )
        # What is changed by hand is another machine than the one that the program ran on.
        predictor.run = recorded_run(source, predictor.variant(measured, switches) if args.set else predictor)
    return Case(name, machine, topology, predictor, _placements(args, source, path, topology))


def used(case: Case, path: str, settings: list[str]) -> MachineUsed:
    """What the document says of a machine."""
    from rankwise.machine.file import fingerprint
    from rankwise.replay.document import MachineUsed, run_entry

    not_modelled = list(case.predictor.not_modelled)
    run = run_entry(case.predictor.run)
    return MachineUsed(case.name, path, fingerprint(path), list(settings), not_modelled, run)


def label(outcome: Outcome, cases: list[Case]) -> str:
    """What an outcome is called among others."""
    return f"{outcome.name}, {outcome.machine}" if len(cases) > 1 else outcome.name


def _placements(
    args: argparse.Namespace, source: Source, path: str, topology: Topology
) -> dict[str, Placement]:
    """The placements to compare, by name: files, allocations, or where the recorded ranks ran."""
    from rankwise.machine.file import unfit
    from rankwise.placement.file import load
    from rankwise.placement.simple import allocate, allocate_unlike, parse_nodes
    from rankwise.quantities import counted
    from rankwise.replay.recorded_run import fits

    if args.placement:
        return {path: load(path) for path in args.placement}
    ranks, node, recorded = source.schedule.ranks, topology.nodes[0], source.recorded
    if not args.nodes and not args.allocation and fits(recorded, topology):
        return {"recorded": recorded}
    if args.nodes:
        nodes, each = parse_nodes(args.nodes)
    else:
        nodes = min(len(topology.nodes), ranks)
        each = -(-ranks // nodes)
    unlike = any(other is not node for other in topology.nodes[:nodes])
    if not args.nodes and each > node.cores and not unlike:
        raise unfit(
            path,
            "node.count",
            f"the program has {counted(ranks, 'rank')}, the machine {counted(nodes * node.cores, 'core')}",
            "use a machine file of more nodes (`node.count`), or a `--placement` in which ranks share cores",
        )
    if nodes > len(topology.nodes):
        raise unfit(
            path,
            "node.count",
            f"`--nodes {args.nodes}` asks for {counted(nodes, 'node')}, the machine has {len(topology.nodes)}",
            f"use at most {counted(len(topology.nodes), 'node')}, or change `count` in the machine file",
        )
    if unlike:
        kinds = topology.nodes[:nodes]
        most = each if args.nodes else max(other.cores for other in kinds)
        return {
            f"{how} on {counted(nodes, 'node')}": allocate_unlike(ranks, kinds, most, how)
            for how in args.allocation or ["blocked"]
        }
    return {
        f"{how} {nodes}x{each}": allocate(ranks, nodes, each, node, how)[0]
        for how in args.allocation or ["blocked"]
    }
