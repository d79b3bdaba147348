# SPDX-License-Identifier: BSD-3-Clause
"""What ranks said of where they are (`in_rank.py`), read back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rankwise.doctor.in_rank import MARK


class Interface(msgspec.Struct, frozen=True):
    """A network interface; `state` as the kernel says (`up`, `down`), or its kind (`infiniband`, `cxi`)."""

    name: str
    state: str | None
    mbit_per_s: int | None


class Library(msgspec.Struct, frozen=True):
    """An MPI library: where the loader finds it, `None` if there is none, and how that is known."""

    path: str | None
    how: str


class Description(msgspec.Struct, frozen=True):
    """What is the same for all ranks of a node; `topology` is [PU, package, core, NUMA node] of each PU."""

    topology: list[tuple[int, int | None, int | None, int | None]]
    interfaces: list[Interface]
    mpi: Library


class Rank(msgspec.Struct, frozen=True):
    """One process that the launcher started.

    Attributes:
        host: Name of its node.
        rank: The rank the launcher gave, `None` if it gave none.
        rank_from: The variable that said so.
        world_size: How many the launcher says there are.
        starts_mpi: Whether an MPI library would find a process manager (PMI, PMIx) here.
        pid: Process number on its node.
        pus: OS indices it may use.
        ran_on: The PU it was on when it looked.
        memory_nodes: NUMA nodes it may allocate on.
        memory_policy: `default`, `bind:0`, ...
        cpuset: PUs of its cgroup, as the kernel writes them.
        quota_cores: Processor time its cgroup allows, in cores; `None` without limit.
        quota_of: The cgroup that has this limit.
        node: Of the rank that describes its node, `None` of others.
    """

    host: str
    rank: int | None
    rank_from: str | None
    world_size: int | None
    starts_mpi: bool
    pid: int
    pus: list[int]
    ran_on: int | None
    memory_nodes: list[int]
    memory_policy: str | None
    cpuset: str | None
    quota_cores: float | None
    quota_of: str | None
    node: Description | None


@dataclass(frozen=True)
class Node:
    """One node: package, core and NUMA node of each PU by OS index, as far as its kernel says.

    `mpi` is `None` where the rank that was to describe the node said nothing.
    """

    host: str
    package: dict[int, int]
    core: dict[int, tuple[int, int]]
    memory: dict[int, int]
    pus: frozenset[int]
    interfaces: list[Interface]
    mpi: Library | None

    def packages(self, pus: Iterable[int]) -> list[int]:
        """Packages of some PUs."""
        return sorted({self.package[pu] for pu in pus if pu in self.package})

    def cores(self, pus: Iterable[int]) -> set[tuple[int, int]]:
        """Cores of some PUs, as (package, core)."""
        return {self.core[pu] for pu in pus if pu in self.core}

    def memories(self, pus: Iterable[int]) -> list[int]:
        """NUMA nodes of some PUs."""
        return sorted({self.memory[pu] for pu in pus if pu in self.memory})

    def bound_to(self, pus: Iterable[int]) -> str:
        """What PUs are of this node: `nothing` if all of it, else `package`, `NUMA node`, `core`, `3 cores`, ..."""
        own = frozenset(pus)
        if own == self.pus and len(own) > 1:
            return "nothing"
        cores = self.cores(own)
        if len(cores) == 1 or len(own) == 1:
            return "core" if own >= {pu for pu in self.core if self.core[pu] in cores} else "thread"
        for name, of in (("package", self.package), ("NUMA node", self.memory)):
            places = {of[pu] for pu in own if pu in of}
            if len(places) == 1 and own == {pu for pu in of if of[pu] in places}:
                return name
        return f"{len(cores)} cores" if cores else f"{len(own)} PUs"


@dataclass(frozen=True)
class Reports:
    """What came back.

    Attributes:
        ranks: By rank; those without a rank last.
        nodes: By host, in the order of their first ranks.
        unreadable: Lines that could not be understood.
        others: What the launcher itself wrote to stdout.
    """

    ranks: list[Rank]
    nodes: dict[str, Node]
    unreadable: int
    others: list[str]

    def of(self, host: str) -> list[Rank]:
        """The processes of one node."""
        return [rank for rank in self.ranks if rank.host == host]


def read(directory: Path, output: str) -> Reports:
    """What ranks left in a directory, and on stdout where they could not see it.

    Args:
        directory: Has a file a host.
        output: The launcher's stdout.
    """
    ours, others = [], []
    for file in sorted(directory.iterdir()):
        if file.suffix != ".first":
            ours += file.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in output.splitlines():
        before, marked, behind = line.partition(MARK)
        # A launcher may label lines, before and in between where two ranks share one.
        ours += [behind] if marked else []
        others += [] if marked or not before.strip() else [line]
    ranks: list[Rank] = []
    for line in ours:
        with contextlib.suppress(msgspec.MsgspecError):
            ranks.append(msgspec.json.decode(line, type=Rank))
    ranks.sort(key=lambda each: (each.rank is None, each.rank, each.host, each.pid))
    hosts = dict.fromkeys(each.host for each in ranks)
    return Reports(ranks, {host: _node(host, ranks) for host in hosts}, len(ours) - len(ranks), others)


def _node(host: str, ranks: Sequence[Rank]) -> Node:
    own = [each for each in ranks if each.host == host]
    said = next((each.node for each in own if each.node is not None), None)
    rows = said.topology if said else []
    return Node(
        host,
        {pu: package for pu, package, _, _ in rows if package is not None},
        {pu: (package or 0, core) for pu, package, core, _ in rows if core is not None},
        {pu: memory for pu, _, _, memory in rows if memory is not None},
        frozenset(row[0] for row in rows) or frozenset(pu for each in own for pu in each.pus),
        said.interfaces if said else [],
        said.mpi if said else None,
    )
