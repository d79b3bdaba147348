# SPDX-License-Identifier: BSD-3-Clause
"""Microbenchmarks of studies against closed forms of LogGOPS, on a made-up machine of two nodes."""

import pytest

from rankwise.machine.file import loads
from rankwise.machine.machine import topology_of
from rankwise.study.microbenchmarks import (
    WINDOW,
    availability,
    collective_s,
    exchange_s,
    pair,
    ping_pong_s,
    send_receive_s,
    stream_s,
)
from rankwise.study.platforms import Platform

L, o, G = 1e-6, 0.3e-6, 1e-9
SEGMENT = """
[[link_classes.segments]]
L_s = { value = %g, obtained = "assumed", source = "test" }
o_s = { value = %g, obtained = "assumed", source = "test" }
g_s = { value = %g, obtained = "assumed", source = "test" }
G_s_per_byte = { value = %g, obtained = "assumed", source = "test" }
O_s_per_byte = { value = %g, obtained = "assumed", source = "test" }
"""


def machine(gap=0.0, per_byte=0.0, overlap="true"):
    text = f"""schema = "rankwise.machine/1"
name = "two nodes"
[node]
count = 2
topology = "package:1 core:1 pu:1"
[[link_classes]]
channel = "network"
protocol = "offloaded"
progress = "independent"
overlap = {overlap}
"""
    made = loads(text + SEGMENT % (L, o, gap, G, per_byte))
    return Platform("two nodes", made, topology_of(made, None))


@pytest.fixture
def nodes():
    return machine()


def between(platform):
    return pair(platform, (0, 0), (1, 0))


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20])
def test_half_a_round_trip_is_latency_overheads_and_bytes(nodes, size):
    assert ping_pong_s(between(nodes), size) == pytest.approx(L + 2 * o + max(size - 1, 0) * G, rel=1e-9)


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_stream_is_as_fast_as_its_slowest_part(size):
    # GIVEN a gap between messages that is longer than the overhead
    gap = 2e-6
    at = between(machine(gap=gap))
    # THEN each message takes the gap, or its bytes; the first one's way and the reply are shared by all
    slowest = max(gap, size * G)
    assert stream_s(at, size) == pytest.approx(slowest, rel=2 * (L + 3 * o) / (WINDOW * slowest) + 0.02)


def test_both_directions_do_not_disturb_each_other(nodes):
    # THEN a rank sends and receives in turn: its two overheads, and the message's way
    at = between(nodes)
    assert send_receive_s(at, 1 << 20) == pytest.approx(ping_pong_s(at, 1 << 20), rel=1e-3)


def test_an_exchange_sends_to_both_neighbours(nodes):
    # GIVEN two ranks, each the other's left and right neighbour
    at = between(nodes)
    size = 1 << 20
    assert exchange_s(nodes, at.placement, size) == pytest.approx(2 * size * G, rel=1e-2)


def test_a_collective_of_two_ranks_is_one_exchange(nodes):
    at = between(nodes)
    found = collective_s(nodes, at.placement, "MPI_Allreduce", 8, "mpich2")
    assert found == pytest.approx(ping_pong_s(at, 8), rel=0.01)


def test_a_processor_that_moves_no_bytes_is_free_but_for_overheads(nodes):
    # GIVEN messages of 100 000 bytes, 100 us on the way, that cost 2 o of processor at each rank
    assert availability(between(nodes), 100_000, 1e-6) == pytest.approx(1 - 2 * o / 100e-6, abs=0.005)


def test_a_processor_that_moves_all_bytes_is_taken_by_them():
    # GIVEN a quarter of the link's time at each end for each byte: half of the time in both directions
    at = between(machine(per_byte=G / 4))
    assert availability(at, 100_000, 1e-6) == pytest.approx(0.5, abs=0.02)
    # THEN long computation between messages leaves nearly everything
    assert availability(at, 100_000, 10e-3) > 0.98
