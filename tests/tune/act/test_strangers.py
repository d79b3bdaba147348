# SPDX-License-Identifier: BSD-3-Clause
"""What others do to a tuner's locks, descriptors and file systems: it is said as it is, and does not last."""

import os
import subprocess
import time

import pytest
from proc_stat import stat_line

from rankwise.doctor import tuning
from rankwise.errors import RankwiseError


@pytest.mark.usefixtures("two_pus")
def test_a_lock_of_a_user_who_cannot_tune_the_process_is_told_from_a_tuners(start, driving):
    if os.geteuid() != 0:
        pytest.skip("the tests run without root")
    # GIVEN two ranks of root, of which another user has locked the one's directory
    rank, other = start(pus={0}), start(pus={1})
    driver = driving(rank, other)
    moves = (rank.pid, "0", "1"), (other.pid, "1", "0")
    locked = ["flock", "--no-fork", f"/proc/{rank.pid}"]
    holder = subprocess.Popen([*locked, "sleep", "60"], user=65534)
    try:
        until = time.monotonic() + 10
        while subprocess.run([*locked[:1], "-n", locked[-1], "true"]).returncode == 0:
            assert time.monotonic() < until
            time.sleep(0.01)
        # WHEN they are to be moved, THEN they are not, and it is said who is to be ended
        assert driver.move(*moves) == (
            f"process {rank.pid} is locked by process `{holder.pid}` of user 65534, which cannot tune it: "
            "it is to be ended first"
        )
    finally:
        holder.kill()
        holder.wait()
    # AND may be once that has ended
    assert driver.move(*moves) == ""


def test_a_rank_that_could_not_be_read_is_tuned_again(driving, tmp_path):
    # GIVEN a rank that is seen
    proc = tmp_path / "proc"
    task = proc / "500/task/500"
    task.mkdir(parents=True)
    for file in (proc / "500/stat", task / "stat"):
        file.write_text(stat_line(500))
    (task / "status").write_text("Name:\ta\nCpus_allowed_list:\t0-1\n")
    driver = driving(lines=[f"proc {proc}", "pid 500"])
    assert [each["pid"] for each in driver.sample()["ranks"]] == [500]
    # WHEN its threads cannot be read, though it lives
    (task / "stat").write_text("")
    # THEN it is left out
    assert driver.sample()["ranks"] == driver.sample("light")["ranks"] == []
    # WHEN they can again, THEN it is seen some seconds later
    (task / "stat").write_text(stat_line(500))
    until = time.monotonic() + 20
    while not (found := driver.sample()["ranks"]):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert [each["pid"] for each in found] == [500]
    assert [each["pid"] for each in driver.sample("light")["ranks"]] == [500]
    # WHEN it has ended, THEN it is not
    for file in (proc / "500/stat", task / "stat"):
        file.write_text(stat_line(500, state="Z"))
    assert driver.sample()["ranks"] == []


@pytest.fixture
def overlaid(tmp_path):
    """A directory of a file system whose files have another device in /proc/locks than stat(2) says."""
    places = {name: tmp_path / name for name in ("lower", "work", "merged")}
    memory = tmp_path / "memory"
    memory.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "none", memory], capture_output=True).returncode == 0
    try:
        for name in ("upper", "work"):
            if made:
                (memory / name).mkdir()
        for place in (places["lower"], places["merged"]):
            place.mkdir()
        options = f"lowerdir={places['lower']},upperdir={memory}/upper,workdir={memory}/work,xino=off"
        line = ["mount", "-t", "overlay", "overlay", "-o", options, places["merged"]]
        if not made or subprocess.run(line, capture_output=True).returncode:
            pytest.skip("no mount namespaces here")
        yield places["merged"]
        subprocess.run(["umount", "-l", places["merged"]], check=True)
    finally:
        subprocess.run(["umount", "-l", memory], capture_output=True)


def test_a_second_tuner_names_the_first_on_any_file_system(start, driving, overlaid):
    # GIVEN a tuner whose state is on such a file system
    first = driving(start(), state=overlaid / "state")
    # WHEN another one begins with this state
    began = time.monotonic()
    second = driving(state=overlaid / "state")
    # THEN it refuses at once, and names the first
    assert second.first == f"error: process `{first.process.pid}` tunes on this node already"
    assert time.monotonic() < began + 5


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ("AutoNUMA", "`rankwise tune` moves bound ranks only"),
        ("AutoNUMA irqbalance", "irqbalance moves interrupts; nobody else moves anything"),
        ("", "nobody else moves processes or interrupts"),
    ],
)
def test_doctor_says_what_is_done_beside_others(found, says, tmp_path, monkeypatch):
    # GIVEN movers beside which ranks are tuned
    program = tmp_path / "movers"
    program.write_text(f"#!/bin/sh\nfor name in {found}; do echo $name; done\n")
    program.chmod(0o755)
    monkeypatch.setattr(tuning, "installed", lambda _: program)
    # THEN that is no failure
    assert says in tuning.movers()
    # AND another one is
    program.write_text("#!/bin/sh\necho AutoNUMA; echo numad\n")
    with pytest.raises(RankwiseError, match="^numad moves processes or pages here, so that"):
        tuning.movers()
