# SPDX-License-Identifier: BSD-3-Clause
"""Placements on several hosts as the launchers at hand understand them."""

import os
import re
import subprocess
import sys

import mpis
import pytest

from rankwise.errors import RankwiseError
from rankwise.launchers import emit_placement, parse
from rankwise.machine import hwloc
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1"),
]
# Stands in for ssh: runs the command here, under the host's name.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
SEEN_HOST=$host exec sh -c "$*"
"""
SAY = """
import os
cpus = sorted(os.sched_getaffinity(0))
os.write(1, f"{os.environ['PMI_RANK']} {os.environ['SEEN_HOST']} {cpus}\\n".encode())
"""


def placed(names, *seats, node="package:1 core:2"):
    topology = Topology.of(from_synthetic(node), len(names))
    return Placement.explicit(topology, [(at, [core]) for at, core in seats], names), topology.nodes


one_hydra_of_each_version = mpis.only(lambda mpi: mpi.family == "mpich" and mpis.has_its_own_launcher(mpi))


@pytest.fixture
def through_agent(mpi, tmp_path):
    """Function (placement, nodes) -> what the ranks say, sorted; Hydra starts them through the agent."""
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)

    def run(placement, nodes):
        words = [str(mpi.mpiexec), "-launcher", "ssh", "-launcher-exec", str(agent)]
        line = parse([*words, "-n", str(placement.ranks), sys.executable, "-c", SAY])
        launch = emit_placement(line, placement, nodes, tmp_path / "p", {})
        done = subprocess.run(
            launch.words,
            env=mpi.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return run


@one_hydra_of_each_version
def test_hydra_puts_an_irregular_placement_where_it_should(mpi, through_agent):
    seats = [(0, 1), (1, 0), (1, 1), (0, 0), (0, 1), (1, 0)]
    placement, nodes = placed(["hostA", "hostB"], *seats)
    if mpi.version < (5, 0, 2):
        with pytest.raises(RankwiseError, match="cannot deal ranks to hosts in this order"):
            through_agent(placement, nodes)
        return
    said = [f"{rank} {('hostA', 'hostB')[at]} [{core}]" for rank, (at, core) in enumerate(seats)]
    assert through_agent(placement, nodes) == said


@one_hydra_of_each_version
@pytest.mark.parametrize(
    "seats",
    [[(1, 1), (0, 1), (1, 0), (0, 0)], [(0, 1), (0, 0), (1, 1), (1, 0)], [(0, 1), (1, 1), (1, 0), (0, 0)]],
    ids=["cyclic", "blocked", "1 and 2 in turn"],
)
def test_hydra_of_any_age_deals_regular_placements(seats, through_agent):
    placement, nodes = placed(["hostA", "hostB"], *seats)
    said = [f"{rank} {('hostA', 'hostB')[at]} [{core}]" for rank, (at, core) in enumerate(seats)]
    assert through_agent(placement, nodes) == said


@mpis.only(lambda mpi: mpi.family == "openmpi" and mpi.version >= (5,))
def test_openmpi_5_maps_an_irregular_placement_as_it_should(mpi, tmp_path):
    # GIVEN PRRTE's own simulator of two hosts with four cores, whose names it makes
    node = "package:1 core:4 pu:1"
    (tmp_path / "node.xml").write_bytes(hwloc.xml_of_synthetic(node, node))
    seats = [(0, 2), (1, 0), (1, 3), (0, 0), (0, 1), (1, 1), (0, 3), (1, 2)]
    placement, nodes = placed(["nodeA0", "nodeA1"], *seats, node=node)
    simulated = {"ras": "simulator", "ras_simulator_num_nodes": "2", "ras_simulator_slots": "4"}
    simulated["ras_simulator_topo_files"] = str(tmp_path / "node.xml")
    words = [str(mpi.mpiexec), "--rtos", "donotlaunch", "--display", "map-devel"]
    words += [word for name, value in simulated.items() for word in ("--prtemca", name, value)]
    # WHEN it says where it would bind the ranks of the emitted line
    launch = emit_placement(
        parse([*words, "-n", "8", "/bin/true"]),
        placement,
        nodes,
        tmp_path / "p",
        {"SLURM_JOB_NODELIST": "nodeA[0-1]"},
    )
    done = subprocess.run(
        launch.words, env=mpi.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    # THEN each is on its host and core
    found, host = {}, None
    for line in done.stdout.splitlines():
        if named := re.match(r"Data for node: (\S+)", line):
            host = named[1]
        elif rank := re.search(r"Data for proc: \[\S+@1,(\d+)\]", line):
            at = int(rank[1])
        elif core := re.search(r"Binding: package\[0\]\[core:L(\d+)\]", line):
            found[at] = (int(host.removeprefix("nodeA")), int(core[1]))
    assert [found.get(rank) for rank in range(8)] == seats, done.stdout + done.stderr
