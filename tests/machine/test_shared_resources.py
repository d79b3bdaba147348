# SPDX-License-Identifier: BSD-3-Clause
"""Memories, caches and interrupt cores in machine files: what contradicts itself or the nodes is refused by name."""

import numpy as np
import pytest

from rankwise.errors import RankwiseError
from rankwise.machine.file import dumps, loads
from rankwise.machine.overrides import apply
from rankwise.replay.uncertainty import has_intervals, resample

HEAD = 'schema = "rankwise.machine/1"\nname = "test"\n[node]\ncount = 2\ntopology = "package:2 core:2 pu:1"\n'
ASSUMED = 'obtained = "assumed", source = "test"'


def memory(*lines: str, kind: str = "memory") -> str:
    what = f'[[resources]]\nname = "ram"\nkind = "{kind}"\ndiscipline = "sharing"\nper = "package"'
    return HEAD + "\n".join([what, *lines]) + "\n"


def number(key: str, value: float) -> str:
    return f"{key} = {{ value = {value}, {ASSUMED} }}"


def curve(*values: float) -> str:
    return f"slowdown = {{ values = {list(values)}, {ASSUMED} }}"


def test_a_memory_is_read_and_written():
    text = memory(
        number("capacity_bytes_per_s", 20e9),
        number("per_core_bytes_per_s", 8e9),
        number("passes", 2.0),
        'slowdown = { values = [1.0, 1.1, 1.5], obtained = "measured", low = [1.0, 1.0, 1.4], high = [1.0, 1.2, 1.7] }',
        'channels = ["package"]',
    )
    machine = loads(text)
    assert machine.resources[0].slowdown.values == [1.0, 1.1, 1.5]
    assert loads(dumps(machine)) == machine


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        # 2 cores would get 2 * 8 / 1.0 GB/s of 10 GB/s
        (
            [number("capacity_bytes_per_s", 10e9), number("per_core_bytes_per_s", 8e9), curve(1.0, 1.0)],
            r"line 13 key `resources\[0\].slowdown`: `slowdown` of 2 cores is 1: they would get 1.6e\+10 bytes/s, more "
            r"than `capacity_bytes_per_s`, 1e\+10",
        ),
        ([curve(1.0, 1.5)], "`slowdown` needs `per_core_bytes_per_s`"),
        ([number("per_core_bytes_per_s", 8e9), curve(1.2, 1.5)], "the first of `values` is 1"),
        ([number("per_core_bytes_per_s", 8e9), curve(1.0, 1.5, 1.4)], "`values` do not fall"),
        ([number("per_core_bytes_per_s", 0)], "a `per_core_bytes_per_s` of 0"),
        ([number("far_factor", 2.0)], "`far_factor` is a key of interrupt_core, not of memory"),
        (
            [
                number("per_core_bytes_per_s", 8e9),
                'slowdown = { values = [1.0, 2.0], obtained = "measured" }',
            ],
            "measured numbers need `low` and `high`, one for each",
        ),
        (
            [number("per_core_bytes_per_s", 8e9), 'slowdown = { values = [1.0], obtained = "assumed" }'],
            "numbers that are assumed need their `source`",
        ),
    ],
)
def test_a_memory_that_contradicts_itself_is_refused_with_key_and_line(lines, sentence):
    with pytest.raises(RankwiseError, match=sentence) as error:
        loads(memory(*lines))
    assert "line" in str(error.value)


def test_an_interrupt_core_says_which_core_it_is():
    with pytest.raises(RankwiseError, match="an interrupt core needs `core`"):
        loads(memory(kind="interrupt_core"))


def test_the_capacity_follows_from_the_slowdown_where_it_is_left_out():
    machine = loads(memory(number("per_core_bytes_per_s", 8e9), curve(1.0, 1.0, 2.0)))
    assert machine.resources[0].total_bytes_per_s() == pytest.approx(12e9)


def test_measured_numbers_of_a_memory_are_drawn_within_their_intervals():
    slowdown = (
        'values = [1.0, 1.5, 2.0], obtained = "measured", low = [1.0, 1.4, 1.6], high = [1.0, 1.6, 2.4]'
    )
    machine = loads(memory(number("per_core_bytes_per_s", 8e9), f"slowdown = {{ {slowdown} }}"))
    assert has_intervals(machine)
    rng = np.random.default_rng(1)
    drawn = [resample(machine, rng).resources[0].slowdown.values for _ in range(200)]
    # THEN all curves rise from 1, and their third number is within its interval as often as the confidence says
    assert all(one == 1 and one <= two <= three for one, two, three in drawn)
    assert np.mean([1.6 <= three <= 2.4 for _, _, three in drawn]) == pytest.approx(0.95, abs=0.04)


def test_numbers_of_a_memory_can_be_set_by_hand():
    machine = loads(memory(number("per_core_bytes_per_s", 8e9)))
    changed = apply(machine, ["ram.per_core=4GB/s", "ram.capacity=10GB/s"]).resources[0]
    assert (changed.per_core_bytes_per_s.value, changed.capacity_bytes_per_s.value) == (4e9, 10e9)
