# SPDX-License-Identifier: BSD-3-Clause
"""A placement in the words of launchers that Rankwise does not start itself: their files, and the line that uses them.

What is written follows the launchers' documents and is read back in tests. srun (Slurm 22.05.8) and the mpiexec of
Intel MPI (2021.18) were started with it, two nodes each; the others were not.
Where a launcher has one list of cores for all nodes and the placement needs more, each rank binds itself: the line
starts the program through a small shell script.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.launchers.placed import RanksByHost
from rankwise.machine.topology import NodeTopology

if TYPE_CHECKING:
    from rankwise.machine.placement import Placement

_T = TypeVar("_T")


@dataclass(frozen=True)
class Form:
    """A placement as a launcher takes it.

    Attributes:
        files: Content of each file by what its name ends with.
        line: The launch line, as typed in a shell.
    """

    files: dict[str, str]
    line: str


class _Bindings:
    """What all forms need: the by_host, and the OS numbers of each rank's CPUs."""

    def __init__(self, placement: Placement, nodes: Sequence[NodeTopology]):
        self.placement, self.nodes = placement, nodes
        self.by_host = RanksByHost.of(placement)
        # The first PU of each core: ranks have whole cores, and a list of CPUs has an entry a rank.
        self.cpus = [
            [nodes[node].pus[core][0] for core in placement.cores_of(rank)]
            for rank, node in enumerate(placement.node.tolist())
        ]

    @property
    def ranks(self) -> int:
        return self.placement.ranks

    @property
    def hosts(self) -> list[str]:
        """The host of each rank."""
        return [self.by_host.hosts[host] for host in self.by_host.of_rank]

    @property
    def common(self) -> list[str] | None:
        """CPUs by local rank, if that is the same list on all nodes, as far as they have ranks, and one a rank."""
        if not self.placement.bound.all():
            return None
        lists = [[str(self.cpus[rank][0]) for rank in ranks] for ranks in self.by_host.ranks]
        longest = max(lists, key=len)
        return longest if all(each == longest[: len(each)] for each in lists) else None

    def pin_script(self, variable: str) -> str:
        """A script that binds a process to its rank's cores and becomes the program."""
        lists = " ".join(",".join(map(str, cpus)) for cpus in self.cpus)
        return f'#!/bin/bash\ncpus=({lists})\nexec taskset -c "${{cpus[${variable}]}}" "$@"\n'


def slurm(bound: _Bindings, stem: str) -> Form:
    """Arbitrary distribution: a host a rank; `map_cpu` counts a node's own ranks."""
    files = {".hosts": "\n".join(bound.hosts) + "\n"}
    line = f"SLURM_HOSTFILE={shlex.quote(stem + '.hosts')} srun -n {bound.ranks} -m arbitrary"
    if bound.common:
        return Form(files, f"{line} --cpu-bind=map_cpu:{','.join(bound.common)} ./app")
    files[".pin.sh"] = bound.pin_script("SLURM_PROCID")
    return Form(files, f"{line} --cpu-bind=none bash {shlex.quote(stem + '.pin.sh')} ./app")


def intel(bound: _Bindings, stem: str) -> Form:
    """A machine file; argument sets with each host's full list, as the n-th local rank takes its n-th entry."""
    if not bound.placement.bound.all():
        rank = int(np.argmin(bound.placement.bound))
        raise RankwiseError(
            f"rank {rank} has {len(bound.cpus[rank])} cores; Intel MPI's processor list has one a rank",
            "use another `--format`, or `--cores-per-rank 1`",
        )
    runs = _runs(bound.hosts)
    files = {".machines": "".join(f"{host}:{count}\n" for host, count in runs)}
    if bound.common:
        line = f"mpirun -machinefile {shlex.quote(stem + '.machines')} -n {bound.ranks}"
        return Form(files, f"{line} -env I_MPI_PIN_PROCESSOR_LIST {','.join(bound.common)} ./app")
    lists = {
        host: ",".join(str(bound.cpus[rank][0]) for rank in ranks)
        for host, ranks in zip(bound.by_host.hosts, bound.by_host.ranks, strict=True)
    }
    sets = [
        f"-host {host} -n {count} -env I_MPI_PIN_PROCESSOR_LIST {lists[host]} ./app" for host, count in runs
    ]
    return Form({}, "mpirun " + " : ".join(sets))


