# SPDX-License-Identifier: BSD-3-Clause
"""Ranks whose memory is not beside their cores, in recordings written by hand."""

import pytest
from sampled_nodes import START, computing, recorded_on_nodes

from rankwise.findings.catalogue import findings_of
from rankwise.recording.layouts import NOTE_ALLOWED, NOTE_COLUMNS, NOTE_FACT


def told(path, memory_mib, numa_nodes=(0, 0, 1, 1)):
    """What is told of ranks on PUs 0, 1, ... with so much memory on each NUMA node."""
    ranks = computing([1000] * len(memory_mib))
    for rank, of_nodes in zip(ranks, memory_mib, strict=True):
        facts = [f"memory_kib:{numa}\t{size << 10}" for numa, size in enumerate(of_nodes)]
        rank.notes = [(START, NOTE_COLUMNS, 1, "user_ns"), (START, NOTE_ALLOWED, 0, str(rank.world_rank))]
        rank.notes += [(START, NOTE_FACT, 0, fact) for fact in facts]
        rank.rows = [[START, 0], [START + 1000, 1]]
    recording = recorded_on_nodes(path, ranks, {"n0": []})
    recording.context["hosts"][0]["topology"]["numa_nodes"] = list(numa_nodes)
    return [each for each in findings_of(recording)[0] if each.name == "pages-elsewhere"]


def test_a_rank_with_its_memory_on_the_other_numa_node_is_named(tmp_path):
    # GIVEN ranks 0 and 1 on NUMA node 0 and rank 2 on node 1, which has 300 of 400 MiB on node 0
    (found,) = told(tmp_path / "a.rw", [[400, 0], [400, 10], [300, 100]])
    assert found.ranks == [2] and found.cost_s is None
    assert "rank 2 are not on the NUMA node of its cores (1)" in found.sentence
    # AND of two, the one with most
    (found,) = told(tmp_path / "b.rw", [[0, 100], [0, 400], [0, 400]])
    assert found.ranks == [0, 1] and "rank 1 are not" in found.sentence and "1 more rank" in found.sentence


@pytest.mark.parametrize(
    ("memory", "numa_nodes"),
    [
        ([[400, 300]], (0, 0, 1, 1)),  # most of it is beside the cores
        ([[10, 60]], (0, 0, 1, 1)),  # little
        ([[10, 0, 400]], (0, 0, 1, 1)),  # on a node without cores: high-bandwidth memory
        ([[0, 400]], (0, 0, 0, 0)),
        ([[0, 400]], (-1, -1, -1, -1)),  # not known
    ],
)
def test_memory_that_is_where_it_belongs_is_not_told(tmp_path, memory, numa_nodes):
    assert told(tmp_path / "a.rw", memory, numa_nodes) == []
