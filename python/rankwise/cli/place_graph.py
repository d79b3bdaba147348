# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise place --graph`: the ranks of a METIS graph on a hierarchy."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError
from rankwise.quantities import count_text, share_text

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.placement.graph import Graph, GraphResult, Hierarchy

SCHEMA = "rankwise.place-graph/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of graphs."""
    group = parser.add_argument_group("graphs, without a recording and a machine file")
    group.add_argument("--graph", metavar="FILE", help="a METIS graph: who talks to whom, and how much")
    group.add_argument(
        "--hierarchy",
        metavar="A:B:...:N",
        help="how many parts each level has, cores first, nodes last; `N`: as many nodes as needed",
    )
    group.add_argument("--distances", metavar="A:B:...", help="cost of a unit of weight at each level")
    group.add_argument(
        "--grid",
        metavar="AxBxC",
        help="shape of the grid of ranks, slowest dimension first; default: looked for in the graph",
    )


def run(args: argparse.Namespace) -> int:
    """Search, write the cores, print the costs beside the bound."""
    from pathlib import Path

    from rankwise.cli.terminal import Terminal
    from rankwise.placement.graph import (
        Hierarchy,
        load_cores,
        load_graph,
        parse_grid,
        place_graph,
        save_cores,
    )
    from rankwise.whole_files import check_free

    terminal = Terminal(args)
    for option in ("hierarchy", "distances"):
        if not getattr(args, option):
            raise RankwiseError(
                f"`--graph` needs `--{option}`",
                "for example `--hierarchy 8:4:2:N --distances 1:3:10:50`",
                status=2,
            )
    output = Path(args.output) if args.output else Path(args.graph).with_suffix(".cores")
    check_free(output, args.force)
    graph = load_graph(args.graph)
    hierarchy = Hierarchy.parse(args.hierarchy, args.distances, graph.vertices)
    grid = parse_grid(args.grid, graph.vertices) if args.grid else ()
    given = [load_cores(args.current, graph.vertices, hierarchy.cores)] if args.current else []
    start = time.monotonic()
    with terminal.progress("searching", 100) as update:
        result = place_graph(
            graph, hierarchy, seed=args.seed, budget_s=args.budget, never_busier=args.objective in ("time", "network"),
            grid=grid, given=given,
            progress=lambda name, cost, busiest: update(
                min(99, int(100 * (time.monotonic() - start) / (args.budget or 10))), f"{_text(cost)} ({name})"
            ),
        )  # fmt: skip
    save_cores(result.placements[-1].core, output)
    if terminal.as_json:
        terminal.json(_document(args, str(output), graph, hierarchy, result))
        return 0
    _show(terminal, hierarchy, result)
    terminal.wrote(output)
    return 0


def _show(terminal: Terminal, hierarchy: Hierarchy, result: GraphResult) -> None:
    best = result.placements[-1]
    rows = []
    for each in result.placements:
        name = f"best: {each.name}" if each is best else each.name
        over = "" if each is best else _more(each.cost, best.cost)
        rows.append([name, _text(each.cost), over, _text(each.busiest)])
    terminal.table(["placement", "weight x distance", "", "busiest node"], rows)
    terminal.result(f"\n{_how_good(best.cost, result.lower_bound)}")
    known = min(result.placements[:-1], key=lambda each: each.cost)
    if best.busiest > known.busiest:
        terminal.note(
            f"its busiest node has {_text(best.busiest)}, that of {known.name} {_text(known.busiest)}; "
            "`--objective time` takes no placement with a busier node"
        )
    if result.interrupted:
        terminal.note("interrupted: this is the best so far")


def _how_good(cost: float, lower_bound: float) -> str:
    """What the lower bound says of the best placement that was found."""
    proven = f"it is proven that no placement is below {_text(lower_bound)} (docs/internals/search.md)"
    if cost <= lower_bound:
        return f"{proven}:\nthe best one here cannot be improved"
    if lower_bound <= 0:
        return proven
    return f"{proven}:\nthe best one here is {share_text(cost / lower_bound - 1, 1)} above that"


def _text(weight: float) -> str:
    """With three digits from a thousand on; distances may make a small one broken."""
    return f"{weight:.4g}" if weight < 1000 else count_text(round(weight))


def _more(value: float, reference: float) -> str:
    return (
        share_text(value / reference - 1, 1, "+")
        if reference > 0
        else ("+0.0 %" if value == reference else "")
    )


def _document(
    args: argparse.Namespace, output: str, graph: Graph, hierarchy: Hierarchy, result: GraphResult
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "graph": args.graph,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "hierarchy": list(hierarchy.parts),
        "distances": list(hierarchy.distances),
        "seed": args.seed,
        "output": output,
        "placements": [
            {"name": each.name, "cost": each.cost, "busiest_node": each.busiest} for each in result.placements
        ],
        "lower_bound": result.lower_bound,
        "interrupted": result.interrupted,
    }
