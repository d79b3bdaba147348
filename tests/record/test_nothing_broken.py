# SPDX-License-Identifier: BSD-3-Clause
"""Programs see what they see without the recorder, and run on when it cannot: full, read-only, vanished directories."""

import os
import shutil
import subprocess

import pytest
import raw_reader

from rankwise.record.library import library_directory

pytestmark = pytest.mark.mpi


def test_a_program_sees_the_process_that_it_sees_without_us(mpi, compiled, record):
    # GIVEN a program that looks at its open files, signals, limits and environment
    witness = compiled(mpi, "witness.c")
    plain = mpi.run(2, "env", witness)
    assert plain.returncode == 0 and plain.stdout.count("\n") > 20
    # WHEN it is recorded, with a trace
    recorded = record(mpi, 2, witness, trace=True)
    # THEN it finds them all as they were
    assert recorded.run.stdout.splitlines() == plain.stdout.splitlines()
    assert recorded.rank(0).sent


def under_mount(mpi, tmp_path, options: str, command: list) -> tuple[subprocess.CompletedProcess, list]:
    """Run with a file system of its own at `tmp_path`/small; what was recorded is copied out of it before it goes."""
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    preload = str(library_directory() / "librankwise_record.so")
    variables = {"LD_PRELOAD": preload, "RANKWISE_DIR": str(small), "RANKWISE_TRACE": "1"}
    line = mpi.launch(2, *command, environment=variables)
    script = (
        f"mount -t tmpfs -o size=4m none {small} && mkdir {small}/raw && mount -o remount,{options} {small} && "
        f'{{ "$@"; status=$?; cp -r {small} {kept}; exit $status; }}'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *line],
        env=mpi.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done, raw_reader.read(kept)


needs_mounts = pytest.mark.skipif(
    shutil.which("unshare") is None
    or os.geteuid() != 0
    or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="no mount namespaces here",
)


@pytest.mark.root
@needs_mounts
@pytest.mark.parametrize("kibibytes", [4, 300, 700])
def test_on_a_file_system_that_is_full_the_program_runs_on(mpi, compiled, tmp_path, kibibytes):
    # GIVEN a file system that has room for nothing, for the ranks, or for a part of what they do
    many = compiled(mpi, "unusual.c")
    # WHEN a program is recorded there
    done, threads = under_mount(mpi, tmp_path, f"size={kibibytes}k", [many, "many"])
    # THEN it ends as ever, and either one line says why there is nothing, or what is there says it is not all
    assert (done.returncode, done.stdout) == (0, "")
    if threads:
        assert any(thread.has("full") for thread in threads) or len(threads) < 2
    else:
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("rankwise: nothing is recorded: ")
    for thread in threads:
        thread.events()


@pytest.mark.root
@needs_mounts
def test_in_a_directory_that_is_read_only_nothing_is_recorded_and_one_line_says_so(mpi, compiled, tmp_path):
    done, threads = under_mount(mpi, tmp_path, "ro", [compiled(mpi, "ring.c")])
    assert (done.returncode, done.stdout) == (0, "23 laps\n")
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("rankwise: nothing is recorded: ")
    assert threads == []


def test_when_the_directory_vanishes_the_program_runs_on(mpi, compiled, record):
    recorded = record(mpi, 2, compiled(mpi, "unusual.c"), "vanish", trace=True)
    assert recorded.run.returncode == 0
    assert recorded.threads == []
