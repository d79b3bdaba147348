# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs in a lab: where their ranks are, what crosses the interfaces, how the run ends."""

import json
import os
import re

import mpis
import polars as pl
import pytest

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement import file
from rankwise.recording import Recording
from rankwise.recording.layouts import EVENT_FIRST, EVENT_SCHED

pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    # test_inputs.py: others are refused. Hydra deals ranks otherwise since 5.0.2.
    mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2", "mpich-4.3.2", "openmpi-5.0.11")),
]

# Ethernet, IP and TCP headers are 66 of 1514 bytes; the rest is acknowledgements, headers of MPI, wire-up.
OVERHEAD, SMALL_BYTES = 1.07, 100_000


# Node and core of six ranks; no launcher gets to these by going round its hosts.
IRREGULAR = [(2, 1), (0, 3), (3, 2), (0, 0), (2, 0), (0, 1)]
# MPICH 5.0.2 understands no such order: two groups of hosts, each repeated.
TWO_GROUPS = [(2, 1), (0, 3), (2, 0), (0, 0), (3, 2), (1, 1), (3, 0), (1, 2)]
RENUMBERED = "rankwise: the launcher cannot deal ranks in this order, so they were renumbered"


def saved(spots, path):
    """A placement file with these nodes and cores."""
    topology = Topology.of(from_synthetic("package:1 core:4"), 4)
    file.save(Placement.explicit(topology, [(node, [core]) for node, core in spots]), path)
    return path


def where(stdout):
    """Rows that the ranks printed: host, ranks on that host, PUs."""
    rows = [line.split() for line in stdout.splitlines() if not line.endswith(" s")]
    return [(row[1], int(row[2]), [int(pu) for pu in row[3:]]) for row in rows]


def test_ranks_are_where_the_placement_says_and_the_interfaces_count_what_they_send(
    lab, mpi, compiled, tmp_path
):
    # GIVEN six ranks placed by hand, which send 100 messages of 100 kB from rank 0 on node 2 to rank 5 on node 0
    program = compiled(mpi, "cross_nodes.c")
    spots, path = IRREGULAR, tmp_path / "by_hand.placement.json"
    # WHEN they run, recorded
    recording, output = tmp_path / "sent.rw", tmp_path / "run.json"
    options = ("--placement", saved(spots, path), "--record", recording, "-o", output)
    done = lab("run", *options, "--", program, 100, 100_000)
    # THEN each is on its node and on the host PU behind its core, and shares memory with those of its node only
    assert done.returncode == 0, done.stderr
    nodes = lab.state()["nodes"]
    on_node = [sum(other == node for other, _ in spots) for node, _ in spots]
    expected = [
        (nodes[node]["host"], count, [nodes[node]["cores"][core]])
        for (node, core), count in zip(spots, on_node, strict=True)
    ]
    assert where(done.stdout) == expected
    assert f"rankwise: verified: 6 ranks on 3 hosts ran as {path} says\n" in done.stderr
    assert (RENUMBERED in done.stderr) == (mpi.family == "mpich" and mpi.version < (5, 0, 2))
    # AND the kernel counted these bytes, and little more, out of node 2 and into node 0
    interfaces = json.loads(output.read_text())["interfaces"]
    sent = 100 * 100_000
    for counted in (interfaces[2]["tx_bytes"], interfaces[0]["rx_bytes"]):
        assert sent < counted < sent * OVERHEAD + SMALL_BYTES
    assert interfaces[1]["tx_bytes"] == interfaces[1]["rx_bytes"] == 0
    assert sum(each["tx_bytes"] for each in interfaces) == sum(each["rx_bytes"] for each in interfaces)
    # AND the recorder saw them go from node to node of the lab
    opened = Recording.open(recording)
    assert opened.context["problems"] == []
    assert [host["topology"]["description"] for host in opened.context["hosts"]] == ["package:1 core:4"] * 3
    assert [opened.placement.cores_of(rank) for rank in range(6)] == [(core,) for _, core in spots]
    messages = opened.messages.filter(~pl.col("collective"))
    place = [node for node, _ in spots]
    between = [
        row["bytes"]
        for row in messages.iter_rows(named=True)
        if place[row["source"]] != place[row["destination"]]
    ]
    assert sum(between) == sent


@mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2", "openmpi-5.0.11"))
def test_ranks_that_no_order_of_hosts_brings_to_their_nodes_are_renumbered(lab, mpi, compiled, tmp_path):
    # GIVEN eight ranks on two pairs of nodes, each pair in turn
    path, output = tmp_path / "by_hand.placement.json", tmp_path / "sent.rw"
    # WHEN a program runs there that says where its ranks are, recorded
    options = ("--placement", saved(TWO_GROUPS, path), "--record", output)
    done = lab("run", *options, "--", compiled(mpi, "cross_nodes.c"), 10, 1000)
    # THEN each rank is where the placement says, with any MPI, and the recording says the same
    assert done.returncode == 0, done.stderr
    nodes = lab.state()["nodes"]
    expected = [(nodes[node]["host"], 2, [nodes[node]["cores"][core]]) for node, core in TWO_GROUPS]
    assert where(done.stdout) == expected
    assert (RENUMBERED in done.stderr) == (mpi.family == "mpich")
    opened = Recording.open(output)
    assert opened.context["problems"] == []
    assert [opened.placement.cores_of(rank) for rank in range(8)] == [(core,) for _, core in TWO_GROUPS]
    sent = opened.messages.filter(~pl.col("collective") & (pl.col("bytes") > 0))
    assert sent.select("source", "destination", "bytes").rows() == [(0, 7, 10_000)]


def test_a_placement_for_another_kind_of_node_is_refused_before_anything_is_made(lab, tmp_path):
    # GIVEN a placement for two packages a node
    placement = Placement.explicit(Topology.of(from_synthetic("package:2 core:2"), 4), [(0, [0]), (1, [1])])
    file.save(placement, tmp_path / "p.json")
    # WHEN it is to be run
    refused = lab("run", "--placement", tmp_path / "p.json", "--record", tmp_path / "app.rw", "--", "true")
    # THEN the sentence says why, the hint how to get one for this lab, and no recording was begun
    assert refused.returncode == 125
    assert refused.stderr.startswith("error: `node0`")
    assert ": the placement was made for nodes of another kind (here: " in refused.stderr
    assert "hint: make one for lab `lab`: `rankwise measure --lab lab -o lab.machine.toml`" in refused.stderr
    assert not (tmp_path / "app.rw").exists()


@mpis.only(mpis.runs_in_a_lab, quick=("mpich-5.0.2",))
def test_ranks_that_wait_leave_their_core_to_others(lab, mpi, compiled):
    # GIVEN 16 ranks on the host's few cores that do nothing but communicate
    program = compiled(mpi, "cross_nodes.c")
    # WHEN they do 50 rounds, THEN this is over in seconds
    done = lab("run", "--allocation", "cyclic", "--", program, 50, 0, timeout=40)
    assert done.returncode == 0, done.stderr
    assert [host for host, _, _ in where(done.stdout)] == [f"rw-lab-node{rank % 4}" for rank in range(16)]


