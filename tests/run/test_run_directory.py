# SPDX-License-Identifier: BSD-3-Clause
"""The hidden directory of a placed run: the next run removes what a killed one left, and nothing else."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.run.directory import make_run_directory
from rankwise.scratch import remove_scratch

MAKE = (
    "import sys; from rankwise.run.directory import make_run_directory; "
    "print(make_run_directory(), flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def other_run():
    """A process that has made its directory, and lives; and the directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process, Path(process.stdout.readline().strip())
    process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_the_directory_of_a_killed_run_is_removed_by_the_next(other_run):
    process, left = other_run
    assert left.name.startswith(".rankwise-run-") and (left / "ranks").is_dir()
    kill(process)
    new = make_run_directory()
    assert not left.exists() and list(Path().iterdir()) == [Path(new.name)]
    # AND the own one is removed at the end
    remove_scratch(new)
    assert list(Path().iterdir()) == []


def test_the_directory_of_a_run_that_lives_stays(other_run):
    process, living = other_run
    make_run_directory()
    assert (living / "owner").is_file() and process.poll() is None


def test_one_that_a_process_of_the_killed_run_still_names_stays(other_run):
    process, left = other_run
    kill(process)
    for given in (
        {"args": ["cat", "-", str(left / "absent")]},
        {"args": ["cat"], "env": {"PLAN": str(left)}},
    ):
        launcher = subprocess.Popen(
            **given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        # `Popen` returns while the kernel still lays out the new program: until it runs, its arguments read as empty.
        launcher.stdin.write(b"runs\n")
        launcher.stdin.flush()
        assert launcher.stdout.readline() == b"runs\n"
        make_run_directory()
        assert left.exists()
        launcher.communicate()
    make_run_directory()
    assert not left.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda owner: owner.unlink(),
        lambda owner: owner.write_text(""),
        lambda owner: owner.write_bytes(b"\xff\0" * 9),
        # Of another machine, or in another container.
        lambda owner: owner.write_text("x" + owner.read_text()),
        lambda owner: owner.write_text(owner.read_text().replace("pid:[", "pid:[1")),
    ],
)
def test_one_that_is_not_surely_abandoned_stays(other_run, change):
    process, left = other_run
    kill(process)
    change(left / "owner")
    make_run_directory()
    assert left.exists()


def test_a_process_of_the_same_number_is_not_the_owner():
    # GIVEN a directory whose owner had this process' number, and started at another time
    left = make_run_directory()
    owner = (left / "owner").read_text().split()
    assert int(owner[2]) == os.getpid()
    (left / "owner").write_text(" ".join([*owner[:3], str(int(owner[3]) + 1)]))
    make_run_directory()
    assert not left.exists()


def test_a_link_with_such_a_name_is_not_followed(other_run, tmp_path_factory):
    process, left = other_run
    kill(process)
    target = left.rename(tmp_path_factory.mktemp("elsewhere") / "kept")
    left.symlink_to(target)
    make_run_directory()
    assert (target / "owner").exists()
