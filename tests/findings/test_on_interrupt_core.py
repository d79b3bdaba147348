# SPDX-License-Identifier: BSD-3-Clause
"""A busy rank on the core that takes the interrupts, in recordings written by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_writer import MANIFEST
from sampled_nodes import computing, in_interrupts, recorded_on_nodes

from rankwise.findings.catalogue import findings_of
from rankwise.findings.evidence import Evidence


def told(recording, name="interrupt-core"):
    return [each for each in findings_of(recording)[0] if each.name == name]


def test_a_busy_rank_on_the_interrupt_core_is_to_change_places_with_the_one_that_waits(tmp_path):
    # GIVEN rank 0, outside MPI all the time, on a core that is in interrupts for a quarter of it; three wait for it
    ranks = computing([1000, 600, 700, 300])
    cores = {"n0": [in_interrupts(25), {"user": 100}, {"user": 100}, {"user": 100}]}
    (found,) = told(recorded_on_nodes(tmp_path / "a.rw", ranks, cores))
    # THEN it is told to swap with the rank that computes least, which saves the quarter
    assert found.ranks == [0, 3] and found.cost_s == pytest.approx(0.25)
    assert found.sentence == (
        "rank 0 computes on PU 0 of n0, which takes the interrupts of eth0, while rank 3 on PU 3 waits"
    )
    assert found.do.startswith("swap them: rank 3 onto PU 0, rank 0 onto PU 3;")


def test_what_another_rank_computes_bounds_what_the_swap_saves(tmp_path):
    cores = {"n0": [in_interrupts(25), {"user": 100}, {"user": 100}]}
    (found,) = told(recorded_on_nodes(tmp_path / "a.rw", computing([1000, 900, 400]), cores))
    assert found.cost_s == pytest.approx(0.1)
    # AND the interrupts that then come to the swapped rank: 700 and a quarter of it
    (found,) = told(recorded_on_nodes(tmp_path / "b.rw", computing([1000, 700]), cores))
    assert found.cost_s == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("useful_ms", "cores", "receiver"),
    [
        ([1000, 1000], [25, 0], 0),  # nobody waits
        ([300, 1000], [25, 0], 0),  # it is the one that waits that is there
        ([1000, 300], [4, 0], 0),  # below the threshold
        ([1000, 300], [25, 25], 0),  # interrupts are everywhere
        ([1000, 300], [25, 0], None),  # no core is chosen: a rank's own packets are taken in where it is
        ([1000, 300], [25, 0], 1),  # they go elsewhere
    ],
)
def test_without_a_swap_that_helps_nothing_is_told(tmp_path, useful_ms, cores, receiver):
    of_cores = {"n0": [in_interrupts(share) for share in cores]}
    assert not told(recorded_on_nodes(tmp_path / "a.rw", computing(useful_ms), of_cores, receiver))


def test_a_rank_of_another_node_or_one_that_shares_the_core_is_no_partner(tmp_path):
    cores = {"n0": [in_interrupts(25)], "n1": [{"user": 100}]}
    assert not told(recorded_on_nodes(tmp_path / "a.rw", computing([1000, 300], ["n0", "n1"]), cores))
    ranks = computing([1000, 300, 300])
    ranks[2].affinity = (0,)
    assert not told(recorded_on_nodes(tmp_path / "b.rw", ranks, {"n0": [in_interrupts(25), {"user": 100}]}))


def test_imbalance_is_what_remains(tmp_path):
    # GIVEN as much work on both ranks, one of which lost 40 % of its time
    cores = {"n0": [in_interrupts(40), {"user": 100}]}
    recording = recorded_on_nodes(tmp_path / "a.rw", computing([1000, 600]), cores)
    assert not told(recording, "load-imbalance")
    # AND with less interrupts, what they do not explain
    cores = {"n0": [in_interrupts(20), {"user": 100}]}
    recording = recorded_on_nodes(tmp_path / "b.rw", computing([1000, 400]), cores)
    (found,) = told(recording, "load-imbalance")
    assert found.cost_s == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mpiexec -n 2 ./app", "mpiexec -bind-to user:1,0 -n 2 ./app"),
        ("mpiexec -bind-to core -n 2 ./app", "mpiexec -bind-to user:1,0 -n 2 ./app"),
        ("mpiexec -map-by core -n 2 ./app", None),
        ("./run.sh", None),
    ],
)
def test_the_command_binds_the_ranks_the_other_way_round(tmp_path, command, expected):
    recording = recorded_on_nodes(
        tmp_path / "a.rw", computing([1000, 300]), {"n0": [in_interrupts(25), {"user": 100}]}
    )
    manifest = MANIFEST | {"command": command.split()}
    (recording.path / "recording.json").write_text(json.dumps(manifest))
    (found,) = told(type(recording).open(recording.path))
    assert found.command == expected


@pytest.mark.slow
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=4), st.integers(0, 90))
def test_a_swap_saves_no_more_than_was_lost(tmp_path_factory, useful_ms, share):
    path = tmp_path_factory.mktemp("swap") / "a.rw"
    cores = {"n0": [in_interrupts(share), *[{"user": 100}] * 3]}
    evidence = Evidence(recorded_on_nodes(path, computing(useful_ms), cores))
    for found in told(evidence):
        assert 0.05 <= found.cost_s <= share / 100 * useful_ms[0] / 1000 + 1e-6
        assert found.ranks[0] == 0
