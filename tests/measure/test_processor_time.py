# SPDX-License-Identifier: BSD-3-Clause
"""Where waiting ranks sleep, messages cost the processor time of bursts."""

import msgspec
import polars as pl
import pytest

from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine, Resource, Segment
from rankwise.machine.nodes import Node
from rankwise.measure.processor_time import charge_processor_time
from rankwise.measure.samples import SCHEMA


def seen(value: float) -> Estimate:
    return Estimate(value, "measured", low=0.9 * value, high=1.1 * value, samples=9)


def link(channel: str, o: float, o_receive: float) -> LinkClass:
    segment = Segment(
        L_s=seen(50e-6), o_s=seen(o), g_s=seen(1e-6), G_s_per_byte=seen(16e-9), O_s_per_byte=seen(1e-9)
    )
    segment = msgspec.structs.replace(segment, o_receive_s=seen(o_receive))
    protocol = "host-processed" if channel == "network" else "shared-memory"
    return LinkClass(channel, protocol, "in-call", channel == "network", [segment])


MACHINE = Machine(
    schema="rankwise.machine/1",
    name="lab",
    node=Node(count=2, topology="package:1 core:2 pu:1"),
    link_classes=[link("package", 1e-6, 25e-6), link("network", 12e-6, 26e-6)],
    resources=[Resource("core", "core", "sharing", "core", waiting="yield")],
)


def table(*rows: dict) -> pl.DataFrame:
    whole = [dict.fromkeys(SCHEMA) | {"switches": 0, "rotate_bytes": 0, "launch": 0} | row for row in rows]
    return pl.DataFrame(whole, schema=SCHEMA)


def burst(size: int, wall: float, sender: float, receiver: float) -> list[dict]:
    values = {"value1": wall, "value2": sender, "value3": receiver}
    return [{"test": "stream_cpu", "channel": "network", "bytes": size} | values] * 9


def exchange(size: int, wall: float, used: float, busy: float) -> list[dict]:
    values = {"value1": wall, "value2": used, "value3": busy}
    return [{"test": "exchange_cpu", "channel": "all nodes", "bytes": size} | values] * 9


def waiting(share: float, busy: float = 0.0) -> list[dict]:
    row = {"test": "waiting", "channel": "all nodes", "bytes": 1, "value2": share, "value3": busy}
    return [row] * 9


def test_bursts_tell_what_messages_cost_and_the_way_stays_as_long():
    # GIVEN bursts of which both ends wait a part of the time, on cores of which waiting takes a tenth
    samples = table(*burst(1, 20e-6, 10e-6, 7e-6), *burst(10001, 200e-6, 120e-6, 65e-6), *waiting(0.1))
    made = charge_processor_time(MACHINE, samples)
    # THEN overheads are processor time less that of waiting
    (segment,) = made.link_class("network").segments
    assert segment.o_s.value == pytest.approx(8e-6)
    assert segment.o_receive_s.value == pytest.approx(5e-6)
    assert segment.O_s_per_byte.value == pytest.approx((92e-6 + 40e-6) / 2 / 10000)
    # AND a message takes as long as before: what is no overhead is latency
    assert segment.L_s.value + segment.o_s.value + segment.o_receive_s.value == pytest.approx(88e-6)
    for each in (segment.o_s, segment.o_receive_s, segment.O_s_per_byte, segment.L_s):
        assert each.low <= each.value <= each.high
    # AND on its own node a receive costs as much as a send
    (near,) = made.link_class("package").segments
    assert (near.o_s.value, near.o_receive_s.value) == (1e-6, 1e-6)
    assert near.L_s.value == pytest.approx(74e-6)


def test_a_message_never_costs_more_than_was_timed():
    samples = table(*burst(1, 90e-6, 80e-6, 80e-6), *waiting(0.0))
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    assert (segment.o_s.value, segment.o_receive_s.value, segment.L_s.value) == (12e-6, 26e-6, 50e-6)


def test_where_waiting_used_as_much_as_messages_their_cost_is_assumed():
    # GIVEN receivers that used less than ranks that wait as long, and exchanges whose bytes cost nothing
    samples = table(
        *burst(8, 20e-6, 10e-6, 1e-6),
        *exchange(8, 0.0, 26e-6, 0.0),
        *exchange(8192, 0.0, 26e-6, 0.0),
        *waiting(0.1),
    )
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    # THEN 0 is what is left, which nobody measured, and what is left of the sender's is measured
    for each in (segment.o_receive_s, segment.O_s_per_byte):
        assert (each.value, each.low, each.obtained) == (0.0, 0.0, "assumed")
        assert each.source.startswith("cut at 0: ")
    assert segment.o_s.obtained == "measured" and segment.o_s.value > 0


def test_what_was_not_measured_stays():
    assert charge_processor_time(MACHINE, table()) == MACHINE
    # Waiting that costs nothing hides no part of a receive.
    only_waiting = charge_processor_time(MACHINE, table(*waiting(0.2)))
    assert only_waiting.link_class("network") == MACHINE.link_class("network")
    assert only_waiting.link_class("package").segments[0].o_receive_s.value == 1e-6


