# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of a parameter."""

import pytest
from machines import machine

from rankwise.errors import RankwiseError
from rankwise.machine.overrides import apply
from rankwise.replay.sweep import Sweep

MACHINE = machine({"L_s": 1e-6}, nic_bytes_per_s=1e9)


@pytest.mark.parametrize(
    ("text", "unit", "values", "log"),
    [
        ("network.L=1us..3us:3", "s", [1e-6, 2e-6, 3e-6], False),
        ("network.G=1ns/B..100ns/B:3,log", "s/B", [1e-9, 1e-8, 1e-7], True),
        ("nic.capacity=1GB/s..3GB/s:2", "B/s", [1e9, 3e9], False),
        ("network.S=0..64KiB:2", "B", [0, 65536], False),
        ("network.L=0..4us:3", "s", [0, 2e-6, 4e-6], False),
        ("network.G=0 .. 1ns/B:2", "s/B", [0, 1e-9], False),
    ],
)
def test_values_in_their_unit(text, unit, values, log):
    sweep = Sweep.parse(text, MACHINE)
    assert (sweep.unit, sweep.log) == (unit, log)
    assert sweep.values == pytest.approx(values)


def test_without_a_number_there_are_eleven():
    assert len(Sweep.parse("network.L=1us..3us,log", MACHINE).values) == 11


def test_each_value_is_what_the_machine_gets():
    sweep = Sweep.parse("network.L=1us..100us:5,log", MACHINE)
    got = [
        apply(MACHINE, [setting]).link_class("network").segments[0].L_s.value for setting in sweep.settings()
    ]
    assert got == pytest.approx(sweep.values, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("network.L=1us", "is not a range"),
        ("net.L=1us..2us", "has no channel or resource `net`"),
        ("network.Q=1us..2us", "has no key `Q`"),
        ("network.L=1us..2", "`2` in `network.L=2` is not a value with its unit"),
        ("network.L=2us..1us", "the second end is not above the first"),
        ("network.L=0us..1us,log", "0 has no logarithm"),
        ("network.L=0..1us,log", "0 has no logarithm"),
        ("nic.capacity=0..1GB/s", "a capacity of 0 lets nothing pass"),
        ("network.L=1us..2us:1", "1 points"),
        ("core.waiting=yield..spin", "has words as values"),
    ],
)
def test_what_is_no_range_is_refused(text, expected):
    with pytest.raises(RankwiseError) as error:
        Sweep.parse(text, MACHINE)
    assert expected in str(error.value)
    assert error.value.hint
