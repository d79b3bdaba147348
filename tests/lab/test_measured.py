# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure --lab`: the machine file of a lab says what the lab was set to."""

import subprocess
import sys

import mpis
import polars as pl
import pytest

from rankwise.machine import file
from rankwise.machine.link_classes import link_index
from rankwise.machine.machine import topology_of
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.measure.outcome import disturbed_path
from rankwise.placement.simple import allocate
from rankwise.replay.convert import convert_placement

pytestmark = [pytest.mark.root, pytest.mark.mpi]

RATE = 12.5e6


@pytest.fixture(scope="module", params=["mpich", pytest.param("openmpi", marks=pytest.mark.slow)])
def measured(request, lab, tmp_path_factory):
    """The machine file of a short measurement, and its samples."""
    mpi = mpis.first(request.param, mpis.runs_in_a_lab)
    path = tmp_path_factory.mktemp("measured") / "lab.machine.toml"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rankwise",
            "measure",
            "--lab",
            "lab",
            "--budget",
            "12s",
            "-o",
            path,
            "--",
            mpi.mpiexec,
        ],
        env=lab.environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return file.load(disturbed_path(path) if done.returncode else path), path.parent, done


@pytest.mark.slow
def test_the_interface_has_the_rate_that_it_was_given(measured):
    machine, directory, _ = measured
    network = machine.link_classes[link_index(machine, "network")]
    for resource in machine.resources:
        if resource.kind.startswith("nic"):
            # THEN both ways the rate less headers of Ethernet, IP and TCP, 3 to 6 %
            assert 0.85 * RATE < resource.capacity_bytes_per_s.value < RATE
    # AND large messages cost no less than it a byte, and not much more
    assert 0.9 < network.segments[-1].G_s_per_byte.value * RATE < 1.5
    # AND a message's way is less than a turn of the scheduler; here its sender's processor may do all of it
    first = network.segments[0]
    assert first.L_s.value < 5e-3
    # less what waiting ranks use, an end of a burst can be left with nothing, hardly both
    overheads = first.o_s.value, first.o_receive_s.value
    assert max(overheads) > 0
    assert sum(overheads) < 5e-3
    # AND both ends' processor time was seen
    table = pl.read_parquet(directory / "lab.samples.parquet")
    bursts = table.filter(pl.col("channel") == "network", pl.col("test") == "stream_cpu")
    assert bursts["value2"].max() > 0
    assert bursts["value3"].max() > 0


def test_what_was_always_interrupted_is_kept_for_the_fit(measured):
    machine, directory, _ = measured
    table = pl.read_parquet(directory / "lab.samples.parquet")
    overheads = table.filter(pl.col("channel") == "network", pl.col("test").str.ends_with("_overhead"))
    # THEN samples of both overheads are there, and the channel was fitted whatever interrupted them
    assert overheads["test"].n_unique() == 2
    assert {"package", "network"} <= {link.channel for link in machine.link_classes}
    assert 0 <= machine.context["network_interrupted_kept_share"] <= 1


def test_predictions_know_which_cores_are_one(lab, measured):
    machine, directory, _ = measured
    # THEN each logical core of each node has the host's core behind it that the lab gave it
    assert machine.node.host_cores == [node["cores"] for node in lab.state()["nodes"]]
    core = next(resource for resource in machine.resources if resource.kind == "core")
    assert core.waiting == "yield"
    assert all(link.progress == "in-call" for link in machine.link_classes)
    # AND the replay has as many processors as the host's cores, for all 16 ranks
    topology = topology_of(machine, directory)
    assert topology == Topology.of(from_synthetic("package:1 core:4"), 4)
    placement, _ = allocate(16, 4, 4, topology.nodes[0], "blocked")
    host_cores = {core for node in machine.node.host_cores for core in node}
    assert len(convert_placement(machine, topology, placement).capacity) == len(host_cores)