def test_a_rank_that_leaves_its_core_is_named(lab, compiled, tmp_path, monkeypatch):
    # GIVEN a host with two PUs, and a program that goes to the second of them by itself
    first, second, *_ = [*sorted(os.sched_getaffinity(0)), None]
    if second is None:
        pytest.skip("needs two PUs")
    mpi = mpis.first("mpich", mpis.runs_in_a_lab)
    program = compiled(mpi, "cross_nodes.c")
    path = f"{mpi.mpiexec.parent}:{lab.environment['PATH']}"
    monkeypatch.setattr(lab, "environment", lab.environment | {"PATH": path})
    # `mpiexec` beside the program comes first, and that in /usr/bin may be one that the lab refuses.
    script = tmp_path / "elsewhere.sh"
    script.write_text(f"#!/bin/sh\nexec taskset -c {second} {program} 1 8\n")
    script.chmod(0o755)
    # WHEN four ranks run so
    done = lab("run", "-n", 4, "--mpi", "mpich", "--", script)
    # THEN the first of those that should be elsewhere is named
    assert done.returncode == 0, done.stderr
    assert (
        f"rankwise: rank 0 should run on PU {first} of `rw-lab-node0`, but runs on PU {second} of "
        "`rw-lab-node0`; so does 1 more rank\n"
    ) in done.stderr


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_stdout_and_status_are_the_programs_and_the_rate_is_kept(lab, compiled, family):
    # GIVEN 2 MB to the last rank on another node, and a program that ends with status 7
    program = compiled(mpis.first(family, mpis.runs_in_a_lab), "cross_nodes.c")
    # WHEN it runs at 12.5 MB/s
    done = lab("run", "-n", 2, "--allocation", "cyclic", "--", program, 2, 1_000_000, 7)
    # THEN stdout has the program's three lines, the status is passed on
    assert done.returncode == 7
    assert len(done.stdout.splitlines()) == 3
    assert where(done.stdout)[0][0] == "rw-lab-node0"
    # AND it took at least as long as the interface needs
    assert float(done.stdout.split()[-2]) > 2 * 1_000_000 / 12.5e6
    told = [line for line in done.stderr.splitlines() if line.startswith("rankwise: ")]
    assert told[0] == "rankwise: verified: 2 ranks on 2 hosts ran as cyclic says"
    assert re.match("rankwise: (not )?valid", told[1])
    assert told[2].startswith("rankwise: rw-lab-node0 sent 2.")
    assert told[-1].startswith("rankwise: rw-lab-node3 sent 0 B")


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_each_rank_is_a_session_of_its_own(lab, tmp_path, monkeypatch, family):
    # GIVEN a program that says its process and its session, which kernels may share out cores by
    mpi = mpis.first(family, mpis.runs_in_a_lab)
    path = f"{mpi.mpiexec.parent}:{lab.environment['PATH']}"
    monkeypatch.setattr(lab, "environment", lab.environment | {"PATH": path})
    script = tmp_path / "session.sh"
    script.write_text("#!/bin/sh\nset -- $(cat /proc/$$/stat)\necho $1 $6\n")
    script.chmod(0o755)
    # WHEN four ranks of one node run it
    done = lab("run", "-n", 4, "--mpi", mpi.family, "--", script)
    # THEN none shares its session with another
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len({process for process, _ in rows}) == 4
    assert all(process == session for process, session in rows)


def test_a_recording_of_a_lab_is_made_with_records_options_and_says_how_it_was_started(
    lab, compiled, tmp_path
):
    # GIVEN a program, and a recording of it with places of calls, the trace of two calls only
    program = compiled(mpis.first("mpich", mpis.runs_in_a_lab), "cross_nodes.c")
    recording = tmp_path / "app.rw"
    words = ("-n", 2, "--allocation", "cyclic", "--record", recording)
    options = ("--trace-calls", "1..2", "--exact-times", "--callsites")
    assert lab("run", *words, *options, "--", program, 2, 8).returncode == 0
    # THEN it holds these
    opened = Recording.open(recording)
    for rank in range(2):
        kinds = opened.events(rank)["kind"]
        assert (kinds < EVENT_FIRST).sum() == 2
        # AND beside calls at most that the rank waited for its core
        assert set(kinds[kinds >= EVENT_FIRST]) <= {EVENT_SCHED}
    assert len(pl.read_parquet(recording / "tables" / "call_sites.parquet")) > 0
    # AND its command is all that is needed to start it again
    command = opened.context["run"]["command"]
    assert command[:3] == ["rankwise", "lab", "run"]
    assert command[3:10] == ["--name", "lab", "-n", "2", "--allocation", "cyclic", "--"]
    # AND another of that name is refused with the option that names it
    again = lab("run", *words, "--", program, 2, 8)
    assert again.returncode == 125
    assert "`--force`" in again.stderr
    assert "`--record DIR`" in again.stderr
    assert "`-o" not in again.stderr
