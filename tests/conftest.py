# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all rooms: the MPI libraries at hand and programs compiled with them."""

from pathlib import Path

import mpis
import pytest

# Rooms whose tests start processes that share this machine's cores with whatever else runs there.
STARTING_PROCESSES = (
    "cli",
    "collectives",
    "lab",
    "launchers",
    "measure",
    "record",
    "run",
    "trace",
    "workloads",
)


def pytest_collection_modifyitems(items):
    """Try tests that start processes once more when they fail: on a starved machine any of them meets a time limit.

    What fails twice fails; what was tried again is in the summary.
    """
    rooms = {Path(__file__).parent / room for room in STARTING_PROCESSES}
    for item in items:
        if rooms.intersection(item.path.parents) or "mpi" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))


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
