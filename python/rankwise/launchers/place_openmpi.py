# SPDX-License-Identifier: BSD-3-Clause
"""Placing ranks with Open MPI: a rank file in logical cores.

Both 4.1 and 5.0 count cores as hwloc does. 5.0 wants as many slots on a host as its ranks have cores together, and
`overload-allowed` where ranks share a core; 4.1 asks for neither (seen with 4.1.8 and 5.0.11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.errors import RankwiseError
from rankwise.launchers import placed
from rankwise.launchers.line import LaunchLine
from rankwise.launchers.placed import Emitted, Placing

SUFFIXES = (".hosts", ".rankfile")
CONFLICTING = """
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


def emit(placing: Placing) -> Emitted:
    """A rank file, and a host file where no batch system gives the hosts; or ranks in sequence, not bound."""
    by_host, placement = placing.by_host, placing.placement
    hosts, ranks = (placing.file(suffix) for suffix in SUFFIXES)
    if placing.nodes is None:
        # The sequential mapper takes the n-th line for rank n.
        mapper = ["--mca", "rmaps", "seq"] if placing.launcher.kind == "orterun" else ["--map-by", "seq"]
        options = [mapper, ["--hostfile", str(hosts)], ["--bind-to", "none"]]
        return Emitted(options, {hosts: [by_host.hosts[at] for at in by_host.of_rank]})
    emitted = Emitted([], {})
    # Slurm's allocation is known to Open MPI; a host file would only narrow it.
    if "SLURM_JOB_NODELIST" not in placing.inherited:
        slots = [sum(len(placement.cores_of(rank)) for rank in of_host) for of_host in by_host.ranks]
        emitted.files[hosts] = [
            f"{host} slots={count}" for host, count in zip(by_host.hosts, slots, strict=True)
        ]
        emitted.options.append(["--hostfile", str(hosts)])
    if placing.launcher.kind == "orterun":
        emitted.options.append(["-rf", str(ranks)])
    else:
        if set(":,") & set(str(ranks)):
            raise RankwiseError(
                f"Open MPI cannot be given the rank file `{ranks}`: its name has a colon or a comma",
                "work in a directory without one in its name",
            )
        emitted.options.append(["--map-by", f"rankfile:FILE={ranks}"])
        if not placement.injective:
            emitted.options.append(["--bind-to", "core:overload-allowed"])
    emitted.files[ranks] = [
        f"rank {rank}={by_host.hosts[host]} slot={_ranges(placement.cores_of(rank))}"
        for rank, host in enumerate(by_host.of_rank)
    ]
    return emitted


def _ranges(cores: Sequence[int]) -> str:
    """Ascending numbers as `0-3,6`."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and runs[-1][1] + 1 == core:
            runs[-1][1] = core
        else:
            runs.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def refuse(line: LaunchLine, inherited: Mapping[str, str]) -> None:
    """Raise if parameters of the line or the environment place or bind ranks."""
    for option in (option for segment in line.segments for option in segment.options):
        if option.name.endswith("mca") and option.values and option.values[0] in _CONFLICTING_PARAMETERS:
            raise placed.conflict(" ".join(option.words))
    for name, value in inherited.items():
        prefix = next((each for each in _PREFIXES if name.startswith(each)), None)
        if prefix and name.removeprefix(prefix) in _CONFLICTING_PARAMETERS:
            raise placed.conflict(f"{name}={value}")
