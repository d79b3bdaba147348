# SPDX-License-Identifier: BSD-3-Clause
"""The program's exit status comes through, whatever memory is left; commands that compute say that it is short."""

import os
import resource
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from launch_lines import launch_line

from rankwise.recording import Recording
from rankwise.site_build import source_room

pytestmark = [pytest.mark.slow, pytest.mark.mpi]

STATUS = 3
PROGRAM = """
#include <mpi.h>
int main(int count, char** words) {
    MPI_Init(&count, &words);
    for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 3;
}
"""
SIZES_MB = (180, 220, 260, 300, 350, 400, 500, 600, 800, 1200)
GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A launch line of two ranks that return 3."""
    return launch_line(tmp_path_factory.mktemp("program"), PROGRAM, 2)


def recorded(line, path, limit) -> subprocess.CompletedProcess:
    mpi, words = line
    command = [sys.executable, "-m", "rankwise", "record", "-o", str(path), "--", *words]
    return subprocess.run(
        command,
        env=mpi.environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def is_right(done, path) -> None:
    assert done.returncode == STATUS
    said = [each for each in done.stderr.splitlines() if each.startswith("rankwise: ")]
    assert 1 <= len(said) <= 3
    unsaid = ("not collected yet: memory may", "not collected yet: status", "IMPORTANT")
    assert not [each for each in unsaid if each in done.stderr]
    assert said[0].startswith(f"rankwise: wrote {path}")
    opened = Recording.open(path)
    assert (opened.context["run"]["exit_status"], opened.world_size) == (STATUS, 2)


@pytest.mark.parametrize("size_mb", SIZES_MB)
def test_the_status_is_the_programs_under_a_limit_of_address_space(line, tmp_path, size_mb):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (size_mb << 20, size_mb << 20))

    is_right(recorded(line, tmp_path / "a.rw", limit), tmp_path / "a.rw")


@pytest.fixture(scope="module")
def traced(line, tmp_path_factory):
    """A traced recording."""
    mpi, words = line
    path = tmp_path_factory.mktemp("traced") / "t.rw"
    command = [sys.executable, "-m", "rankwise", "record", "--trace", "-o", str(path), "--", *words]
    subprocess.run(command, env=mpi.environment(), check=False, timeout=200)
    return path


@pytest.mark.parametrize("size_kb", [100_000, *range(150_000, 600_000, 50_000), 700_000])
def test_commands_that_compute_succeed_or_say_that_memory_is_short(traced, size_kb, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (size_kb << 10, size_kb << 10))

    machine = source_room("machines") / "azure-hbv3.machine.toml"
    for verb, words in {
        "report": ["-o", str(tmp_path / "r.html")],
        "predict": ["--machine", str(machine)],
        "place": ["--machine", str(machine), "--budget", "1s", "-o", str(tmp_path / "p.json")],
    }.items():
        command = [sys.executable, "-m", "rankwise", verb, str(traced), *words]
        done = subprocess.run(
            command, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=200
        )
        assert done.returncode in (0, 1), done.stderr
        assert done.returncode == 0 or "error: memory is short\n" in done.stderr


@pytest.fixture
def group():
    """A memory control group of our own, of version 1 or 2."""
    root = GROUPS / "memory" if (GROUPS / "memory").is_dir() else GROUPS
    made = root / f"rankwise-{uuid.uuid4().hex[:8]}"
    try:
        made.mkdir()
        limit = next(
            (made / name for name in ("memory.max", "memory.limit_in_bytes") if (made / name).exists()), None
        )
    except OSError:
        pytest.skip("no memory control groups here")
    if limit is None:
        made.rmdir()
        pytest.skip("no memory controller here")
    yield made, limit
    made.rmdir()


@pytest.mark.parametrize("size_mb", (90, 100, 110, 120, 140, 160, 180, 200, 250, 300))
def test_the_status_is_the_programs_in_a_small_memory_group(line, tmp_path, group, size_mb):
    made, limit = group
    limit.write_text(str(size_mb << 20))

    def join():
        (made / "cgroup.procs").write_text(str(os.getpid()))

    is_right(recorded(line, tmp_path / "a.rw", join), tmp_path / "a.rw")
