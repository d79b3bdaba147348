# SPDX-License-Identifier: BSD-3-Clause
"""Placing ranks with Open MPI: a rank file in logical cores.

Both 4.1 and 5.0 count cores as hwloc does. 5.0 wants as many slots on a host as its ranks have cores together, and
`overload-allowed` where ranks share a core; 4.1 asks for neither (seen with 4.1.8 and 5.0.11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers import placed
from rankwise.launchers.line import Launch, LaunchLine
from rankwise.machine.topology import NodeTopology
from rankwise.placement.placement import Placement

SUFFIXES = (".hosts", ".rankfile")
_CONFLICTING = """
    rf rankfile map-by mapby bind-to bindby rank-by rankby npernode npersocket N ppr pernode bynode bycore byslot
    bind-to-core bind-to-socket cpus-per-proc cpus-per-rank cpu-set cpu-list cartofile use-hwthread-cpus nolocal
    app default-hostfile add-host add-hostfile
"""
_CONFLICTING_PARAMETERS = (
    "rmaps",
    "rmaps_base_mapping_policy",
    "rmaps_base_ranking_policy",
    "rmaps_default_mapping_policy",
    "rmaps_default_ranking_policy",
    "rmaps_rank_file_physical",
    "rmaps_rank_file_path",
    "hwloc_base_binding_policy",
    "hwloc_default_binding_policy",
    "hwloc_base_cpu_list",
    "hwloc_base_use_hwthreads_as_cpus",
    "hwloc_use_hwthreads_as_cpus",
    "hwloc_default_cpu_list",
)
_PREFIXES = ("OMPI_MCA_", "PRTE_MCA_")


def emit_placement(
    line: LaunchLine,
    placement: Placement,
    nodes: Sequence[NodeTopology],
    stem: Path,
    inherited: Mapping[str, str],
) -> Launch:
    """The line with a rank file, and with a host file where no batch system gives the hosts."""
    segments = placed.prepared(line, placement, _CONFLICTING.split())
    _refuse_parameters(line, inherited)
    seats = placed.Seats.of(placement)
    hosts, ranks = (Path(str(stem) + suffix) for suffix in SUFFIXES)
    words = []
    # Slurm's allocation is known to Open MPI; a host file would only narrow it.
    if "SLURM_JOB_NODELIST" not in inherited:
        slots = [sum(len(placement.cores_of(rank)) for rank in of_host) for of_host in seats.ranks]
        placed.write(hosts, [f"{host} slots={count}" for host, count in zip(seats.hosts, slots, strict=True)])
        words.append(["--hostfile", str(hosts)])
    if line.launcher.kind == "orterun":
        words.append(["-rf", str(ranks)])
    else:
        if set(":,") & set(str(ranks)):
            raise RankwiseError(
                f"Open MPI cannot be given the rank file `{ranks}`: its name has a colon or a comma",
                "work in a directory without one in its name",
            )
        words.append(["--map-by", f"rankfile:FILE={ranks}"])
        if not placement.injective:
            words.append(["--bind-to", ":overload-allowed"])
    placed.write(
        ranks,
        [
            f"rank {rank}={seats.hosts[host]} slot={_ranges(placement.cores_of(rank))}"
            for rank, host in enumerate(seats.of_rank)
        ],
    )
    return Launch(placed.with_options(line, segments, words))


def _ranges(cores: Sequence[int]) -> str:
    """Ascending numbers as `0-3,6`."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and runs[-1][1] + 1 == core:
            runs[-1][1] = core
        else:
            runs.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _refuse_parameters(line: LaunchLine, inherited: Mapping[str, str]) -> None:
    for option in (option for segment in line.segments for option in segment.options):
        if option.name.endswith("mca") and option.values and option.values[0] in _CONFLICTING_PARAMETERS:
            raise placed.conflict(" ".join(option.words))
    for name, value in inherited.items():
        prefix = next((each for each in _PREFIXES if name.startswith(each)), None)
        if prefix and name.removeprefix(prefix) in _CONFLICTING_PARAMETERS:
            raise placed.conflict(f"{name}={value}")
