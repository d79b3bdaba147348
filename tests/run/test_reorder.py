# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise run --reorder`: ranks are where the placement says although the launcher places nobody."""

import os
import shutil
import subprocess
import sys

import mpis
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.file import save
from rankwise.recording import Recording
from rankwise.run.reorder import with_hosts

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.root,
    pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1"),
    pytest.mark.skipif(
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-u", "true"], capture_output=True, check=False).returncode != 0,
        reason="no host names of their own here",
    ),
]
NODE = "package:1 core:2"
# The launcher deals its ranks blocked: the first half to host h0, the others to h1.
HOSTS = """#!/bin/sh
rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
exec unshare -u sh -c 'hostname h$0; exec "$@"' $((rank / 2)) "$@"
"""
# Stands in for ssh: runs the command here, as the host of that name.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec unshare -u sh -c "hostname $host; $*"
"""
CYCLIC = [(0, 1), (1, 0), (0, 0), (1, 1)]
PYTHON = """
import os, socket
from mpi4py import MPI
world = MPI.COMM_WORLD
got = world.sendrecv(world.rank, (world.rank + 1) % 4, source=(world.rank + 3) % 4)
assert got == (world.rank + 3) % 4 and world.Create_cart([4], reorder=True).rank == world.rank
os.write(1, f"rank {world.rank}: {socket.gethostname()}\\n".encode())
"""


@pytest.fixture
def reordered(mpi, tmp_path):
    """Function (seats, words of the program) -> how `rankwise run --reorder` of four ranks on two hosts ended."""
    hosts = tmp_path / "hosts.sh"
    hosts.write_text(HOSTS)
    hosts.chmod(0o755)

    def run(seats, *words, names=None, options=(), environment=None):
        topology = Topology.of(from_synthetic(NODE), max(node for node, _ in seats) + 1)
        save(Placement.explicit(topology, [(n, [c]) for n, c in seats], names), tmp_path / "p.json")
        command = [sys.executable, "-m", "rankwise", "run", "-p", "p.json", "--node", NODE, "--reorder"]
        line = mpi.launch(4, hosts, *words, environment=environment)
        return subprocess.run(
            [*command, *options, "--", *line],
            env=mpi.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
        )

    return run


def ours(done):
    return [line for line in done.stderr.splitlines() if line.startswith("rankwise:")]


def test_ranks_hosts_and_cores_are_as_placed_and_everything_made_of_the_world_follows(
    mpi, reordered, compiled
):
    # WHEN a blocked launch is to run cyclic
    done = reordered(CYCLIC, compiled(mpi, "reordered.c"))
    # THEN each rank is on its host and core, the first one where it was, and finds nothing wrong
    said = [f"rank {rank}: h{node} [{core}]" for rank, (node, core) in enumerate(CYCLIC)]
    assert sorted(done.stdout.splitlines()) == said, done.stderr
    assert ours(done) == ["rankwise: verified: 4 ranks on 2 hosts ran as p.json says"]
    assert done.returncode == 0


def test_nodes_with_names_are_those_hosts(mpi, reordered, compiled):
    done = reordered(CYCLIC, compiled(mpi, "reordered.c"), names=["h1", "h0.cluster"])
    said = [f"rank {rank}: h{1 - node} [{core}]" for rank, (node, core) in enumerate(CYCLIC)]
    assert sorted(done.stdout.splitlines()) == said, done.stderr


@pytest.mark.one_of(3)
@mpis.only(lambda _: True, quick=("debian-mpich",))  # others have no Fortran bindings
@pytest.mark.parametrize("binding", ["MPIFH", "USEMPI", "F08"])
def test_fortran_is_renumbered(mpi, reordered, compiled, binding):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    flags = ["-cpp", f"-D{binding}"] + (["-fallow-argument-mismatch"] if binding == "MPIFH" else [])
    done = reordered(CYCLIC, compiled(mpi, "reordered.f90", *flags))
    said = [f"rank {rank}: h{node}" for rank, (node, _) in enumerate(CYCLIC)]
    assert sorted(done.stdout.splitlines()) == said, done.stderr


@pytest.mark.one_of(2)
@mpis.only(mpis.mpi4py_takes)
def test_mpi4py_is_renumbered(mpi, reordered):
    # Without this the wheel takes an MPI of its own environment first.
    named = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[mpi.flavour]
    library = {"MPI4PY_LIBMPI": str(mpi.mpicc.parent.parent / "lib" / named)}
    done = reordered(CYCLIC, sys.executable, "-c", PYTHON, environment=library)
    said = [f"rank {rank}: h{node}" for rank, (node, _) in enumerate(CYCLIC)]
    assert sorted(done.stdout.splitlines()) == said, done.stderr


def test_a_recording_of_renumbered_ranks_sees_them_as_the_program_does(mpi, reordered, compiled, tmp_path):
    done = reordered(CYCLIC, compiled(mpi, "ring.c"), "3", options=["--record", "r.rw"])
    assert done.returncode == 0, done.stderr
    assert ours(done)[0] == "rankwise: verified: 4 ranks on 2 hosts ran as p.json says"
    recording = Recording.open(tmp_path / "r.rw")
    pairs = recording.messages.select("source", "destination").unique().rows()
    assert {(rank, (rank + 1) % 4) for rank in range(4)} <= set(pairs)
    hosts = dict(recording.ranks.select("rank", "host").rows())
    assert hosts == {rank: f"h{node}" for rank, (node, _) in enumerate(CYCLIC)}


def test_what_cannot_be_is_said_and_the_program_runs_as_it_was_started(mpi, reordered, compiled):
    # GIVEN a placement of three ranks and one where the launcher starts two and two
    seats = [(0, 0), (0, 1), (0, 0), (1, 1)]
    done = reordered(seats, compiled(mpi, "reordered.c"), options=["--share-cores"])
    # THEN the ranks keep the launcher's order
    hosts = [line.split()[:3] for line in sorted(done.stdout.splitlines())]
    assert hosts == [["rank", f"{rank}:", f"h{rank // 2}"] for rank in range(4)], done.stderr
    why = "a node is to have 3 of the ranks, and no host that is left has so many"
    unsure = "none was renumbered, or hosts do not share this directory"
    assert ours(done) == [
        f"rankwise: ranks are not renumbered: {why}",
        f"rankwise: where the ranks ran could not be verified: {unsure}",
    ]
    assert done.returncode == 0


@mpis.only(lambda mpi: mpi.family == "mpich", quick=("mpich-5.0.2", "mpich-4.3.2"))
def test_ranks_that_hydra_cannot_deal_are_renumbered_without_being_asked_for(mpi, compiled, tmp_path):
    # GIVEN eight ranks on two pairs of hosts, each pair in turn, and a stand-in for ssh
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    spots = [(0, 1), (1, 0), (0, 0), (1, 1), (2, 1), (3, 0), (2, 0), (3, 1)]
    names, path = ["h0", "h1", "h2", "h3"], tmp_path / "p.json"
    topology = Topology.of(from_synthetic(NODE), 4)
    save(Placement.explicit(topology, [(node, [core]) for node, core in spots], names), path)
    # WHEN a program runs there, recorded
    command = [sys.executable, "-m", "rankwise", "run", "-p", path, "--node", NODE, "--record", "r.rw", "--"]
    line = [mpi.mpiexec, "-launcher", "ssh", "-launcher-exec", agent, "-n", 8, compiled(mpi, "ring.c"), 3]
    done = subprocess.run(
        [*map(str, command), *map(str, line)],
        env=mpi.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    # THEN each rank is on its host and core, and one line says how it came there
    assert done.returncode == 0, done.stderr
    assert f"rankwise: verified: 8 ranks on 4 hosts ran as {path} says" in ours(done)
    assert any("so they were renumbered" in line for line in ours(done))
    recording = Recording.open(tmp_path / "r.rw")
    pairs = recording.messages.select("source", "destination").unique().rows()
    assert {(rank, (rank + 1) % 8) for rank in range(8)} <= set(pairs)
    hosts = dict(recording.ranks.select("rank", "host").rows())
    assert hosts == {rank: f"h{node}" for rank, (node, _) in enumerate(spots)}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["mpiexec", "-n", "2", "true", ":", "-n", "2", "true"], "a launch line of several programs"),
        (["mpiexec", "-n", "3", "true"], "the launch line has 3 ranks, the placement 4"),
    ],
)
def test_lines_that_cannot_be_renumbered_are_refused(tmp_path, line, sentence):
    topology = Topology.of(from_synthetic(NODE), 2)
    save(Placement.explicit(topology, [(n, [c]) for n, c in CYCLIC]), tmp_path / "p.json")
    command = [sys.executable, "-m", "rankwise", "run", "-p", "p.json", "--node", NODE, "--reorder", "--"]
    done = subprocess.run([*command, *line], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert sentence in done.stderr and done.returncode == 125


def test_one_host_too_few_is_refused_and_one_too_many_left_over():
    placement = Placement.explicit(Topology([from_synthetic(NODE)] * 2), [(0, [0]), (1, [0])], ("a", "b"))
    with pytest.raises(RankwiseError, match="the placement has 2 nodes, `--hosts` 1 host$"):
        with_hosts(placement, "x")
    assert with_hosts(placement, "x,y,z").node_names == ("x", "y")
