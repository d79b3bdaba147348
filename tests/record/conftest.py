# SPDX-License-Identifier: BSD-3-Clause
"""Programs run under the recorder, and what it wrote."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import mpis
import pytest
import raw_reader

from rankwise.record.library import library_directory

# Of tests with the marker `matrix`, these libraries, or the marker's, and its numbers of ranks are not slow.
QUICK = ("mpich-5.0.2", "openmpi-5.0.11")
QUICK_FORTRAN = ("debian-mpich", "debian-openmpi")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow what `make test` leaves to `make test-all`: a part of the matrix is a faithful sample of it."""
    for item in items:
        said = {key: value for each in item.iter_markers("matrix") for key, value in each.kwargs.items()}
        if not said:
            if _is_the_same_again(item):
                item.add_marker(pytest.mark.slow)
            continue
        chosen = item.callspec.params
        quick = QUICK_FORTRAN if chosen.get("name") in ("f08", "use mpi", "mpif.h") else QUICK
        quick = said.get("libraries", quick)
        if chosen["ranks"] not in said["ranks"] or (chosen["mpi"] and chosen["mpi"].name not in quick):
            item.add_marker(pytest.mark.slow)


def _is_the_same_again(item) -> bool:
    """Debian's Open MPI is there for its Fortran: of C programs, the wheel of the same series shows the same."""
    mpi = item.callspec.params.get("mpi") if hasattr(item, "callspec") else None
    if not isinstance(mpi, mpis.Mpi) or mpi.name != "debian-openmpi" or "fortran" in item.name:
        return False
    return any(
        other.version[:2] == mpi.version[:2] for other in mpis.installed() if other.name.startswith("openmpi")
    )


@dataclass
class Recorded:
    """How a recorded program ended and what was recorded, by world rank and thread."""

    run: subprocess.CompletedProcess
    directory: Path
    threads: list[raw_reader.Thread]

    def rank(self, number: int) -> raw_reader.Thread:
        """The first thread of a rank."""
        return next(t for t in self.threads if t.info["world_rank"] == number and t.info["thread"] == 0)


def environment_for(directory: Path, **more: str) -> dict[str, str]:
    """Variables that make a rank record into `directory`."""
    preload = str(library_directory() / "librankwise_record.so")
    return {"LD_PRELOAD": preload, "RANKWISE_DIR": str(directory)} | more


@pytest.fixture(name="environment_for")
def environment_for_recording():
    """Function (directory, more variables) -> variables that make a rank record into it."""
    return environment_for


@pytest.fixture
def recorder(tmp_path):
    """Environment that makes a rank record into `tmp_path`."""
    return environment_for(tmp_path)


@pytest.fixture
def record(tmp_path):
    """Function (mpi, ranks, command..., trace=, expect=, environment=, timeout=) -> Recorded."""

    def run(
        mpi: mpis.Mpi, ranks: int, *command, trace=False, expect=0, environment=None, timeout=120
    ) -> Recorded:
        chosen = environment_for(
            tmp_path, **({"RANKWISE_TRACE": "1"} if trace else {}), **(environment or {})
        )
        done = mpi.run(ranks, *command, environment=chosen, timeout=timeout)
        if expect is not None:
            assert (done.returncode, done.stderr) == (expect, ""), done.stdout
        return Recorded(done, tmp_path, raw_reader.read(tmp_path))

    return run


@pytest.fixture(scope="module")
def record_once(mpi, compiled, tmp_path_factory):
    """Function (source, ranks, trace=) -> threads of a program that several tests look at."""

    def run(source: str, ranks: int, trace: str | None = None) -> list[raw_reader.Thread]:
        directory = tmp_path_factory.mktemp("recording")
        environment = environment_for(directory, **({"RANKWISE_TRACE": trace} if trace else {}))
        done = mpi.run(ranks, compiled(mpi, source), environment=environment)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return raw_reader.read(directory)

    return run
