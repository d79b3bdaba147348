# SPDX-License-Identifier: BSD-3-Clause
"""What a search must keep to: ranks that stay where they are, cores that nobody gets, cores of a rank."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rankwise.errors import RankwiseError
from rankwise.machine.topology import Topology


@dataclass(frozen=True)
class Constraints:
    """Limits of a search.

    Attributes:
        cores_per_rank: Neighbouring cores of one package that each rank gets.
        forbidden: Cores that no rank gets: (node, logical core).
        fixed: Rank -> (node, logical core), the first of its cores.
        keep_nodes: Ranks stay on the nodes of the current placement.
    """

    cores_per_rank: int = 1
    forbidden: frozenset[tuple[int, int]] = frozenset()
    fixed: dict[int, tuple[int, int]] = field(default_factory=dict)
    keep_nodes: bool = False

    @classmethod
    def parse(
        cls,
        topology: Topology,
        ranks: int,
        *,
        fix: Iterable[str] = (),
        forbid: Iterable[str] = (),
        cores_per_rank: int = 1,
        keep_nodes: bool = False,
    ) -> Constraints:
        """Constraints from the words of a command line.

        Args:
            topology: The nodes.
            ranks: Number of ranks.
            fix: Each `RANK=NODE:CORE`.
            forbid: Each `NODE:CORE`, where the node may be `*` for all, and the core a range `A-B`.
            cores_per_rank: Cores of each rank.
            keep_nodes: Ranks stay on their nodes.

        Raises:
            RankwiseError: A rank, node or core that does not exist, or one that is asked for twice.
        """
        if cores_per_rank < 1:
            raise RankwiseError(f"`--cores-per-rank {cores_per_rank}`: a rank has at least one core")
        forbidden: set[tuple[int, int]] = set()
        for text in forbid:
            match = re.fullmatch(r"(\*|\d{1,9}):(\d{1,9})(?:-(\d{1,9}))?", text)
            if not match:
                raise RankwiseError(
                    f"`{text}` is not a core, which is written NODE:CORE",
                    "for example `--forbid 0:3`, `--forbid 2:0-3`, or `--forbid '*:0'` for core 0 of all nodes",
                )
            first, last = int(match[2]), int(match[3] or match[2])
            nodes = range(len(topology.nodes)) if match[1] == "*" else [int(match[1])]
            for node in nodes:
                for core in range(first, last + 1):
                    _check_core(topology, node, core, f"`--forbid {text}`")
                    forbidden.add((node, core))
        fixed: dict[int, tuple[int, int]] = {}
        for text in fix:
            match = re.fullmatch(r"(\d{1,9})=(\d{1,9}):(\d{1,9})", text)
            if not match:
                raise RankwiseError(
                    f"`{text}` does not fix a rank, which is written RANK=NODE:CORE",
                    "for example `--fix 0=0:3`",
                )
            rank, seat = int(match[1]), (int(match[2]), int(match[3]))
            if rank >= ranks:
                raise RankwiseError(
                    f"`--fix {text}`: there is no rank {rank}, the program has {ranks} ranks",
                    "ranks count from 0",
                )
            _check_core(topology, *seat, f"`--fix {text}`")
            if seat in forbidden:
                raise RankwiseError(
                    f"rank {rank} is fixed to core {seat[1]} of node {seat[0]}, which is forbidden"
                )
            if rank in fixed:
                raise RankwiseError(f"rank {rank} is fixed twice")
            if seat in fixed.values():
                other = next(each for each, taken in fixed.items() if taken == seat)
                raise RankwiseError(
                    f"ranks {other} and {rank} are both fixed to core {seat[1]} of node {seat[0]}"
                )
            fixed[rank] = seat
        return cls(cores_per_rank, frozenset(forbidden), fixed, keep_nodes)


def _check_core(topology: Topology, node: int, core: int, what: str) -> None:
    if node >= len(topology.nodes):
        raise RankwiseError(
            f"{what}: there is no node {node}, the machine has {len(topology.nodes)} nodes",
            "nodes count from 0",
        )
    if core >= topology.nodes[node].cores:
        raise RankwiseError(
            f"{what}: there is no core {core}, node {node} has {topology.nodes[node].cores} cores",
            "logical cores count from 0",
        )
