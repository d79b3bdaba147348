# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a machine changed by hand."""

from pathlib import Path

import msgspec
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.estimate import Estimate
from rankwise.machine.file import load
from rankwise.machine.overrides import apply, changes_interfaces

MACHINE = load(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")


def network(setting):
    return apply(MACHINE, [setting]).link_class("network")


def resources(setting):
    return {resource.name: resource for resource in apply(MACHINE, [setting]).resources}


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("network.L=20us", "L_s", 20e-6),
        ("network.o=1.5e2ns", "o_s", 150e-9),
        ("network.o_receive=2us", "o_receive_s", 2e-6),
        ("network.g=0s", "g_s", 0.0),
        ("network.L=0", "L_s", 0.0),
        ("network.G=0", "G_s_per_byte", 0.0),
        ("network.G=0.1ns/B", "G_s_per_byte", 1e-10),
        ("network.G=1us/kB", "G_s_per_byte", 1e-9),
        ("network.G=1GB/s", "G_s_per_byte", 1e-9),
        ("network.G=100Mbit", "G_s_per_byte", 8e-8),
        ("network.O=1 ns/B", "O_s_per_byte", 1e-9),
    ],
)
def test_parameters_of_a_channel(setting, key, value):
    estimate = getattr(network(setting).segments[0], key)
    assert estimate.value == pytest.approx(value)
    assert (estimate.obtained, estimate.source) == ("assumed", f"set by hand: {setting}")


def test_everything_else_of_a_channel():
    assert network("network.S=64KiB").eager_limit_bytes.value == 65536
    assert network("network.S=none").eager_limit_bytes is None
    assert network("network.connect=0.3ms").connect_s.value == pytest.approx(3e-4)
    assert network("network.progress=independent").progress == "independent"
    assert network("network.overlap=false").overlap is False


def test_resources_one_by_one_and_both_directions_of_the_interface():
    one = resources("nic_tx.capacity=1GB/s")
    assert one["nic_tx"].capacity_bytes_per_s.value == 1e9
    assert one["nic_rx"] == resources("core.waiting=yield")["nic_rx"]
    both = resources("nic.G=8ns/B")
    assert {round(both[name].capacity_bytes_per_s.value) for name in ("nic_tx", "nic_rx")} == {125_000_000}
    assert resources("nic.per_message=1us")["nic_rx"].per_message_s.value == 1e-6
    assert resources("core.waiting=yield")["core"].waiting == "yield"
    # A time a byte whose inverse no number holds is none.
    assert resources("nic.G=1e-320s/B")["nic_tx"].capacity_bytes_per_s is None


def measured_through(capacity, *per_byte):
    """A machine with interfaces of `capacity` each way, and a segment of the network for each cost of a byte."""
    machine = apply(MACHINE, [f"nic.capacity={capacity:g}B/s"])
    of_network = machine.link_class("network")
    segments = [
        msgspec.structs.replace(
            of_network.segments[0], up_to_bytes=up_to, G_s_per_byte=Estimate(each, "assumed", source="a test")
        )
        for each, up_to in zip(per_byte, [*range(1024, 1024 * len(per_byte), 1024), None], strict=True)
    ]
    links = [
        msgspec.structs.replace(link, segments=segments) if link is of_network else link
        for link in machine.link_classes
    ]
    return msgspec.structs.replace(machine, link_classes=links)


def test_what_a_byte_costs_between_nodes_follows_the_interface_that_it_was_measured_through():
    # GIVEN interfaces of 100 ns a byte: bytes hardly told apart from latency, of exactly that, and of 20 ns more
    machine = measured_through(1e7, 20e-9, 100e-9, 120e-9)
    # WHEN they get ten times as fast
    faster = apply(machine, ["nic.capacity=100MB/s"]).link_class("network")
    # THEN the interface's part is a tenth, and the rest stays
    costs = [segment.G_s_per_byte.value for segment in faster.segments]
    assert costs == pytest.approx([2e-9, 10e-9, 30e-9])
    # AND of interfaces without a limit only the rest is left
    unlimited = apply(machine, ["nic.G=0"]).link_class("network")
    assert [segment.G_s_per_byte.value for segment in unlimited.segments] == pytest.approx(
        [0, 0, 20e-9], abs=1e-15
    )
    # AND one direction alone is the slower one when it gets slower, and changes nothing when it gets faster
    slower = apply(machine, ["nic_rx.capacity=5MB/s"]).link_class("network")
    assert slower.segments[1].G_s_per_byte.value == pytest.approx(200e-9)
    assert apply(machine, ["nic_rx.capacity=1GB/s"]).link_class("network") == machine.link_class("network")
    assert changes_interfaces(machine, ["nic.capacity=1GB/s"])
    assert not changes_interfaces(machine, ["network.L=1us"])


def test_what_was_set_by_hand_does_not_follow():
    machine = measured_through(1e7, 100e-9)
    both = apply(machine, ["network.G=1ns/B", "nic.capacity=100MB/s"]).link_class("network")
    assert both.segments[0].G_s_per_byte.value == pytest.approx(1e-9)


def test_settings_add_up_and_the_machine_stays_as_it_was():
    before = MACHINE.link_class("network").segments[0].L_s.value
    changed = apply(MACHINE, ["network.L=9us", "network.o=1us"]).link_class("network").segments[0]
    assert (changed.L_s.value, changed.o_s.value) == (9e-6, 1e-6)
    assert MACHINE.link_class("network").segments[0].L_s.value == before


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("network", "is not a setting"),
        ("network.L", "is not a setting"),
        ("netwrk.L=1us", "no channel or resource `netwrk`"),
        ("network.X=1us", "link class `network` has no key `X`"),
        ("core.speed=1us", "resource `core` has no key `speed`"),
        ("network.L=20", "`20` in `network.L=20` is not a value with its unit"),
        ("network.G=1ns", "is not a value with its unit"),
        (
            "network.progress=maybe",
            "`maybe` in `network.progress=maybe` is not a value of `network.progress`",
        ),
        ("network.overlap=1", "is not a value of `network.overlap`"),
        ("core.waiting=block", "is not a value of `core.waiting`"),
        ("nic_tx.waiting=spin", "resource `nic_tx` has no key `waiting`"),
        ("network.G=1e500ns/B", "is not a value with its unit"),
        ("network.S=1e500", "is not a value with its unit"),
    ],
)
def test_what_is_wrong_with_a_setting_is_said(setting, expected):
    with pytest.raises(RankwiseError) as caught:
        apply(MACHINE, [setting])
    assert expected in caught.value.message
    assert caught.value.hint