def with_two_segments() -> Machine:
    network = MACHINE.link_class("network")
    (segment,) = network.segments
    eager = msgspec.structs.replace(segment, up_to_bytes=65536)
    links = [MACHINE.link_class("package"), msgspec.structs.replace(network, segments=[eager, segment])]
    return msgspec.structs.replace(MACHINE, link_classes=links)


def test_bytes_cost_what_they_do_while_all_ranks_exchange_them():
    # GIVEN exchanges of three sizes among ranks of which waiting takes a tenth of the time; while the middle ones are
    # under way, cores are busy with what is in nobody's time
    samples = table(
        *burst(8, 20e-6, 10e-6, 7e-6),
        *exchange(8, 100e-6, 30e-6, 20e-6),
        *exchange(10008, 400e-6, 160e-6, 260e-6),
        *exchange(100008, 3e-3, 2.32e-3, 0.0),
        *waiting(0.1, busy=0.1),
    )
    # WHEN overheads are charged
    near, far = charge_processor_time(with_two_segments(), samples).link_class("network").segments
    # THEN each segment has the cost of the messages in it, half at either end
    assert near.O_s_per_byte.value == pytest.approx((220e-6 - 20e-6) / 2 / 10000)
    assert far.O_s_per_byte.value == pytest.approx((2.02e-3 - 20e-6) / 2 / 100000)
    for each in (near.O_s_per_byte, far.O_s_per_byte):
        assert each.low <= each.value <= each.high


def test_what_others_do_on_the_cores_is_no_cost_of_messages():
    # GIVEN cores that were busy ten times as long as the ranks that exchanged messages
    samples = table(
        *burst(8, 20e-6, 10e-6, 7e-6),
        *exchange(8, 1e-6, 30e-6, 300e-6),
        *exchange(10008, 1e-6, 130e-6, 1300e-6),
        *waiting(0.0),
    )
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    # THEN at most as much again is counted
    assert segment.O_s_per_byte.value == pytest.approx(2 * 100e-6 / 2 / 10000)


def test_a_message_among_many_costs_more_than_one_of_a_burst():
    # GIVEN bursts whose messages cost 8 and 5 us, and small ones that cost 26 us while all ranks exchange them
    samples = table(
        *burst(8, 20e-6, 8e-6, 5e-6),
        *exchange(8, 0.0, 26e-6, 20e-6),
        *exchange(8192, 0.0, 46e-6, 0.0),
    )
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    # THEN each end has its part of that, as far as it was seen to take so long
    assert segment.o_s.value == pytest.approx(12e-6)
    assert segment.o_receive_s.value == pytest.approx(10e-6)


def test_a_segment_ends_where_bytes_begin_to_cost_more():
    # GIVEN one segment of times, and bytes of 16 KiB that cost four times those of 8 KiB
    samples = table(
        *burst(8, 20e-6, 8e-6, 5e-6),
        *exchange(8, 0.0, 13e-6, 0.0),
        *exchange(8192, 0.0, 13e-6 + 2 * 8184e-9, 0.0),
        *exchange(16384, 0.0, 13e-6 + 2 * 4 * 16376e-9, 0.0),
        *exchange(131072, 0.0, 13e-6 + 2 * 4.1 * 131064e-9, 0.0),
    )
    near, far = charge_processor_time(MACHINE, samples).link_class("network").segments
    # THEN it is two, which meet between these sizes, and differ by that alone
    assert 8192 < near.up_to_bytes < 16384
    assert far.up_to_bytes is None
    assert near.O_s_per_byte.value == pytest.approx(1e-9)
    assert far.O_s_per_byte.value == pytest.approx(4.1e-9)
    assert near.L_s == far.L_s


def test_what_exchanges_cost_is_shared_in_halves_where_bursts_left_nothing():
    # GIVEN bursts whose processor time is less than what waiting takes, and messages of exchanges that cost 16 us
    samples = table(
        *burst(8, 90e-6, 8e-6, 5e-6),
        *exchange(8, 0.0, 16e-6, 0.0),
        *burst(16384, 9e-4, 9e-5, 9e-5),
        *waiting(0.1),
    )
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    assert segment.o_s.value == pytest.approx(8e-6)
    assert segment.o_receive_s.value == pytest.approx(8e-6)


def test_noise_of_exchanges_makes_no_segments():
    # GIVEN bytes of 8 KiB that seem to cost nothing, from exchanges that leave open whether they do
    noisy = [each | {"value2": (13 + k) * 1e-6} for k, each in enumerate(exchange(8192, 0.0, 0.0, 0.0), -4)]
    samples = table(
        *burst(8, 20e-6, 8e-6, 5e-6),
        *exchange(8, 0.0, 13e-6, 0.0),
        *noisy,
        *exchange(131072, 0.0, 13e-6 + 2 * 131064e-10, 0.0),
    )
    (segment,) = charge_processor_time(MACHINE, samples).link_class("network").segments
    # THEN all bytes cost what those of larger messages do
    assert segment.O_s_per_byte.value == pytest.approx(1e-10)
