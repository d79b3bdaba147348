# SPDX-License-Identifier: BSD-3-Clause
"""Work in a child may end in any way."""

import faulthandler
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from rankwise.errors import RankwiseError
from rankwise.record import apart


def test_what_the_child_found_is_returned():
    assert apart.do_apart(lambda: ["one", "two"]) == ["one", "two"]


def test_a_child_that_is_killed_raises_an_error_here():
    with pytest.raises(apart.NotDone, match="memory was short"):
        apart.do_apart(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_child_that_aborts_leaves_no_word_on_stderr(capfd):
    with pytest.raises(apart.NotDone):
        apart.do_apart(lambda: (faulthandler.disable(), os.write(2, b"a panic"), os.abort()))
    assert capfd.readouterr().err == ""


def test_a_child_without_memory_says_so():
    def takes_all():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
        return [str(len(bytearray(1 << 30)))]

    with pytest.raises(apart.NotDone, match="memory was short"):
        apart.do_apart(takes_all)


def test_the_childs_own_error_is_named():
    def fails():
        raise RankwiseError("no such thing")

    with pytest.raises(apart.NotDone, match="no such thing"):
        apart.do_apart(fails)


def test_a_child_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(apart, "_STALLED_S", 0.2)
    with pytest.raises(apart.NotDone, match="too long"):
        apart.do_apart(lambda: time.sleep(1000))


TOLD = """
import os, signal, time
from rankwise.record import apart

def tells():
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1000)

try:
    apart.do_apart(tells)
except apart.NotDone as error:
    print(error)
"""


def test_sigterm_ends_the_child_and_not_us():
    # GIVEN a process without other threads, as the kernel may give the signal to any that does not block it
    done = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted\n")
