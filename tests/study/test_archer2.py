# SPDX-License-Identifier: BSD-3-Clause
"""Orders of ranks on full nodes: what copies share, how orders are judged, and orders that were measured."""

import pytest

from rankwise.errors import RankwiseError
from rankwise.study.catalogue import study
from rankwise.study.full_nodes import Call, FullNodes, core_of
from rankwise.study.measured import measured
from rankwise.study.ordering import Orders, Pair
from rankwise.study.platforms import shipped
from rankwise.study.request import Request
from rankwise.study.where_bytes_are import Caches, with_bytes

KIB = 1024
CACHES = Caches(second_bytes=512 * KIB, third_bytes=4096 * KIB)


@pytest.fixture(scope="module")
def nodes():
    return FullNodes(shipped("archer2"))


def times(nodes, benchmark, bytes, ranks=128):
    call = Call(benchmark, ranks // 128, ranks, bytes)
    return {order: nodes.predict(call, order) for order in ("cores", "rank")}


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
    # THEN as measured: 5.4 and 3.6 times as long, for lines that other caches have written
    for benchmark, bytes in (("allgather", 16 * KIB), ("allreduce", 128 * KIB)):
        found = times(nodes, benchmark, bytes)
        assert found["cores"].time_s > 2 * found["rank"].time_s
        assert found["cores"].decides == "between_caches"


@pytest.mark.slow
def test_every_order_of_a_ring_up_to_64_kib_is_right():
    result = study("archer2").run(Request(ranks=128))
    rows = {row[0]: row[1:] for row in result.tables[0].rows}
    right, different = rows["Sendrecv up to 64 KiB"][:2]
    assert right == different > 10
    # THEN of large blocks and buffers too, of which other cores have written the bytes
    rows = {row[0]: row[1:] for row in result.tables[1].rows}
    for name in ("allgather above", "allreduce above"):
        assert rows[name][0] >= 0.9 * rows[name][1] > 0
