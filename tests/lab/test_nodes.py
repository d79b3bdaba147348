# SPDX-License-Identifier: BSD-3-Clause
"""Labs without MPI: what a node has of its own, and that nothing stays behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import PATIENCE_S, has_ended, until

from rankwise.lab import enter, state, up

pytestmark = pytest.mark.root


def interfaces_of_host():
    return sorted(line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:])


def test_each_node_has_its_own_name_address_shared_memory_and_processes(lab):
    # GIVEN a file in the shared memory of node 0
    lab.on("rw-lab-node0", "sh", "-c", "echo here > /dev/shm/note")
    # THEN it is there, and on no other host
    assert lab.on("rw-lab-node0", "ls", "/dev/shm") == "note\n"
    assert lab.on("rw-lab-node1", "ls", "/dev/shm") == ""
    assert "note" not in os.listdir("/dev/shm")
    # AND the nodes have names, addresses and processes of their own
    assert lab.on("rw-lab-node2", "hostname") == "rw-lab-node2\n"
    assert lab.on("rw-lab-node2", "sh", "-c", "ls /sys/class/net").split() == ["eth0", "lo", "mgmt0"]
    assert lab.on("rw-lab-node2", "getent", "hosts", "rw-lab-node3").split() == ["10.77.0.5", "rw-lab-node3"]
    assert lab.on("rw-lab-node2", "cat", "/proc/1/comm") == "rw-lab-node2\n"


def test_status_names_nodes_and_the_host_pus_behind_their_cores(lab):
    shown = lab("status")
    assert shown.returncode == 0
    assert shown.stdout.startswith("lab `lab`: 4 nodes x 4 cores on ")
    pus = sorted(os.sched_getaffinity(0))
    for node in range(4):
        behind = " ".join(str(pus[(4 * node + core) % len(pus)]) for core in range(4))
        row = next(row for row in shown.stdout.splitlines() if row.startswith(f"rw-lab-node{node} "))
        assert f"10.77.0.{node + 2} " in row
        assert f" {behind} " in row


def test_a_lab_changes_nothing_on_the_host_and_leaves_nothing_behind(line):
    # GIVEN the host's interfaces, mounts and name
    before = interfaces_of_host(), Path("/proc/self/mounts").read_text(), os.uname().nodename
    # WHEN a lab comes up
    assert line("up", "--nodes", 3, "--cores", 1).returncode == 0
    assert (interfaces_of_host(), Path("/proc/self/mounts").read_text(), os.uname().nodename) == before
    pids = [node["pid"] for node in line.state()["nodes"]]
    # AND goes down
    down = line("down")
    # THEN nothing was touched, no process and no file is left
    assert (down.returncode, down.stdout) == (0, "lab `lab` is down\n")
    assert all(has_ended(pid) for pid in pids)
    assert (interfaces_of_host(), Path("/proc/self/mounts").read_text(), os.uname().nodename) == before
    assert list((line.directory / "rankwise" / "labs").glob("*/")) == []


def test_a_lab_comes_up_on_a_host_that_has_mounted_more_in_sys(line):
    # GIVEN a host with a file system in /sys, as most have for tracing and debugging
    own_mounts = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    script = 'mount -t tmpfs none /sys/kernel && "$@" up --nodes 2 --cores 1 && "$@" down'
    words = [*own_mounts, "sh", "-c", script, "sh", sys.executable, "-m", "rankwise", "lab"]
    # WHEN a lab comes up there and goes down
    done = subprocess.run(words, env=line.environment, capture_output=True, text=True, timeout=PATIENCE_S)
    # THEN nothing is in its way
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["lab `lab` is down"]), done.stderr


def test_a_lab_that_was_killed_takes_its_processes_along_and_the_next_command_removes_its_files(line):
    # GIVEN a lab with a process on a node
    assert line("up", "--nodes", 2, "--cores", 1).returncode == 0
    known = line.state()
    state_file = line.directory / "rankwise" / "labs" / "lab" / "lab.json"
    words = [
        sys.executable,
        "-I",
        "-S",
        enter.__file__,
        str(state_file),
        "exec",
        "rw-lab-node1",
        "sleep",
        "300",
    ]
    sleeper = subprocess.Popen(words)
    assert until(lambda: "sleep" in line.on("rw-lab-node1", "sh", "-c", "cat /proc/[0-9]*/comm"))
    # WHEN its keeper is killed
    os.kill(known["front"]["pid"], signal.SIGKILL)
    # THEN the nodes are gone
    assert until(lambda: all(has_ended(node["pid"]) for node in known["nodes"]))
    # AND the next command says so and removes the rest
    status = line("status")
    assert status.stdout == "no lab is up\n"
    assert "removed what was left of lab `lab`, which was killed\n" in status.stderr
    # AND so is the process that ran there
    assert sleeper.wait(timeout=PATIENCE_S) == 128 + signal.SIGKILL


def processes_of(directory):
    """Processes of labs below a directory: a keeper, its nodes, whatever it was forking."""
    found = []
    for entry in (entry for entry in os.listdir("/proc") if entry.isdigit()):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{entry}/cmdline").read_bytes()
            if b"rankwise.lab.keeper" in words and bytes(directory) in words and not has_ended(entry):
                found.append(int(entry))
    return found


@pytest.mark.parametrize(
    "after_s", [0.0, 0.1, 0.3, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.03, 0.2))]
)
def test_a_lab_killed_while_it_comes_up_is_cleaned_by_the_next_command(line, after_s):
    # GIVEN a lab that is coming up, its keeper killed somewhere on the way
    words = [sys.executable, "-m", "rankwise", "lab", "up", "--nodes", "3", "--cores", "1"]
    coming = subprocess.Popen(words, env=line.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert until(lambda: processes_of(line.directory))
    time.sleep(after_s)
    for pid in processes_of(line.directory)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    coming.communicate(timeout=PATIENCE_S)
    # WHEN the next command wants the same name, THEN it gets it, or is told that it was killed too late for that
    again = line("up", "--nodes", 2, "--cores", 1)
    if again.returncode:
        assert "a lab `lab` is up already" in again.stderr
    assert line("down").returncode == 0
    # AND in the end no process and no file is left
    assert until(lambda: not processes_of(line.directory))
    assert list((line.directory / "rankwise" / "labs").glob("*/")) == []


def test_the_command_that_brings_a_lab_up_may_be_killed(line):
    words = [sys.executable, "-m", "rankwise", "lab", "up", "--nodes", "3", "--cores", "1"]
    coming = subprocess.Popen(words, env=line.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert until(lambda: processes_of(line.directory))
    coming.kill()
    coming.communicate(timeout=PATIENCE_S)
    # THEN the lab is there or not, but can be taken down or forgotten, and nothing is left
    assert until(lambda: line("down").returncode == 0 or "no lab is up" in line("status").stdout)
    assert until(lambda: not processes_of(line.directory))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two PUs")
@pytest.mark.parametrize("place", ["apart", "receiving"])
def test_the_switch_runs_apart_from_the_cores_that_receive_or_on_them(line, place):
    # WHEN a lab comes up whose nodes receive on their core 0
    up = line("up", "--nodes", 2, "--cores", 2, "--irq-core", 0, "--switch", place)
    assert up.returncode == 0, up.stderr
    # THEN its switch is kept off these cores, or on them
    lab = line.state()
    front = lab["front"]["pid"]
    children = Path(f"/proc/{front}/task/{front}/children").read_text().split()
    (switch,) = (pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "rankwise-lab-sw\n")
    receiving = {node["cores"][0] for node in lab["nodes"]}
    assert (os.sched_getaffinity(int(switch)) <= receiving) == (place == "receiving")
    assert os.sched_getaffinity(int(switch)).isdisjoint(receiving) == (place == "apart")


def test_a_second_lab_needs_a_second_name(line):
    assert line("up", "--nodes", 1, "--cores", 1).returncode == 0
    # WHEN the name is in use
    again = line("up", "--nodes", 1, "--cores", 1)
    assert again.returncode == 1
    assert again.stderr == (
        "error: a lab `lab` is up already\n\n"
        "hint: take it down with `rankwise lab down`, or choose another name with `--name`\n"
    )
    # THEN another name does it, with the same addresses in a network of its own
    assert line("up", "--name", "two", "--nodes", 1, "--cores", 1).returncode == 0
    assert line.state("two")["nodes"][0]["address"] == line.state()["nodes"][0]["address"]
    assert line.on("rw-two-node0", "hostname", name="two") == "rw-two-node0\n"


def test_a_lab_works_in_a_user_namespace(line, monkeypatch):
    # GIVEN a lab made as a user without rights makes it
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(line.directory))
    plan = up.plan_lab("lab", 2, 1, 12.5e6)
    plan.user_namespace = True
    up.bring_up(plan)
    # THEN its nodes are in a user namespace, and can be entered from outside
    own = os.readlink("/proc/self/ns/user")
    node = state.load("lab").nodes[1]
    assert os.readlink(f"/proc/{node.pid}/ns/user") != own
    assert line.on("rw-lab-node1", "readlink", "/proc/self/ns/user").strip() != own
    assert line.on("rw-lab-node1", "hostname") == "rw-lab-node1\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["down", "--name", "none"], "error: no lab `none` is up; up: `lab`\n"),
        (
            ["run", "-n", "17", "--", "true"],
            "error: `17` ranks do not fit on lab `lab`: 4 nodes of 4 cores have room for 16\n",
        ),
        (["run", "-n", "0", "--", "true"], "error: a program has at least one rank, not `0`\n"),
        (["run"], "error: no program to run in the lab\n"),
        (["run", "--trace", "--", "true"], "error: `--trace` needs a recording to be kept in\n"),
        (["run", "--", "./missing"], "error: there is no program `./missing`\n"),
        (
            ["run", "--allocation", "spiral", "--", "true"],
            "error: `spiral` is not an allocation, which is `blocked`, `cyclic` or `plane=K`\n",
        ),
        (["status", "--", "true"], "error: `rankwise lab status` takes no command after `--`\n"),
    ],
)
def test_bad_input_is_answered_in_one_sentence_with_a_hint(lab, words, sentence):
    answer = lab(*words)
    status = {"run": 125, "down": 1, "status": 2}[words[0]]
    assert answer.stdout == ""
    assert answer.stderr.startswith(sentence + "\nhint: ")
    assert answer.returncode == (127 if "./missing" in words else status)


def test_a_damaged_lab_json_is_named_and_the_lab_can_still_be_taken_down(line):
    # GIVEN a lab whose state was cut short
    assert line("up", "--nodes", 2, "--cores", 1).returncode == 0
    pids = [node["pid"] for node in line.state()["nodes"]]
    path = line.directory / "rankwise" / "labs" / "lab" / "lab.json"
    for damage in (path.read_text()[:100], "{}", "[1]", "\xff"):
        path.write_text(damage, encoding="latin-1")
        # WHEN a command asks for it, THEN the error names the file and a way out
        said = line("run", "--", "true")
        assert said.returncode == 125
        assert said.stderr == (
            f"error: `{path}`, which says what lab `lab` is, is damaged\n\n"
            "hint: `rankwise lab down`, then bring it up again\n"
        )
    # AND it goes down with all its nodes
    down = line("down")
    assert (down.returncode, down.stdout) == (0, "lab `lab` is down\n")
    assert until(lambda: all(has_ended(pid) for pid in pids))
    assert not path.parent.exists()
    assert "next:" not in down.stderr
