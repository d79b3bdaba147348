# SPDX-License-Identifier: BSD-3-Clause
"""Orders of ranks on full nodes: what copies share, how orders are judged, and orders that were measured."""

from dataclasses import replace

import msgspec
import pytest

from rankwise.errors import RankwiseError
from rankwise.study.catalogue import study
from rankwise.study.full_nodes import Call, FullNodes, core_of
from rankwise.study.measured import measured
from rankwise.study.ordering import Orders, Pair
from rankwise.study.platforms import shipped
from rankwise.study.request import Request
from rankwise.study.run.placed_calls import order_that_is_placed
from rankwise.study.where_bytes_are import Caches, with_bytes

KIB = 1024
CACHES = Caches(second_bytes=512 * KIB, third_bytes=4096 * KIB)


@pytest.fixture(scope="module")
def nodes():
    return FullNodes(shipped("archer2"))


def times(nodes, benchmark, bytes, ranks=128, **more):
    call = Call(benchmark, ranks // 128, ranks, bytes)
    return {order: nodes.predict(call, order, **more) for order in ("cores", "rank")}


def ratio(found):
    return found["cores"].time_s / found["rank"].time_s


@pytest.mark.parametrize(
    ("message", "buffers", "fresh", "where"),
    [
        (4 * KIB, 8 * KIB, False, "another cache"),  # through memory that both ranks share
        (64 * KIB, 128 * KIB, False, "own cache"),
        (64 * KIB, 128 * KIB, True, "another cache"),
        (512 * KIB, 1024 * KIB, False, "third-level caches"),
        (4096 * KIB, 8192 * KIB, False, "memory"),
        (64 * KIB, 8192 * KIB, True, "another cache"),  # written a moment ago
        (4096 * KIB, 8192 * KIB, True, "memory"),
    ],
)
def test_copies_find_their_bytes_where_they_fit(message, buffers, fresh, where):
    assert CACHES.where(message, buffers, 8 * KIB - 1, fresh) == where


def test_copies_share_only_what_their_bytes_pass():
    machine = shipped("archer2").machine

    def names(*how):
        return {each.name for each in with_bytes(machine, *how).resources} & {
            "memory",
            "fabric",
            "between_caches",
        }

    assert names("own cache") == set()
    assert names("third-level caches") == {"fabric"}
    assert names("another cache") == {"between_caches"}
    assert names("another cache", True) == {"between_caches", "memory"}
    assert names("memory") == {"memory"}


def test_fresh_bytes_come_at_the_rate_of_eager_messages():
    # GIVEN the channel between NUMA nodes of a package, which the ping-pong has at 4 KiB and at 2 MiB
    machine = shipped("archer2").machine
    before, after = (each.link_class("package") for each in (machine, with_bytes(machine, "another cache")))
    eager = next(each for each in before.segments if each.up_to_bytes == 4096).G_s_per_byte
    # THEN large messages cost as much a byte as the former, and the network is as it was
    assert {each.G_s_per_byte for each in after.segments if (each.up_to_bytes or 2**40) > 8191} == {eager}
    assert with_bytes(machine, "another cache").link_class("network") == machine.link_class("network")


def test_a_machine_without_its_caches_is_refused():
    with pytest.raises(RankwiseError, match="has no nodes of 128 cores whose caches are known"):
        FullNodes(shipped("lumi-c"))


def test_both_orders_use_every_core_once():
    for order in ("cores", "rank"):
        assert sorted(core_of(rank, order) for rank in range(128)) == list(range(128))
    assert [core_of(rank, "cores") for rank in (0, 1, 7, 8, 127)] == [0, 16, 112, 1, 127]


def test_orders_are_right_where_the_faster_one_is_told():
    pairs = [Pair(1.5, 1.2), Pair(1.5, 1.0), Pair(0.8, 1.3), Pair(1.05, 1.02), Pair(0.95, 1.4)]
    assert [pair.is_right for pair in pairs] == [True, False, False, True, False]
    assert Orders.of(pairs) == Orders(right=1, different=3, said_same=1, same=2)


def test_the_measured_orders_are_all_there():
    table = measured("archer2_orders")
    assert set(table["order"]) == {"cores", "cyclic", "rank"}
    assert set(table["nodes"]) == {1, 4, 16}
    ring = table.filter(benchmark="Sendrecv", nodes=16, bytes=1048576)
    assert dict(ring.select("order", "t_avg_us").iter_rows()) == {
        "cores": 194.57,
        "cyclic": 194.78,
        "rank": 132.52,
    }


@pytest.mark.parametrize("bytes", [0, 64, 4 * KIB, 8 * KIB, 1024 * KIB])
def test_a_ring_is_faster_in_order(nodes, bytes):
    # GIVEN what was measured: 1.72, 2.25, 4.5, 1.6 and 1.35 times as long round the NUMA nodes
    found = times(nodes, "sendrecv", bytes)
    assert found["cores"].time_s > 1.05 * found["rank"].time_s


def test_an_alltoall_of_64_kib_is_the_same_in_both_orders(nodes):
    # THEN as measured, 11.86 and 11.66 ms: memory decides
    found = times(nodes, "alltoall", 64 * KIB)
    assert found["cores"].time_s == pytest.approx(found["rank"].time_s, rel=0.05)
    assert found["cores"].decides == found["rank"].decides == "memory"
    assert found["rank"].time_s == pytest.approx(11.66e-3, rel=0.5)


def test_fresh_blocks_make_an_allgather_and_an_allreduce_slow_round_the_numa_nodes(nodes):
    # THEN as measured: 5.4 and 3.8 times as long, for lines that other caches have written
    for benchmark, bytes in (("allgather", 16 * KIB), ("allreduce", 512 * KIB)):
        found = times(nodes, benchmark, bytes)
        assert found["cores"].time_s > 2 * found["rank"].time_s
        assert found["cores"].decides == "between_caches"


# What `cores` took over `rank` on one node, from no difference to six times.
FACTORS = [
    ("allgather", 16, 1.34),
    ("allgather", 64, 2.88),
    ("allgather", 512, 2.99),
    ("allgather", 4 * KIB, 6.17),
    ("allgatherv", 128, 2.81),
    ("allreduce", 64, 1.34),
    ("allreduce", 16 * KIB, 3.47),
    ("allreduce", 1024 * KIB, 4.23),
    ("alltoall", 16, 1.01),
    ("alltoall", 64 * KIB, 1.02),
    ("sendrecv", 64, 2.25),
]


def test_the_factors_between_both_orders_are_measured_ones():
    table = measured("archer2_orders").filter(nodes=1)
    for benchmark, bytes, factor in FACTORS:
        rows = table.filter(bytes=bytes).filter(
            table.filter(bytes=bytes)["benchmark"].str.to_lowercase() == benchmark
        )
        took = dict(rows.select("order", "t_avg_us").iter_rows())
        assert took["cores"] / took["rank"] == pytest.approx(factor, abs=0.006)


@pytest.mark.parametrize(("benchmark", "bytes", "factor"), FACTORS)
def test_how_much_slower_the_ranks_are_round_the_numa_nodes_is_about_right(nodes, benchmark, bytes, factor):
    # THEN no rule that always takes one order passes: some differ by less than 10 %, others by a factor
    found = ratio(times(nodes, benchmark, bytes))
    assert found == pytest.approx(factor, rel=0.45)
    assert (found > 1.1) == (factor > 1.1)


def test_orders_of_small_allgathers_need_the_library_s_own_algorithm(nodes):
    # GIVEN blocks of 64 bytes, which Cray MPICH gathers and broadcasts: 63 us against 22
    assert ratio(times(nodes, "allgather", 64, library="cray")) > 1.5
    # THEN by MPICH's recursive doubling the slower order would be the faster one
    assert ratio(times(nodes, "allgather", 64, library="mpich")) < 1


def test_place_chooses_the_order_that_was_faster(nodes):
    for benchmark, bytes in (("sendrecv", 64), ("allgather", 64), ("allreduce", 64 * KIB)):
        call = Call(benchmark, 1, 128, bytes)
        assert order_that_is_placed(nodes, call) == "rank"
        # AND keeps it where the ranks have it already
        assert order_that_is_placed(nodes, call, present="rank") == "rank"


def test_place_keeps_the_present_order_where_the_other_is_not_faster(nodes, monkeypatch):
    # GIVEN a machine on which all cores are equally far apart
    wide = shipped("archer2")
    link = wide.machine.link_class("node")
    links = [
        msgspec.structs.replace(link, channel=each.channel) if each.channel in ("L3", "package") else each
        for each in wide.machine.link_classes
    ]
    machine = msgspec.structs.replace(
        wide.machine,
        link_classes=links,
        resources=[each for each in wide.machine.resources if each.kind != "memory"],
    )
    alike = FullNodes(replace(wide, machine=machine))
    assert order_that_is_placed(alike, Call("sendrecv", 1, 128, 64)) == "cores"


@pytest.mark.slow
def test_the_study_counts_orders_of_one_node():
    result = study("archer2").run(Request(ranks=128))
    rows = {row[0]: row[1:] for row in result.tables[0].rows}
    right, different = rows["Sendrecv up to 64 KiB"][:2]
    assert right == different > 10
    by_cray, by_mpich, by_rule = (
        rows[f"collectives by {name}"]
        for name in ("Cray MPICH's rules", "MPICH's rules", "the rule that `rank` is faster")
    )
    assert by_cray[0] > 0.8 * by_cray[1] > by_mpich[0]
    # AND says where there is no difference, as no rule does
    assert by_cray[2] >= 0.6 * by_cray[3] > by_rule[2] == 0
    # AND `place` takes the faster one in most
    assert sum(row[1] for row in result.tables[2].rows) > 0.8 * sum(row[2] for row in result.tables[2].rows)
    assert {target.met for target in result.targets} <= {True, False}
