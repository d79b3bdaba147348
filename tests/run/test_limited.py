# SPDX-License-Identifier: BSD-3-Clause
"""A launch with a limit of time: its status and output, and what is left of it if it takes longer."""

import os
import subprocess

import pytest
import waiting

from rankwise.launchers.line import Launch
from rankwise.run.limited import run_limited


def test_the_status_and_all_output_are_there(tmp_path):
    with open(tmp_path / "said", "wb") as output:
        status = run_limited(Launch(["sh", "-c", "echo out; echo err >&2; exit 3"]), 60, output)
    assert status == 3
    assert (tmp_path / "said").read_text() == "out\nerr\n"


@pytest.mark.parametrize("asked", ["", "trap '' TERM;"])
def test_what_takes_longer_is_ended_with_all_that_it_started(tmp_path, monkeypatch, asked):
    # GIVEN a launcher with a child, which ends when it is asked to or does not
    monkeypatch.setattr("rankwise.run.limited._PATIENCE_AFTER_SIGNAL_S", 0.3)
    words = f"{asked} sleep 60 & echo $! >{tmp_path}/child; wait; sleep 60"
    with open(tmp_path / "said", "wb") as output, pytest.raises(subprocess.TimeoutExpired):
        run_limited(Launch(["sh", "-c", words]), 1.0, output)
    child = int((tmp_path / "child").read_text())
    assert waiting.until(lambda: waiting.has_ended(child))


def test_ctrl_c_ends_it_too(tmp_path, monkeypatch):
    started = []

    def interrupted(process, timeout=None):
        if not started:
            started.append(process.pid)
            raise KeyboardInterrupt
        return wait(process, timeout)

    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with open(tmp_path / "said", "wb") as output, pytest.raises(KeyboardInterrupt):
        run_limited(Launch(["sleep", "60"]), 60, output)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
