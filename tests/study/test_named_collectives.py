# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with named algorithms: names, calibration by one call, and how orders and errors are counted."""

from pathlib import Path

import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.study.measured import measured
from rankwise.study.named_algorithms import (
    RULES,
    NamedAlgorithms,
    NamedCall,
    copied_bytes,
    on_two_rails,
    our_name,
    slowness_of,
)
from rankwise.study.platforms import shipped
from rankwise.study.request import Request
from rankwise.study.studies.collectives import Time, calibrating, errors, orders, run

RING = NamedCall("allgather", "ring", nodes=16, each=1, count=262144)


@pytest.fixture(scope="module")
def lumi():
    return shipped("lumi-g")


def test_names_lose_whose_code_it_is():
    assert our_name("allgather", "ring_over") == our_name("allgather", "ring_mpich") == "ring"
    assert our_name("allreduce", "bine_lat_over") == "bine_doubling"
    assert our_name("allreduce", "default_ompi") == RULES
    assert our_name("allreduce", "default_mpich") is our_name("bcast", "bine_lat_over") is None


def test_every_algorithm_that_is_named_is_there():
    from rankwise.study.named_algorithms import ALGORITHMS

    known = set(_core.collectives.algorithms())
    assert {(name, ours) for name, of in ALGORITHMS.items() for ours in of.values()} - known == set()


def test_a_slower_network_takes_that_much_longer(lumi):
    # GIVEN a ring in which nothing is combined or copied
    published = NamedAlgorithms(lumi).time_s(RING)
    # THEN all of it is the network's
    assert NamedAlgorithms(lumi, 3.0).time_s(RING) == pytest.approx(3 * published, rel=1e-6)
    assert slowness_of(lumi, RING, 3 * published) == pytest.approx(3.0, rel=2e-3)


def test_rounds_of_many_ranks_are_as_long_as_those_of_some(lumi):
    # GIVEN a ring of 160 ranks, of which 64 and 128 are replayed
    call = NamedCall("allgather", "ring", nodes=160, each=1, count=160 * 512)
    machine = NamedAlgorithms(lumi)
    assert machine.time_s(call) == pytest.approx(machine._replay(call), rel=1e-3)


def test_brucks_algorithm_turns_its_blocks():
    assert copied_bytes(RING) == 0
    assert copied_bytes(NamedCall("allgather", "bruck", 16, 1, 1000)) == 4000
    # THEN an alltoall of 16 ranks has four rounds, and turns them before and after
    assert copied_bytes(NamedCall("alltoall", "bruck", 16, 1, 1000)) == 6 * 4000


def test_two_interfaces_carry_a_large_message():
    before = shipped("leonardo-booster")
    after = on_two_rails(before)
    old, new = (each.machine.link_class("network") for each in (before, after))
    assert new.segments[-1].G_s_per_byte.value == old.segments[-1].G_s_per_byte.value / 2
    assert new.segments[-2].G_s_per_byte == old.segments[-1].G_s_per_byte
    assert new.segments[-2].up_to_bytes == old.eager_limit_bytes.value
    assert after.machine.interfaces.striped_over == 2
    assert after.machine.interfaces.striped_from_bytes.value == old.eager_limit_bytes.value + 1
    # THEN a message of 64 MiB takes half as long
    large = NamedCall("bcast", "binomial", nodes=2, each=1, count=1 << 24)
    ratio = NamedAlgorithms(after).time_s(large) / NamedAlgorithms(before).time_s(large)
    assert ratio == pytest.approx(0.5, rel=0.01)


def timed(job, name, ours, count, least, median, most, predicted, nodes=4):
    call = NamedCall("allgather", ours, nodes, 1, count)
    return Time("lumi", job, name, call, least, median, most, predicted)


def test_orders_count_where_times_do_not_overlap():
    times = [
        timed("a", "ring_over", "ring", 64, 9, 10, 11, 5),
        timed("a", "bruck_over", "bruck", 64, 20, 22, 25, 8),  # apart from both, right and wrong
        timed("a", "sparbit_over", "sparbit", 64, 10, 12, 19, 9),  # overlaps the ring
        timed("b", "sparbit_over", "sparbit", 64, 1, 1, 1, 1),  # another job
    ]
    assert orders(times) == (1, 2)


def test_a_time_between_those_of_jobs_is_right():
    times = [
        timed("a", "ring_over", "ring", 64, 3, 4.0, 5, 5.0),
        timed("b", "ring_over", "ring", 64, 6, 6.7, 8, 5.0),
        timed("a", "ring_over", "ring", 128, 3, 4.0, 5, 5.0),
    ]
    assert errors(times) == [0, 0, pytest.approx(0.25)]


def test_the_job_with_the_fewest_nodes_calibrates_at_the_middle_size():
    rows = [
        timed("many", "ring_over", "ring", 262144, 1, 1, 1, 1, nodes=64),
        timed("few", "ring_over", "ring", 64, 1, 1, 1, 1),
        timed("few", "ring_over", "ring", 131072, 1, 1, 1, 1),
        timed("few", "bruck_over", "bruck", 262144, 1, 1, 1, 1),
    ]
    assert calibrating(rows) == rows[2]


def test_the_measured_tables_have_the_ranks_of_the_allocations():
    table = measured("named_collectives")
    assert set(table["system"]) == {"leonardo", "lumi"}
    assert set(table.filter(job="2025_04_06___23_05_13")["tasks_per_node"]) == {4}


def test_small_allgathers_are_faster_in_few_rounds(lumi):
    # GIVEN 4096 integers on 16 nodes of LUMI: the ring took 106 us, the others 29
    machine = NamedAlgorithms(lumi, 4.7)
    times = {
        name: machine.time_s(NamedCall("allgather", name, 16, 1, 4096))
        for name in ("ring", "bruck", "recursive_doubling")
    }
    assert times["ring"] > 2 * max(times["bruck"], times["recursive_doubling"])


def test_other_machines_are_refused():
    with pytest.raises(RankwiseError, match="two systems that were measured"):
        run(Request(machines=(Path("site.machine.toml"),)))


@pytest.mark.slow
def test_nine_of_ten_orders_of_two_algorithms_are_right():
    result = run(Request())
    by = {}
    for row in result.tables[1].rows:
        right, apart = by.get(row[0], (0, 0))
        by[row[0]] = right + row[3], apart + row[4]
    assert set(by) == {"leonardo", "lumi"}
    assert all(right >= 0.9 * apart > 100 for right, apart in by.values())
