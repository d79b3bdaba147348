# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks really ran, as record/placement (binding.c, reorder.c) left it, beside where they should have run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology
from rankwise.record.library import BINDING, library_directory


@dataclass(frozen=True)
class Bound:
    """Where one rank ran: `pus` are OS indices."""

    host: str
    pus: frozenset[int]


@dataclass(frozen=True)
class Astray:
    """A rank that ran elsewhere than planned."""

    rank: int
    wanted: Bound
    got: Bound


@dataclass(frozen=True)
class Verification:
    """Where the ranks of a run were.

    Attributes:
        ranks: How many there should have been.
        hosts: On how many hosts.
        astray: Ranks that ran elsewhere than planned.
        unknown: Ranks of which nothing is known.
    """

    ranks: int
    hosts: int
    astray: list[Astray]
    unknown: list[int]


def variables(directory: Path) -> dict[str, str]:
    """Environment of ranks that shall say in this directory where they run."""
    return {"LD_PRELOAD": str(library_directory() / BINDING), "RANKWISE_BINDING": str(directory)}


def read(directory: Path) -> dict[int, Bound]:
    """Where each rank ran.

    Of a rank's processes (a shell that starts the program, what the program starts) the first that uses MPI
    counts, else the first; of a process that became another program, the last line. Renumbered ranks count most.
    """
    lines = []
    for file in sorted(directory.iterdir()):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            if len(words) == 5 and all(word.isdigit() for word in words[:4]):
                rank, pid, time_ns, mpi = map(int, words[:4])
                lines.append((time_ns, rank, mpi, (file.name, pid), words[4]))
    lines.sort(key=lambda line: line[0])
    chosen: dict[int, tuple[int, tuple[str, int], str]] = {}
    for _, rank, mpi, process, pus in lines:
        before = chosen.get(rank)
        if before is None or mpi > before[0] or (mpi == before[0] and process == before[1]):
            chosen[rank] = (mpi, process, pus)
    return {rank: Bound(process[0], _pus(pus)) for rank, (_, process, pus) in chosen.items()}


def planned(placement: Placement, nodes: Sequence[NodeTopology]) -> list[Bound]:
    """Where each rank should run.

    Args:
        placement: Its node names are hosts.
        nodes: The topology of each of its nodes.
    """
    return [
        Bound(
            placement.node_names[node],
            frozenset(pu for core in placement.cores_of(rank) for pu in nodes[node].pus[core]),
        )
        for rank, node in enumerate(placement.node.tolist())
    ]


def compare(wanted: Sequence[Bound], found: Mapping[int, Bound]) -> Verification:
    """Compare where ranks ran with where they should have run.

    Args:
        wanted: By rank, as of `planned`.
        found: Where they ran, as of `read`.
    """
    astray, unknown = [], []
    aliases = _aliases(wanted, found)
    for rank, each in enumerate(wanted):
        got = found.get(rank)
        if got is None:
            unknown.append(rank)
        elif got.pus != each.pus or got.host != aliases[each.host]:
            astray.append(Astray(rank, each, got))
    return Verification(len(wanted), len({each.host for each in wanted}), astray, unknown)


def _aliases(wanted: Sequence[Bound], found: Mapping[int, Bound]) -> dict[str, str]:
    """What each host calls itself.

    A launch line may know it by an address or the name of another interface, so a host that no name fits is the
    one where the first of its ranks ran, if no other name fits that.
    """
    said = {bound.host for bound in found.values()}
    short = {_short(host): host for host in said}
    hosts = [each.host for each in wanted]
    names = {name: short[_short(name)] for name in hosts if _short(name) in short}
    for rank, name in enumerate(hosts):
        if name not in names and rank in found and found[rank].host not in names.values():
            names[name] = found[rank].host
    return {name: names.get(name, name) for name in hosts}


def _short(host: str) -> str:
    """A host name without its domain; an address as it is."""
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]


def _pus(text: str) -> frozenset[int]:
    ranges = (part.partition("-") for part in text.split(","))
    return frozenset(pu for first, dash, last in ranges for pu in range(int(first), int(last or first) + 1))


def text_of(pus: Iterable[int]) -> str:
    """PUs as `record/placement/binding_line.c` writes them: `0-3,8`."""
    runs: list[list[int]] = []
    for pu in sorted(set(pus)):
        if runs and runs[-1][1] + 1 == pu:
            runs[-1][1] = pu
        else:
            runs.append([pu, pu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
