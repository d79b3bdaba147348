# SPDX-License-Identifier: BSD-3-Clause
"""Labs that commands bring up for themselves: down when the command ends, and nobody else's are touched."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rankwise.lab import own_lab
from rankwise.owner import write_owner

ENDED = 128 + signal.SIGTERM


@pytest.fixture
def labs(tmp_path, monkeypatch):
    """What is done with labs that are not there: names in the order in which they come up and go down."""
    done = []
    found = SimpleNamespace(done=done, during={}, planned=SimpleNamespace(name="mine", directory=tmp_path))

    def doing(what, name):
        done.append(f"{what} {name}")
        found.during.get(what, lambda: None)()

    def bring_up(planned):
        doing("up", planned.name)
        return planned

    monkeypatch.setattr(own_lab, "bring_up", bring_up)
    monkeypatch.setattr(own_lab, "take_down", lambda name: doing("down", name))
    monkeypatch.setattr(own_lab, "directory_of", lambda name: tmp_path / name)
    before = signal.getsignal(signal.SIGTERM)
    yield found
    assert signal.getsignal(signal.SIGTERM) is before


def asked_to_end():
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("when", ["up", "inside", "down"])
def test_sigterm_takes_the_lab_along_whenever_it_comes(labs, when):
    # GIVEN SIGTERM while the lab comes up, is up, or goes down
    labs.during[when] = asked_to_end
    inside = []
    with pytest.raises(SystemExit) as ended, own_lab.own_lab(labs.planned):
        inside.append("inside")
        labs.during.get("inside", lambda: None)()
    # THEN it was up and is down, each once and whole, and the status is that of the signal
    assert labs.done == ["up mine", "down mine"]
    assert ended.value.code == ENDED
    assert inside == ([] if when == "up" else ["inside"])


def test_a_lab_that_did_not_come_up_is_not_taken_down(labs):
    # GIVEN a name that is in use, by a lab of somebody else
    def in_use():
        raise ValueError("is up already")

    labs.during["up"] = in_use
    with pytest.raises(ValueError, match="is up already"), own_lab.own_lab(labs.planned):
        pass
    assert labs.done == ["up mine"]


def owned_by(directory, pid, later_ticks=0):
    """A lab that a process of this number owns, which started so much later than this one."""
    directory.mkdir()
    write_owner(directory / own_lab.OWNER)
    boot, namespace, _, started = (directory / own_lab.OWNER).read_text().split()
    (directory / own_lab.OWNER).write_text(f"{boot} {namespace} {pid} {int(started) + later_ticks}\n")


def test_labs_of_killed_commands_alone_are_removed(labs, tmp_path, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    # GIVEN labs of a command that is gone, of one whose number is another process's by now, and of one that lives
    owned_by(tmp_path / "validate-1", gone.pid)
    owned_by(tmp_path / "validate-2", os.getpid(), later_ticks=-1)
    owned_by(tmp_path / "validate-3", os.getpid())
    # AND one that a user called as such labs are called
    (tmp_path / "validate-99999999").mkdir()
    monkeypatch.setattr(own_lab, "running", lambda: sorted(each.name for each in tmp_path.iterdir()))
    own_lab.remove_orphans()
    assert labs.done == ["down validate-1", "down validate-2"]


COMES_UP = """
import time
from rankwise.lab.own_lab import own_lab
from rankwise.lab.up import plan_lab
with own_lab(plan_lab("mine", 2, 1, 1e7)):
    time.sleep(60)
"""


@pytest.mark.root
def test_nothing_is_left_of_a_lab_whose_command_is_told_to_end_while_it_comes_up(line):
    coming = subprocess.Popen([sys.executable, "-c", COMES_UP], env=line.environment)
    while not (line.directory / "rankwise" / "labs" / "mine").exists():
        assert coming.poll() is None
    coming.terminate()
    assert coming.wait(60) == ENDED
    assert line("status").stdout == "no lab is up\n"
