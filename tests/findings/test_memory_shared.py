# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share a memory while another has none: in copies of messages, and in what memory controllers moved."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import MB, pairs, save
from raw_writer import Rank
from sharing_machines import link, machine, resource

from rankwise.errors import RankwiseError
from rankwise.findings.catalogue import findings_of
from rankwise.findings.defects import memory_shared
from rankwise.findings.evidence import Evidence
from rankwise.findings.on_machine import OnMachine
from rankwise.findings.spread import spread
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic

TWO_PACKAGES = (0, 0, 0, 0, 1, 1, 1, 1)
RATE = 2e8
"""Bytes a second that a copy takes alone, and that a memory has."""


def untraced(path) -> Evidence:
    """Four ranks on package 0 of two."""
    ranks = [Rank(me, 4, "n0", affinity=(me,)) for me in range(4)]
    recording = save(path, ranks, TWO_PACKAGES)
    memory = resource("memory", "memory", "package", capacity_bytes_per_s=RATE)
    there = machine(memory, nodes=1, topology="package:2 core:4 pu:1")
    return Evidence(recording, OnMachine(recording, there, recording.topology, "m.machine.toml"))


def copying(path, message_ms=10, alone_s=5e-3, **memory) -> Evidence:
    """Two pairs on package 0 of two, whose messages of 1 MB take 5 ms alone, or as long as the memory needs."""
    recording = pairs(path, (0, 0, 0, 0), message_ms=message_ms, packages=TWO_PACKAGES)
    keys = {"per": "package"} | (memory or {"capacity_bytes_per_s": RATE})
    there = machine(
        resource("memory", "memory", **keys),
        *(link(channel, G_s_per_byte=alone_s / MB) for channel in ("package", "node")),
        nodes=1,
        topology="package:2 core:4 pu:1",
    )
    on = OnMachine(recording, there, recording.topology, "m.machine.toml")
    on.search_s = 0.2
    return Evidence(recording, on)


def told(evidence):
    return {each.name: each for each in findings_of(evidence)[0]}


def test_copies_that_share_a_memory_cost_what_two_memories_save(tmp_path):
    # GIVEN 40 messages one after the other of each pair, which take 10 ms each as two share a memory, and 5 ms alone
    found = told(copying(tmp_path / "a.rw"))
    shared = found["memory-shared"]
    # THEN the pairs stay together, one of them goes to the other package, and 40 times 5 ms are saved
    assert shared.cost_s == pytest.approx(40 * 5e-3, rel=0.05)
    assert shared.ranks == [2, 3]
    # AND the search, which finds the same, does not tell it again
    assert "far-placement" not in found


@pytest.mark.parametrize(
    "memory",
    [
        {"per": "node", "capacity_bytes_per_s": RATE},  # however they are spread, it is the same memory
        {"capacity_bytes_per_s": 2 * RATE},  # enough for both
    ],
)
def test_spreading_that_saves_nothing_is_not_told(tmp_path, memory):
    assert memory_shared.find(copying(tmp_path / "a.rw", **memory)) == []


def test_computation_is_not_taken_to_wait_for_memory(tmp_path):
    # GIVEN ranks that compute all the time, and a memory that makes two of a package take twice as long if it does
    curve = {"per_core_bytes_per_s": 1e12, "slowdown": [1.0, 2.0, 2.0, 2.0]}
    evidence = copying(tmp_path / "a.rw", message_ms=0, alone_s=1e-9, **curve)
    there = evidence.on_machine
    assert there.saved_s(spread(there.recorded, there.topology, "package")) == pytest.approx(0.1, rel=0.05)
    # THEN nothing is told: the recording does not say that it waits for memory
    assert memory_shared.find(evidence) == []


def by_controllers(evidence, *of_sockets):
    """With a run of 1 s in which each socket moved so much."""
    rows = [
        {
            "host": "n0",
            "pu": 4 * socket,
            "time_s": time_s,
            "read_bytes": share * time_s * RATE,
            "written_bytes": 0.0,
        }
        for socket, share in enumerate(of_sockets)
        for time_s in (0.0, 1.0)
    ]
    table = evidence.recording.table

    def other(name):
        return pl.DataFrame(rows) if name == "memory_samples" else table(name)

    evidence.recording.table = other
    return memory_shared.find(evidence)


def test_a_saturated_socket_beside_an_idle_one_is_told_without_a_cost(tmp_path):
    (finding,) = by_controllers(untraced(tmp_path / "a.rw"), 0.9, 0.1)
    assert finding.cost_s is None and finding.ranks == [0, 1, 2, 3]
    assert finding.sentence == "ranks 0-3 share the memory of socket 0 of n0, while socket 1 has 0 ranks"
    assert finding.evidence == ["socket 0 moved 180 MB/s of 200 MB/s that it can, socket 1 20 MB/s"]


@pytest.mark.parametrize(
    "of_sockets",
    [
        (0.7, 0.0),  # not saturated
        (0.9, 0.6),  # the other one is busy as well, with another program
        (0.1, 0.9),  # another program saturates the socket without ranks
        (0.9,),  # of the other nothing is known
    ],
)
def test_sockets_without_memory_to_share_are_not_told(tmp_path, of_sockets):
    with pytest.raises(RankwiseError, match="trace"):
        by_controllers(untraced(tmp_path / "a.rw"), *of_sockets)


def test_without_a_machine_it_is_not_looked_for(tmp_path):
    with pytest.raises(RankwiseError, match="--machine FILE"):
        memory_shared.find(Evidence(pairs(tmp_path / "a.rw")))


@given(st.permutations(range(8)), st.integers(1, 8))
def test_ranks_are_spread_evenly_and_stay_in_order(cores, ranks):
    # GIVEN ranks on any cores of a node of two packages
    topology = Topology.of(from_synthetic("package:2 core:4"), 1)
    placement = Placement.explicit(topology, [(0, [core]) for core in cores[:ranks]])
    other = spread(placement, topology, "package")
    # THEN packages differ by one rank at most, and ranks stay in the order of their cores
    first = int(np.sum(other.cores < 4))
    assert first == -(-ranks // 2)
    assert np.array_equal(np.argsort(other.cores), np.argsort(placement.cores))
    assert other.injective


def test_ranks_without_a_core_of_their_own_are_not_spread():
    topology = Topology.of(from_synthetic("package:2 core:4"), 1)
    assert spread(Placement.explicit(topology, [(0, [0, 1]), (0, [2])]), topology, "package") is None
    assert spread(Placement.explicit(topology, [(0, [0]), (0, [0])]), topology, "package") is None
