# SPDX-License-Identifier: BSD-3-Clause
"""Placing ranks with Hydra: a host file with the binding of each host's local ranks, in OS PU numbers.

Hydra deals ranks to the hosts in turn, as many at a time as the host file says, and starts again with the first
(seen with 4.0.2, 4.3.2 and 5.0.2). `-rankmap` gives each rank its host instead: 4.3.2 takes the option and does
not follow it, 5.0.2 does (MPICH pull request 7801). In either case the i-th rank of a host takes the i-th entry
of the host's `binding=user:`. A host must be listed once: twice, its local ranks would count from 0 twice, and
not know each other as neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launcher, LaunchLine
from rankwise.launchers.mpich_mapping import host_order
from rankwise.launchers.placed import CannotDeal, Emitted, Placing
from rankwise.machine.topology import NodeTopology

if TYPE_CHECKING:
    from rankwise.machine.placement import Placement

SUFFIXES = (".hosts",)
CONFLICTING = "rankmap bind-to binding map-by ppn perhost grr rr order-nodes configfile"
RANKMAP_SINCE = (5, 0, 2)
# Linux gives one word of a command line 128 KiB.
_LONGEST_WORD = 120_000


def refuse(line: LaunchLine, inherited: Mapping[str, str]) -> None:
    """Raise if ranks cannot be placed with this launcher."""
    if line.launcher.vendor == "Intel MPI":
        raise RankwiseError(
            "placing ranks with the mpiexec of Intel MPI is not supported",
            "use the mpiexec of MPICH, whose ABI is the same",
        )


def emit(placing: Placing) -> Emitted:
    """A host file, and a rank map where the order of hosts does not say it."""
    by_host = placing.by_host
    counts = dealt(by_host.of_rank)
    hosts = placing.file(SUFFIXES[0])
    options = [["-f", str(hosts)]]
    if counts is None:
        version = version_of(placing.launcher)
        if version and version < RANKMAP_SINCE:
            raise CannotDeal(
                f"mpiexec of MPICH {placing.launcher.version} cannot deal ranks to hosts in this order",
                "use MPICH 5.0.2 or newer, whose `-rankmap` can, or Open MPI, or a placement that is blocked",
            )
        order = host_order(by_host.of_rank, len(by_host.hosts))
        if order is None:
            raise CannotDeal(
                "ranks of MPICH hang in MPI_Init where they are dealt to hosts in this order (docs/place-and-run.md)",
                "use `rankwise run --reorder`, or Open MPI",
            )
        number = {host: at for at, host in enumerate(order)}
        options.append(["-rankmap", rank_map([number[host] for host in by_host.of_rank])])
        counts = {at: len(by_host.ranks[at]) for at in order}
    lines = []
    for at, count in counts.items():
        line = f"{by_host.hosts[at]}:{count}"
        if placing.nodes is not None:
            node = placing.nodes[by_host.nodes[at]]
            pus = ["+".join(map(str, pus_of(placing.placement, node, rank))) for rank in by_host.ranks[at]]
            line += f" binding=user:{','.join(pus)}"
        lines.append(line)
    return Emitted(options, {hosts: lines})


def pus_of(placement: Placement, node: NodeTopology, rank: int) -> tuple[int, ...]:
    """OS indices of the PUs of a rank's cores, ascending."""
    return tuple(sorted(pu for core in placement.cores_of(rank) for pu in node.pus[core]))


def dealt(of_rank: Sequence[int]) -> dict[int, int] | None:
    """Ranks at a time by host, in order, if dealing ranks so in turn gives this sequence of hosts; else `None`."""
    counts: dict[int, int] = {}
    before = None
    for host in of_rank:
        if host != before and host in counts:
            break
        counts[host] = counts.get(host, 0) + 1
        before = host
    turn = [host for host, count in counts.items() for _ in range(count)]
    if all(host == turn[rank % len(turn)] for rank, host in enumerate(of_rank)):
        return counts
    return None


def rank_map(of_rank: Sequence[int]) -> str:
    """Value of `-rankmap`: a list, or where that is too long blocks `(first node, nodes, ranks on each)`."""
    plain = ",".join(map(str, of_rank))
    if len(plain) <= _LONGEST_WORD:
        return plain
    runs: list[list[int]] = []
    for host in of_rank:
        if runs and runs[-1][0] == host:
            runs[-1][1] += 1
        else:
            runs.append([host, 1])
    blocks: list[list[int]] = []
    for host, count in runs:
        if blocks and blocks[-1][2] == count and blocks[-1][0] + blocks[-1][1] == host:
            blocks[-1][1] += 1
        else:
            blocks.append([host, 1, count])
    text = ",".join(f"({first},{hosts},{count})" for first, hosts, count in blocks)
    if len(text) > _LONGEST_WORD:
        raise CannotDeal(
            f"the order of these {len(of_rank)} ranks is too irregular for Hydra's `-rankmap`",
            "use Open MPI, which reads a rank file, or a placement that keeps more neighbours together",
        )
    return text


def version_of(launcher: Launcher) -> tuple[int, ...]:
    """Version of a launcher as numbers; empty if it does not say."""
    digits = (launcher.version or "").split(".")[:3]
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in digits if part)
