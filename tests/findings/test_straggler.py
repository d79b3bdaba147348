# SPDX-License-Identifier: BSD-3-Clause
"""Ranks and nodes that something kept from their work, in recordings written by hand."""

import pytest
from sampled_nodes import MS, START, computing, in_interrupts, recorded_on_nodes

from rankwise.findings.catalogue import findings_of
from rankwise.recording.layouts import NOTE_ALLOWED, NOTE_COLUMNS

OWN = {"user": 100}


def told(recording) -> dict[str, object]:
    return {each.name: each for each in findings_of(recording)[0]}


def stolen(percent):
    return {"user": 100 - percent, "steal": percent}


def test_a_core_that_the_host_took_makes_a_straggler_and_no_imbalance(tmp_path):
    # GIVEN as much work on three ranks, and a host that took the last one's core for 40 % of the time
    cores = {"n0": [OWN, OWN, stolen(40)]}
    found = told(recorded_on_nodes(tmp_path / "a.rw", computing([600, 600, 1000]), cores))
    assert list(found) == ["straggler"]
    each = found["straggler"]
    assert each.ranks == [2] and each.cost_s == pytest.approx(0.4)
    assert each.sentence == (
        "rank 2 takes longer for the work: the host of the virtual machine had the core for 400 ms"
    )


def test_more_work_without_anything_that_took_the_core_is_imbalance(tmp_path):
    cores = {"n0": [OWN, OWN, OWN]}
    assert list(told(recorded_on_nodes(tmp_path / "a.rw", computing([600, 600, 1000]), cores))) == [
        "load-imbalance"
    ]


def test_what_is_taken_of_a_rank_that_others_do_not_wait_for_costs_nothing(tmp_path):
    cores = {"n0": [stolen(40), OWN]}
    assert not told(recorded_on_nodes(tmp_path / "a.rw", computing([980, 1000]), cores))
    # AND below the threshold nothing is told
    cores = {"n0": [stolen(4), OWN]}
    assert not told(recorded_on_nodes(tmp_path / "b.rw", computing([1000, 960]), cores))


def test_of_a_node_whose_cores_are_all_slower_the_node_is_named(tmp_path):
    ranks = computing([700, 700, 1000, 1000], ["n0", "n0", "n1", "n1"])
    cores = {"n0": [OWN, OWN], "n1": [stolen(30), stolen(30)]}
    each = told(recorded_on_nodes(tmp_path / "a.rw", ranks, cores))["straggler"]
    assert each.ranks == [2, 3] and each.cost_s == pytest.approx(0.3)
    assert each.sentence.startswith("n1, with ranks 2, 3, takes longer for the work: ")


def test_interrupts_that_no_swap_mends_make_a_straggler(tmp_path):
    # GIVEN as much work on both ranks of a node, so that neither has time to spare for the interrupts
    cores = {"n0": [in_interrupts(20), OWN]}
    found = told(recorded_on_nodes(tmp_path / "a.rw", computing([1000, 800]), cores))
    assert list(found) == ["straggler"] and found["straggler"].cost_s == pytest.approx(0.2)
    # AND where a swap does, that is what is told
    found = told(recorded_on_nodes(tmp_path / "b.rw", computing([1000, 300]), cores))
    assert "interrupt-core" in found and "straggler" not in found


@pytest.mark.parametrize(("faults", "expected"), [(2000, "straggler"), (200, "load-imbalance")])
def test_standing_still_is_paging_where_there_are_major_faults(tmp_path, faults, expected):
    ranks = computing([600, 1000])
    ranks[1].still_ns = 400 * MS
    for rank, count in zip(ranks, (0, faults), strict=True):
        rank.notes = [
            (START, NOTE_COLUMNS, 1, "major_faults"),
            (START, NOTE_ALLOWED, 0, str(rank.world_rank)),
        ]
        rank.rows = [[START, 0], [START + 1000 * MS, count]]
    found = told(recorded_on_nodes(tmp_path / "a.rw", ranks, {"n0": [OWN, OWN]}))
    assert list(found) == [expected]
