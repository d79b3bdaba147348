# SPDX-License-Identifier: BSD-3-Clause
"""The workloads as MPI programs."""

from pathlib import Path

import mpis
import pytest

SOURCES = sorted((mpis.TOP / "workloads").glob("*.c"))


@pytest.fixture(scope="session")
def workload_program(tmp_path_factory):
    """Function (mpi, name) -> executable; each is compiled once a session, with warnings as errors."""
    directory = tmp_path_factory.mktemp("workloads")
    built: dict[tuple[str, str], Path] = {}

    def build(mpi: mpis.Mpi, name: str) -> Path:
        if (mpi.name, name) not in built:
            first, *others = map(str, SOURCES)
            flags = [
                "-std=c11",
                "-D_GNU_SOURCE",
                "-Wall",
                "-Wextra",
                "-Werror",
                f"-DWORKLOAD=workload_{name}",
                "-lm",
            ]
            built[mpi.name, name] = mpi.compile(
                Path(first), directory / f"{name}.{mpi.name}", *others, *flags
            )
        return built[mpi.name, name]

    return build
