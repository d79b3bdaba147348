# SPDX-License-Identifier: BSD-3-Clause
"""The machines that `rankwise predict` compares, each with its placements: from options to predictors."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.cli.predict_document import MachineUsed, Outcome
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology
    from rankwise.placement.usable import NodesWanted
    from rankwise.replay.predictor import Predictor
    from rankwise.replay.switches import Switches
    from rankwise.schedule.source import Source


@dataclass(frozen=True)
class Case:
    """A machine with the placements to compare on it.

    `not_as_recorded` says why the recorded placement is not among them, where none was asked for.
    """

    name: str
    machine: Machine
    topology: Topology
    predictor: Predictor
    placements: dict[str, Placement]
    not_as_recorded: str | None


def named_machines(paths: list[str]) -> list[tuple[str, str]]:
    """Path and a name for people: the machine's own, unless two files have the same."""
    from rankwise.machine.file import load

    names = [load(path).name for path in paths]
    return [(path, name if names.count(name) == 1 else path) for path, name in zip(paths, names, strict=True)]


def make_case(path: str, name: str, args: argparse.Namespace, source: Source, switches: Switches) -> Case:
    """A machine as the options change it, and what is predicted on it."""
    from pathlib import Path

    from rankwise.machine.file import load
    from rankwise.machine.machine import topology_of
    from rankwise.machine.overrides import apply
    from rankwise.machine.placement import misfit
    from rankwise.replay.memory_bound import memory_bound
    from rankwise.replay.predictor import Predictor

    measured = load(path)
    machine = apply(measured, args.set)
    topology = topology_of(machine, Path(path).parent)
    predictor = Predictor.of(
        source,
        machine,
        topology,
        switches=switches,
        memory_bound=memory_bound(args.memory_bound, source.schedule.ranks) if args.memory_bound else None,
        measured=measured if args.set else None,
        plain=args.plain or args.library is not None or len(args.machine) > 1,
        draws=0 if args.sweep else args.replays,
    )
    asked = args.placement or args.nodes or args.allocation
    # Schedules alone say nothing of where their ranks ran.
    of_run = source.kind in ("recording", "counts")
    why = misfit(source.recorded, topology) if of_run and not asked else None
    return Case(name, machine, topology, predictor, _placements(args, source, path, topology), why)


def machine_used(case: Case, source: Source, path: str, settings: list[str]) -> MachineUsed:
    """What the document says of a machine."""
    from rankwise.cli.predict_document import MachineUsed, run_entry
    from rankwise.explain.unexplained import unexplained
    from rankwise.machine.file import fingerprint

    not_modelled = list(case.predictor.not_modelled)
    run = run_entry(case.predictor, unexplained(case.predictor, source))
    return MachineUsed(
        case.name, path, fingerprint(path), list(settings), not_modelled, run, case.not_as_recorded
    )


def label(outcome: Outcome, cases: list[Case]) -> str:
    """What an outcome is called among others."""
    return f"{outcome.name}, {outcome.machine}" if len(cases) > 1 else outcome.name


def _placements(
    args: argparse.Namespace, source: Source, path: str, topology: Topology
) -> dict[str, Placement]:
    """The placements to compare, by name: files, allocations, or where the recorded ranks ran."""
    from rankwise.machine.file import unfit
    from rankwise.machine.placement import fits
    from rankwise.placement.file import load
    from rankwise.placement.simple import allocate, allocate_unlike
    from rankwise.placement.usable import NodesWanted, usable_nodes
    from rankwise.quantities import counted

    if args.placement:
        return {path: load(path) for path in args.placement}
    ranks, node, recorded = source.schedule.ranks, topology.nodes[0], source.recorded
    if not args.nodes and not args.allocation and fits(recorded, topology):
        return {"recorded": recorded}
    wanted = NodesWanted.parse(args.nodes) if args.nodes else None
    if wanted:
        nodes, each = wanted.count, wanted.ranks_per_node
    else:
        ran_on = len(recorded.node_names) if fits(recorded, topology) else 1
        nodes, each = len(usable_nodes(topology, ranks, recorded=ran_on).nodes), None
    fixed = each is not None
    each = each or -(-ranks // nodes)
    unlike = any(other is not node for other in topology.nodes[:nodes])
    if not fixed and each > node.cores and not unlike:
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
        most = each if fixed else max(other.cores for other in kinds)
        return {
            f"{how} on {counted(nodes, 'node')}": _on(wanted, allocate_unlike(ranks, kinds, most, how))
            for how in args.allocation or ["blocked"]
        }
    found = {}
    for how in args.allocation or ["blocked"]:
        # Blocked fills nodes, the others deal to all that may be used.
        full = min(node.cores, ranks)
        on, most = (nodes, each) if fixed or how != "blocked" else (-(-ranks // full), full)
        found[f"{how} {on}x{most}"] = _on(wanted, allocate(ranks, on, most, node, how)[0])
    return found


def _on(wanted: NodesWanted | None, placement: Placement) -> Placement:
    """The placement with the names of the hosts, where `--nodes` says them."""
    from dataclasses import replace

    if wanted is None or not wanted.hosts:
        return placement
    return replace(placement, node_names=wanted.hosts[: len(placement.node_names)])
