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
def workload_program(compiled):
    """Function (mpi, name, *sources) -> executable, compiled with warnings as errors."""

    def build(mpi: mpis.Mpi, name: str, *others: Path) -> Path:
        # What all workloads have in common.
        objects = [compiled(mpi, source, "-c", *FLAGS) for source in SOURCES]
        return compiled(
            mpi, MAIN, *FLAGS, f"-DWORKLOAD=workload_{name}", *map(str, (*others, *objects)), "-lm"
        )

    return build
