# SPDX-License-Identifier: BSD-3-Clause
"""The workloads as MPI programs."""

from pathlib import Path

import mpis
import pytest

ROOM = mpis.TOP / "workloads"
MAIN = ROOM / "main.c"
SOURCES = sorted(
    path for path in ROOM.rglob("*.c") if path != MAIN and path.parent.name not in ("startup", "kernels")
)
FLAGS = ["-std=c11", "-O0", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOM}"]


@pytest.fixture(scope="session")
def workload_program(tmp_path_factory):
    """Function (mpi, name) -> executable; each is compiled once a session, with warnings as errors."""
    directory = tmp_path_factory.mktemp("workloads")
    built: dict[tuple[str, str], Path] = {}
    objects: dict[str, list[str]] = {}

    def compiled(mpi: mpis.Mpi) -> list[str]:
        """Objects of all but the main program, which all workloads have in common."""
        if mpi.name not in objects:
            objects[mpi.name] = [
                str(mpi.compile(source, directory / f"{source.stem}.{mpi.name}.o", "-c", *FLAGS))
                for source in SOURCES
            ]
        return objects[mpi.name]

    def build(mpi: mpis.Mpi, name: str, *others: Path) -> Path:
        if (mpi.name, name) not in built:
            more = [str(path) for path in others]
            flags = [*FLAGS, f"-DWORKLOAD=workload_{name}", *more, *compiled(mpi), "-lm"]
            built[mpi.name, name] = mpi.compile(MAIN, directory / f"{name}.{mpi.name}", *flags)
        return built[mpi.name, name]

    return build
