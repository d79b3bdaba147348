# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise tune` of a job on several hosts: each node's first rank starts its tuner, which leaves nothing behind."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpis
import pytest
from waiting import until

import rankwise.lab.enter as enter
from rankwise.lab.launch import library_environment

pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2",)),
]

RANKWISE = Path(sys.executable).parent / "rankwise"
NODES = ("rw-lab-node0", "rw-lab-node1")
# A node has its own processes only.
KILL_TUNERS = """for each in /proc/[0-9]*; do
    [ "$(cat "$each/comm")" != rankwise-tuned ] || kill -9 "${each#/proc/}"
done"""


@pytest.fixture
def tune(lab, mpi, tmp_path):
    """Function (options, ranks a node, words, limit_s=) -> `rankwise tune` on the front end, of a job on two nodes."""
    labs = lab.directory / "rankwise" / "labs" / "lab"
    on_front = [sys.executable, "-I", "-S", enter.__file__, str(labs / "lab.json"), "exec", "rw-lab-front"]
    environment = lab.environment | library_environment(mpi.family, {})
    # The tuners of the nodes would share it with this one, as no hosts of a cluster do.
    del environment["XDG_RUNTIME_DIR"]

    def run(options, ranks, words, limit_s=60):
        agent = labs / "agent"
        if mpi.family == "mpich":
            line = ["-launcher", "ssh", "-launcher-exec", agent, "-localhost", "rw-lab-front"]
            line += ["-ppn", ranks, "-hosts", ",".join(NODES)]
        else:
            set_, rsh, runtime = (
                ("--prtemca", "ssh", "prte") if mpi.version >= (5,) else ("--mca", "rsh", "oob_tcp")
            )
            line = [set_, f"plm_{rsh}_agent", agent, set_, f"plm_{rsh}_no_tree_spawn", "1"]
            line += [set_, f"{runtime}_if_include", "mgmt0", "--bind-to", "none"]
            line += ["--host", ",".join(f"{node}:{ranks}" for node in NODES)]
        line = [mpi.mpiexec, *line, "-n", len(NODES) * ranks]
        return subprocess.run(
            [*on_front, RANKWISE, "tune", *map(str, [*options, "--", *line, *words])],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=limit_s,
        )  # fmt: skip

    return run