def cray(bound: _Bindings, stem: str) -> Form:
    """MPICH_RANK_ORDER: ranks in the order of slots, which are the first cores of each node."""
    placement = bound.placement
    used = bound.by_host.ranks
    each = max(map(len, used))
    for at, ranks in enumerate(used):
        if len(ranks) < each and at + 1 < len(used):
            raise RankwiseError(
                f"rank {ranks[0]} is on a node of {len(ranks)} ranks, others have {each}; MPICH_RANK_ORDER fills nodes",
                "use another `--format`, or a placement that fills all nodes but the last alike",
            )
    order = []
    for ranks in used:
        own = sorted(ranks, key=lambda rank: placement.cores_of(rank))
        for slot, rank in enumerate(own):
            if placement.cores_of(rank) != (slot,):
                raise RankwiseError(
                    f"rank {rank} is on core {placement.cores_of(rank)[0]}, but by MPICH_RANK_ORDER slot {slot} of "
                    f"a node is core {slot}",
                    "use another `--format`, or leave no core of a node empty before others",
                )
        order += own
    line = "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=" + shlex.quote(stem + ".MPICH_RANK_ORDER")
    hosts = ",".join(bound.by_host.hosts)
    line += f" srun -N {len(used)} -n {bound.ranks} --ntasks-per-node={each} -w {shlex.quote(hosts)} -m block:block"
    return Form({".MPICH_RANK_ORDER": ",".join(map(str, order)) + "\n"}, f"{line} --cpu-bind=cores ./app")


def flux(bound: _Bindings, stem: str) -> Form:
    """A task map by RFC 34, blocks of [node, nodes, tasks a node, repeat]; nodes as the job counts them."""
    runs = _runs(bound.by_host.of_rank)
    blocks = ",".join(f"[{node},1,{count},1]" for node, count in runs)
    line = f"flux run -N{len(bound.by_host.hosts)} -n{bound.ranks} --taskmap='manual:[{blocks}]'"
    if bound.common:
        return Form({}, f"{line} -o 'cpu-affinity=map:{';'.join(bound.common)}' ./app")
    files = {".pin.sh": bound.pin_script("FLUX_TASK_RANK")}
    return Form(files, f"{line} -o cpu-affinity=off bash {shlex.quote(stem + '.pin.sh')} ./app")


def pbs(bound: _Bindings, stem: str) -> Form:
    """Open MPI's rank file, with the nodes as the job counts them: `+n0` is the first of PBS_NODEFILE."""
    rows = [
        f"rank {rank}=+n{host} slot={','.join(map(str, bound.placement.cores_of(rank)))}\n"
        for rank, host in enumerate(bound.by_host.of_rank)
    ]
    line = f"mpirun --map-by rankfile:FILE={shlex.quote(stem + '.rankfile')} -n {bound.ranks} ./app"
    return Form({".rankfile": "".join(rows)}, line)


def lsf(bound: _Bindings, stem: str) -> Form:
    """The resource file of jsrun: hosts from 1 in the job's order, hardware threads counted core after core."""
    rows = []
    for rank, host in enumerate(bound.by_host.of_rank):
        first = np.cumsum([0, *(len(pus) for pus in bound.nodes[bound.by_host.nodes[host]].pus)])
        cpus = ",".join(
            f"{first[core]}-{first[core + 1] - 1}" if first[core + 1] - first[core] > 1 else f"{first[core]}"
            for core in bound.placement.cores_of(rank)
        )
        rows.append(f"rank: {rank}: {{ host: {host + 1}; cpu: {{{cpus}}} }}\n")
    text = "cpu_index_using: logical\noverlapping_rs: error\n" + "".join(rows)
    return Form({".erf": text}, f"jsrun --erf_input={shlex.quote(stem + '.erf')} ./app")


FORMS = {"slurm": slurm, "intel": intel, "cray": cray, "flux": flux, "pbs": pbs, "lsf": lsf}
# What the names of their files may end with.
SUFFIXES = {
    "slurm": (".hosts", ".pin.sh"),
    "intel": (".machines",),
    "cray": (".MPICH_RANK_ORDER",),
    "flux": (".pin.sh",),
    "pbs": (".rankfile",),
    "lsf": (".erf",),
}
# They count the job's nodes instead of naming them.
NAMELESS = ("flux", "pbs", "lsf")


def form(name: str, placement: Placement, nodes: Sequence[NodeTopology], stem: PurePath | str) -> Form:
    """A placement in the words of a launcher.

    Args:
        name: One of FORMS.
        placement: Whose nodes are named as the hosts are.
        nodes: Topology of each node.
        stem: Of the names of the files; they are to be written as `stem` + the keys of `Form.files`.

    Raises:
        RankwiseError: The launcher cannot be told this placement; two ranks are on one core.
    """
    seen: dict[tuple[int, int], int] = {}
    for rank, node in enumerate(placement.node.tolist()):
        for core in placement.cores_of(rank):
            if (other := seen.setdefault((node, core), rank)) != rank:
                raise RankwiseError(
                    f"ranks {other} and {rank} are both on core {core} of `{placement.node_names[node]}`",
                    "give each rank cores of its own",
                )
    return FORMS[name](_Bindings(placement, nodes), str(stem))


def _runs(values: Sequence[_T]) -> list[tuple[_T, int]]:
    """Values with how often each follows itself."""
    found: list[tuple[_T, int]] = []
    for value in values:
        if found and found[-1][0] == value:
            found[-1] = (value, found[-1][1] + 1)
        else:
            found.append((value, 1))
    return found
