# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure --show`: the nodes, and the pairs of cores that would measure each channel."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli.terminal import Terminal

if TYPE_CHECKING:
    from rankwise.machine.interfaces import Interfaces
    from rankwise.machine.network import Dragonfly, FatTree, Torus
    from rankwise.machine.topology import NodeTopology
    from rankwise.measure.plan import Plan
    from rankwise.measure.site import Site

MOST_NODES = 100_000


def run(args: argparse.Namespace, site: Site | None) -> int:
    """Draw what is described, what the launcher line reaches, or this machine.

    Args:
        args: Their `show` holds machine files, topology files and synthetic descriptions.
        site: Where the launcher line or the lab leads; `None` without one.
    """
    from rankwise.errors import RankwiseError
    from rankwise.machine.drawing import draw
    from rankwise.measure.plan import Rank, choose

    terminal = Terminal(args)
    if args.show and site is not None:
        raise RankwiseError(
            f"`{args.show[0]}` and a launcher line: which of them is to be drawn?",
            "leave one of them out",
            status=2,
        )
    network = interfaces = None
    if site is not None:
        from rankwise.measure.measurement import Measurement
        from rankwise.measure.steps import effort

        measurement = Measurement(site, effort(True, None))
        measurement.prepare()
        nodes, plan = measurement.topologies, measurement.plan
    else:
        nodes, network, interfaces = _described(args.show)
        # Two ranks on each of the first nodes that may use every core reach all channels there are.
        free = {
            name: (tuple(range(node.cores)), tuple(pus[0] for pus in node.pus))
            for name, node in nodes.items()
        }
        some = list(nodes)[:2] + [name for name in list(nodes)[2:8] if nodes[name] != nodes[list(nodes)[0]]]
        ranks = [Rank(at, name, *free[name]) for at, name in enumerate(name for name in some for _ in "ab")]
        plan = choose(ranks, {name: nodes[name] for name in some}, lambda one, other: False)
    if args.json:
        terminal.json(_document(nodes, plan))
        return 0
    for line in draw(nodes, network, interfaces):
        terminal.result(line)
    terminal.result("\npairs")
    for channel, pair in plan.pairs.items():
        ends = [f"{end.host} core {end.core}" for end in (pair.source, pair.destination)]
        terminal.result(f"  {channel:8} {ends[0]} - {ends[1]}")
    for channel, reason in plan.missing.items():
        terminal.result(f"  {channel:8} none: {reason}")
    terminal.next(
        "rankwise measure -- mpiexec -n 2"
        if site is None
        else "rankwise measure -- " + shlex.join(site.words)
    )
    return 0


def _described(
    words: list[str],
) -> tuple[dict[str, NodeTopology], FatTree | Torus | Dragonfly | None, Interfaces | None]:
    """Nodes by name, the switches between them, and the interfaces of each, of a machine that is drawn alone."""
    from rankwise.errors import RankwiseError
    from rankwise.machine.file import load
    from rankwise.machine.nodes import topology_of_nodes
    from rankwise.machine.topology import describe, from_this_machine

    if not words:
        return {"here": from_this_machine()}, None, None
    nodes: dict[str, NodeTopology] = {}
    network = interfaces = None
    for word in words:
        if word.endswith(".toml"):
            machine = load(word)
            some = topology_of_nodes(machine.node, Path(word).parent).nodes
            if machine.network is not None and len(words) > 1:
                raise RankwiseError(f"`{word}` has switches between its nodes; draw it alone", status=2)
            network = machine.network
            interfaces = machine.interfaces if len(words) == 1 else None
        else:
            some = (describe(word),)
        for node in some[:MOST_NODES]:
            nodes[f"n{len(nodes)}"] = node
        if network is not None and len(some) > MOST_NODES:
            network = None
    return nodes, network, interfaces


def _document(nodes: Mapping[str, NodeTopology], plan: Plan) -> dict[str, Any]:
    alike: dict[str, dict[str, Any]] = {}
    for name, node in nodes.items():
        about = alike.setdefault(node.sha256, {"names": [], **node.to_dict()})
        about["names"].append(name)
    return {
        "schema": "rankwise.topology/1",
        "nodes": list(alike.values()),
        "pairs": {
            channel: {
                side: {"host": end.host, "core": end.core, "os_index": end.pu}
                for side, end in (("source", pair.source), ("destination", pair.destination))
            }
            for channel, pair in plan.pairs.items()
        },
        "not_reached": plan.missing,
    }
