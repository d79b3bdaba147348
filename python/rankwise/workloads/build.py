# SPDX-License-Identifier: BSD-3-Clause
"""Compile workloads with the site's own `mpicc`, once for each MPI library."""

from __future__ import annotations

from pathlib import Path

from rankwise import site_build
from rankwise.workloads.catalogue import workload


def build(name: str, launcher: str | None = None) -> Path:
    """Compile a workload, or take it from the cache (see `site_build`).

    Args:
        name: The workload.
        launcher: What will start it, such as `mpiexec.mpich`: the compiler wrapper beside it is taken.

    Returns:
        The MPI program; `--help` says what it takes.

    Raises:
        RankwiseError: There is no such workload, no `mpicc`, or it does not compile.
    """
    chosen = workload(name)
    toolchain = site_build.probe(site_build.find_mpicc(launcher))
    flags = [f"-DWORKLOAD=workload_{chosen.name}"]
    return site_build.build_program(
        name, "workloads", sources_of(chosen.name), toolchain=toolchain, flags=flags
    )


def sources_of(name: str) -> list[str]:
    """What a workload's program is made of: what all have in common, and the folder that it is in."""
    room = site_build.source_room("workloads")
    files = sorted(room.rglob("*.c"))
    own = next(path.parent for path in files if f"workload workload_{name} = " in path.read_text())
    return [
        path.relative_to(room).as_posix()
        for path in files
        if path.parent in (room, room / "mpi", own) and path.name != "list.c"
    ]


def build_startup(launcher: str | None = None) -> Path:
    """Compile a program that starts and ends MPI and does nothing between, or take it from the cache.

    Args:
        launcher: As of `build`.

    Raises:
        RankwiseError: There is no `mpicc`, or it does not compile.
    """
    toolchain = site_build.probe(site_build.find_mpicc(launcher))
    return site_build.build_program("startup", "workloads/startup", toolchain=toolchain)
