# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are renumbered inside the program, where the launcher does not place them.

`record/placement/reorder.c` does it; here is what it is told, and what a launch line must be for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers.hosts import distinct
from rankwise.launchers.line import LaunchLine
from rankwise.machine.placement import Placement, default_names
from rankwise.machine.topology import NodeTopology
from rankwise.record.library import REORDER, library_directory
from rankwise.run.binding import text_of

# In record/placement/rank_order.h a host has 64 bytes with its end.
_LONGEST_HOST = 63


def with_hosts(placement: Placement, given: str | None) -> Placement:
    """The placement on hosts that the user names; without, on its own names.

    Raises:
        RankwiseError: There are too few, or one comes twice.
    """
    if given is None:
        return placement
    hosts, count = distinct(given.split(","), "--hosts"), len(placement.node_names)
    if len(hosts) < count:
        raise RankwiseError(
            f"the placement has {count} nodes, `--hosts` {len(hosts)} host{'s' * (len(hosts) != 1)}",
            "name one host for each node, or leave `--hosts` out: any hosts with as many ranks do",
        )
    return replace(placement, node_names=tuple(hosts[:count]))


def check(line: LaunchLine, placement: Placement) -> None:
    """Check that the ranks of a line can be renumbered.

    Raises:
        RankwiseError: It starts several programs, or another number of ranks.
    """
    if len(line.segments) > 1:
        raise RankwiseError(
            "a launch line of several programs cannot be renumbered: which program a rank runs is the launcher's",
            "leave `--reorder` out, and let the launcher place the ranks",
        )
    if line.ranks is not None and line.ranks != placement.ranks:
        raise RankwiseError(
            f"the launch line has {line.ranks} ranks, the placement {placement.ranks}",
            f"use `-n {placement.ranks}`, or make a placement for {line.ranks} ranks",
        )


def by_hosts(placement: Placement) -> list[int]:
    """The ranks in an order that every launcher can deal to the hosts.

    Those of a host follow each other, and the host of rank 0 comes first. Processes that are started in this order,
    each on the seat of its rank, get these ranks when they are renumbered.
    """
    first: dict[int, int] = {}
    nodes = placement.node.tolist()
    for rank, node in enumerate(nodes):
        first.setdefault(node, rank)
    return sorted(range(placement.ranks), key=lambda rank: (first[nodes[rank]], rank))


def order_of(placement: Placement, nodes: Sequence[NodeTopology]) -> str:
    """What the library reads, for the nodes of a placement; those without names of their own may be any hosts."""
    anonymous = placement.node_names == default_names(len(placement.node_names))
    hosts = ["*"] * len(placement.node_names) if anonymous else placement.node_names
    processors = [
        (node, [pu for core in placement.cores_of(rank) for pu in nodes[node].pus[core]])
        for rank, node in enumerate(placement.node.tolist())
    ]
    return order_text(hosts, processors)


def order_text(hosts: Sequence[str], processors: Sequence[tuple[int, Iterable[int]]]) -> str:
    """What the library reads, described in record/placement/rank_order.h.

    Args:
        hosts: Name of each; `*` for any.
        processors: For each rank an index into `hosts`, and OS indices of PUs.
    """
    rows = [f"{host} {text_of(pus)}" for host, pus in processors]
    names = [name[:_LONGEST_HOST] for name in hosts]
    return "\n".join([f"rankwise-reorder/1 {len(rows)} {len(names)}", *names, *rows]) + "\n"


def variables(plan_file: Path, ranks_directory: Path, mpi_library: str | None) -> Mapping[str, str]:
    """Environment of ranks that shall be renumbered, and say where they run.

    Args:
        plan_file: Holds what `order_of` gives.
        ranks_directory: Where the ranks write.
        mpi_library: File of the MPI library that the program will use, as far as known.
    """
    chosen = {
        "LD_PRELOAD": str(library_directory() / REORDER),
        "RANKWISE_REORDER": str(plan_file),
        "RANKWISE_BINDING": str(ranks_directory),
    }
    return chosen | ({"RANKWISE_MPI": mpi_library} if mpi_library else {})