def events(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def found(file):
    return sorted(rank for event in events(file) if event["what"] == "rank_found" for rank in event["ranks"])


def left_over(lab, host):
    """What a tuner has left on a node, or still has there, after some seconds."""
    for _ in range(30):
        processes = lab.on(host, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
        left = [
            name for name in lab.on(host, "ls", "/dev/shm").split() if name.startswith("rankwise-tune-0-")
        ]
        left += [word for word in processes.split() if "rankwise-tuned" in word or word == "--node"]
        if not left:
            break
        time.sleep(0.5)
    return left


@mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2", "openmpi-5.0.11"))
@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_each_node_has_a_tuner_of_its_ranks(tune, lab, mpi, compiled, tmp_path, ranks):
    program = compiled(mpi, "uneven.c")
    # WHEN a job on two other hosts is tuned
    done = tune(["-o", "a.tune"], ranks, [program, 6, 7])
    # THEN streams and status are the program's
    assert (done.returncode, done.stdout[:8]) == (7, "changes "), done.stderr
    assert "has no events" not in done.stderr
    # AND a tuner of each node found the ranks there, and ended after them
    for at, node in enumerate(NODES):
        file = tmp_path / "a.tune" / f"{node}.jsonl"
        assert found(file) == list(range(at * ranks, (at + 1) * ranks))
        assert [event["what"] for event in events(file) if event["what"] in ("started", "stopped")][
            -1
        ] == "stopped"
        assert left_over(lab, node) == []
    # AND what they did is shown
    shown = subprocess.run([RANKWISE, "tune", "show", tmp_path / "a.tune"], capture_output=True, text=True)
    assert [node for node in NODES if f"{node}: " in shown.stdout] == list(NODES)
    document = json.loads((tmp_path / "a.tune" / "summary.json").read_text())
    assert [each["host"] for each in document["tuners"]] == [None, *NODES]


@mpis.only(mpis.runs_in_a_lab, quick=("openmpi-5.0.11",))
def test_where_a_tuner_is_killed_the_others_go_on_and_it_is_said(tune, lab, mpi, compiled, tmp_path):
    # GIVEN a job on two other hosts
    files = [tmp_path / "a.tune" / f"{node}.jsonl" for node in NODES]
    with ThreadPoolExecutor() as pool:
        job = pool.submit(tune, ["-o", "a.tune"], 1, [compiled(mpi, "uneven.c"), 10, 7])
        assert until(lambda: all(file.exists() and found(file) for file in files))
        # WHEN the tuner of one of them is killed
        lab.on(NODES[1], "sh", "-c", KILL_TUNERS)
        done = job.result()
    # THEN streams and status are the program's
    assert (done.returncode, done.stdout[:8]) == (7, "changes "), done.stderr
    # AND it is said what happened where
    assert f"the tuner ended early: it died of SIGKILL on `{NODES[1]}`; " in done.stderr
    shown = subprocess.run([RANKWISE, "tune", "show", tmp_path / "a.tune"], capture_output=True, text=True)
    assert f"{NODES[1]}: the tuner ended early: it died of SIGKILL; " in " ".join(shown.stdout.split())
    # AND the other host's tuner came to its end with its rank
    ends = [[event["what"] for event in events(file)][-1] == "stopped" for file in files]
    assert ends == [True, False]
    for node in NODES:
        assert left_over(lab, node) == []


@mpis.only(mpis.runs_in_a_lab, quick=("openmpi-5.0.11",))
def test_a_recording_has_the_events_of_all_hosts(tune, mpi, compiled, tmp_path):
    done = tune(["--record", "a.rw"], 1, [compiled(mpi, "uneven.c"), 5])
    assert done.returncode == 0, done.stderr
    files = sorted(file.name for file in (tmp_path / "a.rw" / "tune").glob("*.jsonl"))
    assert files == ["rw-lab-front.jsonl", *(f"{node}.jsonl" for node in NODES)]
    assert "2 ranks" in done.stderr


def test_a_program_that_aborts_leaves_no_tuner(tune, lab, mpi, compiled):
    # WHEN ranks end before their nodes' tuners have begun
    done = tune([], 1, [compiled(mpi, "endings.c"), "abort"])
    # THEN the status is the program's
    assert done.returncode != 0
    # AND the tuners wait for no rank for ever
    for node in NODES:
        assert left_over(lab, node) == []


@pytest.mark.slow
@mpis.only(mpis.runs_in_a_lab, quick=("openmpi-5.0.11",))
def test_where_a_directory_is_not_shared_its_host_is_named(tune, lab, mpi, compiled):
    # GIVEN a place that only the launching host has
    done = tune(["-o", "/dev/shm/a.tune"], 1, [compiled(mpi, "uneven.c"), 4, 3])
    # THEN the program is not disturbed, and it is said whose events are missing
    assert (done.returncode, done.stdout[:8]) == (3, "changes "), done.stderr
    assert f"`{NODES[0]}` has no events in `/dev/shm/a.tune`" in done.stderr
    for node in NODES:
        assert left_over(lab, node) == []


@pytest.mark.slow
def test_a_host_without_room_for_pages_is_not_tuned(tune, mpi, compiled, tmp_path):
    # GIVEN a node on which no directory of pages can be made
    program = tmp_path / "hindered"
    hinder = f'[ "$(uname -n)" = {NODES[1]} ] && echo "" > "$(dirname "$RANKWISE_TUNE")"'
    program.write_text(f"#!/bin/sh\n{hinder}\nexec {compiled(mpi, 'uneven.c')} 5 3\n")
    program.chmod(0o755)
    # WHEN a job is tuned
    done = tune(["-o", "a.tune"], 1, [program])
    # THEN the program runs as ever, and the other node is tuned
    assert (done.returncode, done.stdout[:8]) == (3, "changes "), done.stderr
    assert found(tmp_path / "a.tune" / f"{NODES[0]}.jsonl") == [0]
    assert f"`{NODES[1]}` has no events in `a.tune`" in done.stderr
