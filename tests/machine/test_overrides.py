# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a machine changed by hand."""

from pathlib import Path

import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.file import load
from rankwise.machine.overrides import apply

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
