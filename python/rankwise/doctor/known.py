# SPDX-License-Identifier: BSD-3-Clause
"""What this version of a launcher is known to do with the options given, each with who says so.

Nothing is here without a source; `seen` names what was tried with that version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankwise.launchers.line import LaunchLine, Segment

_NEWS = "Slurm's release notes of 22.05, in github.com/reframe-hpc/reframe/issues/2655"
_BACK = "github.com/ULHPC/ulhpc-docs/issues/51, github.com/BLAST-WarpX/warpx/pull/5340"
_EXACT = "github.com/SchedMD/slurm/commit/6e13352fc2; gitlab.com/mantik-ai/mantik/-/issues/94"
_SRUN = "srun(1), --cpu-bind"
_MPIRUN4 = "mpirun(1) of Open MPI 4.1"
_MPIRUN5 = "mpirun(1) of Open MPI 5 (docs.open-mpi.org)"
_LOGICAL = "github.com/openpmix/prrte/pull/580 and 2280"
_HYDRA = "`mpiexec -bind-to -help` of MPICH 4.0, 4.3 and 5.0"
_INTEL = "Intel MPI Developer Reference for Linux, Environment Variables for Process Pinning"
# Of mpirun(1) of Open MPI 5.
_RENAMED = {
    "rankfile": "--map-by rankfile:file=FILE",
    "rf": "--map-by rankfile:file=FILE",
    "npernode": "--map-by ppr:N:node",
    "pernode": "--map-by ppr:1:node",
    "npersocket": "--map-by ppr:N:package",
    "bynode": "--map-by node",
    "bycore": "--map-by core",
    "byslot": "--map-by slot",
    "cpus-per-proc": "--map-by OBJECT:PE=N",
    "cpus-per-rank": "--map-by OBJECT:PE=N",
    "bind-to-core": "--bind-to core",
    "bind-to-socket": "--bind-to package",
}
_PLACING = (
    "map-by",
    "bind-to",
    "rankfile",
    "rf",
    "bind-to-core",
    "bind-to-socket",
    "npersocket",
    "cpus-per-proc",
)


@dataclass(frozen=True)
class Known:
    """One fact and its source."""

    what: str
    source: str


def known(line: LaunchLine, environment: Mapping[str, str]) -> list[Known]:
    """What is known of a launch.

    Args:
        line: The launch line.
        environment: What the launcher has.
    """
    kinds = {"srun": _slurm, "orterun": _openmpi4, "prterun": _openmpi5, "hydra": _hydra}
    about = kinds.get(line.launcher.kind)
    if about is None:
        return []
    found = [each for segment in line.segments for each in about(line, segment, environment)]
    return list(dict.fromkeys(found))


def _version(line: LaunchLine) -> tuple[int, ...] | None:
    numbers = re.match(r"(\d+)\.(\d+)", line.launcher.version or "")
    return (int(numbers[1]), int(numbers[2])) if numbers else None


def _slurm(line: LaunchLine, segment: Segment, environment: Mapping[str, str]) -> Iterator[Known]:
    version = _version(line)
    given = segment.last("cpus-per-task", "c")
    of_job, of_srun = environment.get("SLURM_CPUS_PER_TASK"), environment.get("SRUN_CPUS_PER_TASK")
    if version is None:
        return
    if given is None and of_job is not None:
        if version < (22, 5):
            yield Known(f"srun takes `--cpus-per-task={of_job}` from the job", _NEWS)
        elif version < (23, 11) and of_srun is None:
            yield Known(
                f"srun 22.05 to 23.02 does not take `--cpus-per-task={of_job}` from the job: say it again, with "
                f"`-c {of_job}` or `export SRUN_CPUS_PER_TASK={of_job}`",
                _NEWS,
            )
        elif version < (23, 11):
            yield Known(f"srun takes `--cpus-per-task={of_srun}` from SRUN_CPUS_PER_TASK", _NEWS)
        else:
            yield Known(f"srun takes `--cpus-per-task={of_job}` from the job again, since 23.11", _BACK)
    if given is not None and version >= (22, 5):
        yield Known(
            "`--cpus-per-task` implies `--exact` since 22.05: the step gets just the CPUs it asks for, and they may "
            "be hardware threads of the same cores (`--threads-per-core=1` for one a core)",
            _EXACT,
        )
    if segment.last("cpu-bind", "cpu_bind") is None:
        bind = environment.get("SLURM_CPU_BIND")
        if bind:
            yield Known(f"srun takes `--cpu-bind={bind}` from SLURM_CPU_BIND", "srun(1), SLURM_CPU_BIND")
        else:
            yield Known(
                "without `--cpu-bind` srun binds tasks in two cases only: if their number times the CPUs of a task is "
                "the number of sockets, cores or threads of the step, or if the site set TaskPluginParam",
                _SRUN,
            )


def _policy(environment: Mapping[str, str]) -> bool:
    names = ("hwloc_base_binding_policy", "rmaps_base_mapping_policy", "rmaps_default_mapping_policy")
    return any(f"{prefix}_MCA_{name}" in environment for prefix in ("OMPI", "PRTE") for name in names)


def _openmpi4(line: LaunchLine, segment: Segment, environment: Mapping[str, str]) -> Iterator[Known]:
    if segment.last(*_PLACING) is None and not _policy(environment):
        yield Known(
            "without `--map-by` and `--bind-to` 1 or 2 ranks are bound to a core each, and 3 or more to a socket "
            "each. If there are more ranks than slots, they are not bound",
            _MPIRUN4,
        )
    if segment.last("rankfile", "rf") is not None:
        yield Known(
            "rank files count cores logically, as hwloc does, unless `--mca rmaps_rank_file_physical 1`: then a slot "
            "is an OS PU number, and sockets cannot be named",
            _MPIRUN4,
        )
    if segment.last("cpu-set", "cpu-list") is not None:
        yield Known("processor numbers on the line are hwloc's logical core numbers", _MPIRUN4)


def _openmpi5(line: LaunchLine, segment: Segment, environment: Mapping[str, str]) -> Iterator[Known]:
    if segment.last(*_PLACING) is None and not _policy(environment):
        yield Known(
            "without `--map-by` and `--bind-to` 1 or 2 ranks are bound to a core each, and 3 or more to a package "
            "each. If there are more ranks than slots, they are not bound",
            _MPIRUN5,
        )
    for option in segment.options:
        if option.name in _RENAMED:
            yield Known(
                f"`--{option.name}` is an old name: `{_RENAMED[option.name]}` takes its place in Open MPI 5",
                _MPIRUN5,
            )
    mapping = segment.last("map-by")
    numbers = mapping is not None and re.search(r"rankfile|pe-list", " ".join(mapping.values), re.IGNORECASE)
    if numbers or segment.last("rankfile", "rf", "cpu-set", "cpu-list"):
        yield Known(
            "PRRTE takes logical core numbers only, in rank files as in `pe-list`, not OS PU numbers",
            _LOGICAL,
        )


def _hydra(line: LaunchLine, segment: Segment, environment: Mapping[str, str]) -> Iterator[Known]:
    if line.launcher.vendor == "Intel MPI":
        if environment.get("I_MPI_PIN", "on") not in ("0", "off", "no", "disable"):
            yield Known("ranks are pinned unless `I_MPI_PIN=off`; its numbers are the OS PU numbers", _INTEL)
        return
    given = segment.last("bind-to", "binding")
    if given is None and "HYDRA_BINDING" not in environment:
        yield Known("without `-bind-to` ranks are not bound", _HYDRA)
    elif given is not None and given.values and given.values[0].startswith("user:"):
        yield Known(
            "`-bind-to user:` takes OS PU numbers; the n-th rank of every node takes the n-th entry",
            f"{_HYDRA}; seen",
        )
