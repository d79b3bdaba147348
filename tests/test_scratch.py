# SPDX-License-Identifier: BSD-3-Clause
"""Directories in /tmp: none is left, whatever ends the process that made it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rankwise.scratch import remove_abandoned, scratch

MAKE = """
import sys
from rankwise.scratch import scratch
with scratch("test") as directory:
    (directory / "in it").touch()
    print(directory, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_directory_of_a_process_that_was_killed_goes_at_the_latest_with_the_next(temporary, number):
    # GIVEN a process in the middle of work with its directory
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    left = Path(process.stdout.readline().strip())
    assert left.parent == temporary and (left / "in it").exists()
    # WHEN it is killed
    process.send_signal(number)
    process.communicate()
    # THEN the next leaves nothing there
    with scratch("test") as directory:
        assert os.listdir(temporary) == [directory.name]
    assert os.listdir(temporary) == []


def test_an_error_leaves_none(temporary):
    with pytest.raises(ValueError), scratch("test"):
        raise ValueError
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    ("limit_s", "left"), [(None, ["rankwise-test-new", "rankwise-test-old"]), (60, ["rankwise-test-new"])]
)
def test_one_that_nobody_owns_goes_when_it_is_old_where_that_is_asked_for(temporary, limit_s, left):
    # GIVEN directories whose makers were killed, or are about to say who they are
    for name, age_s in (("new", 0), ("old", 3600)):
        directory = temporary / f"rankwise-test-{name}"
        directory.mkdir()
        os.utime(directory, (time.time() - age_s,) * 2)
    remove_abandoned(temporary, "rankwise-test-", limit_s)
    assert sorted(os.listdir(temporary)) == left


def test_an_old_one_stays_while_a_process_names_it(temporary):
    # GIVEN a name that no other test has, as names are looked for in all processes
    directory = temporary / f"rankwise-test-named-{os.getpid()}"
    directory.mkdir()
    os.utime(directory, (0, 0))
    # A process that says something has its environment: while it is executed, that is empty for a moment.
    named = {"WHERE": str(directory)}
    process = subprocess.Popen(
        ["sh", "-c", "echo; read line"], env=named, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    remove_abandoned(temporary, "rankwise-test-", 60)
    assert directory.exists()
    process.communicate()
    remove_abandoned(temporary, "rankwise-test-", 60)
    assert not directory.exists()
