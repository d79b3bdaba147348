# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all rooms: the MPI libraries at hand and programs compiled with them."""

from pathlib import Path

import mpis
import pytest


@pytest.fixture(
    scope="session", params=mpis.installed() or [None], ids=lambda mpi: mpi.name if mpi else "none"
)
def mpi(request) -> mpis.Mpi:
    """Each MPI library at hand; run tests/install_mpis.sh first."""
    if request.param is None:
        pytest.fail("no MPI at hand; run `bash tests/install_mpis.sh .venv/bin`")
    return request.param


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Function (mpi, source, *flags) -> executable; each is compiled once a session."""
    cache: dict[tuple, Path] = {}
    directory = tmp_path_factory.mktemp("programs")

    def build(mpi: mpis.Mpi, source: str, *flags: str) -> Path:
        key = (mpi.name, source, flags)
        if key not in cache:
            output = directory / f"{Path(source).stem}.{mpi.name}.{len(cache)}"
            cache[key] = mpi.compile(source, output, *flags)
        return cache[key]

    return build
