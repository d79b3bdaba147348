# SPDX-License-Identifier: BSD-3-Clause
"""From ranks that stream through memory together to what predictions know of it."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.machine.estimate import Estimate as Number
from rankwise.machine.file import SCHEMA as MACHINE_SCHEMA
from rankwise.machine.file import dumps, loads
from rankwise.machine.machine import LinkClass, Machine, Segment
from rankwise.machine.nodes import Node
from rankwise.measure.memories import caches, memory
from rankwise.measure.samples import SCHEMA

STREAMED, CACHED = 64 << 20, 4 << 20


def table(rates: dict[int, list[float]], domain="package+node", size=STREAMED) -> pl.DataFrame:
    """Samples of ranks that together move `rates[ranks]` bytes/s."""
    columns = {name: None for name in SCHEMA}
    rows = [
        columns
        | {"launch": 0, "test": "memory", "channel": f"memory of {domain}", "pairs": k, "bytes": size}
        | {"switches": 0, "value1": float(rate)}
        for k, of_count in rates.items()
        for rate in of_count
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def link(bandwidth: float) -> LinkClass:
    zero = Number(0.0, "assumed", source="test")
    per_byte = Number(1 / bandwidth, "assumed", source="test")
    return LinkClass(
        "package", "shared-memory", "in-call", False, [Segment(zero, zero, zero, per_byte, zero)]
    )


def written(resources) -> Machine:
    node = Node(count=1, topology="package:1 core:4 pu:1")
    return loads(dumps(Machine(MACHINE_SCHEMA, "test", node, [link(1e9)], resources)))


def test_ranks_that_fill_a_memory_give_its_capacity_and_the_slowdown_of_each():
    # GIVEN one core moves 10 GB/s, two 18, four 20, and so do three
    rates = {1: [10e9] * 5, 2: [18e9] * 5, 3: [20e9] * 5, 4: [20e9] * 5}
    (found,) = memory(table(rates), [link(5e9)])
    # THEN the package's memory says so, and two passes of a copy fit its ping-pong
    assert (found.kind, found.per, found.per_core_bytes_per_s.value) == ("memory", "package", 10e9)
    assert found.slowdown.values == pytest.approx([1, 20 / 18, 1.5, 2])
    assert found.capacity_bytes_per_s.value == pytest.approx(20e9)
    assert found.passes.value == 2
    assert written([found]).resources == [found]


def test_what_others_took_from_the_memory_may_be_missing_in_its_capacity():
    # GIVEN ranks that streamed while others used a fifth of the processors
    rates = {1: [10e9] * 5, 2: [18e9] * 5, 3: [20e9] * 5, 4: [20e9] * 5}
    (found,) = memory(table(rates).with_columns(others=pl.lit(0.2)), [link(5e9)])
    assert found.capacity_bytes_per_s.high == pytest.approx(25e9)


def test_counts_that_were_not_run_lie_between_those_that_were():
    (found,) = memory(table({1: [10e9] * 3, 2: [20e9] * 3, 4: [20e9] * 3}), [])
    assert found.slowdown.values == pytest.approx([1, 1, 1.5, 2])


def test_a_copy_alone_keeps_the_bandwidth_of_its_ping_pong():
    # GIVEN ping-pong in caches at 40 GB/s beside 10 GB/s from memory
    (found,) = memory(table({1: [10e9] * 3, 2: [19e9] * 3}), [link(40e9)])
    # THEN a copy asks the memory for no more than one streaming core does
    assert found.passes.value * 40e9 == pytest.approx(found.per_core_bytes_per_s.value)


def test_the_narrowest_domain_with_a_memory_is_taken_and_caches_are_not():
    both = pl.concat(
        [
            table({1: [10e9], 2: [12e9]}, "node"),
            table({1: [10e9], 2: [11e9]}, "L3+numa_node"),
            table({1: [90e9], 2: [95e9]}, "L2"),
            table({1: [70e9], 2: [75e9]}, "L3+numa_node", CACHED),
        ]
    )
    (found,) = memory(both, [])
    assert found.per == "numa"
    assert found.slowdown.values[-1] == pytest.approx(20 / 11)


def test_a_shared_cache_that_was_filled_is_a_resource():
    # GIVEN two ranks that an L2 holds up, two that nothing holds up in an L3, and memory below both
    rates = {"L2": (60e9, 70e9), "L3+package": (40e9, 80e9)}
    made = [table({1: [one] * 3, 2: [two] * 3}, domain, CACHED) for domain, (one, two) in rates.items()]
    made += [table({1: [10e9] * 3, 2: [12e9] * 3}, domain) for domain in rates]
    (found,) = caches(pl.concat(made), [link(5e9)])
    assert (found.name, found.kind, found.per, found.discipline) == ("L2", "cache", "L2", "sharing")
    assert found.capacity_bytes_per_s.value == pytest.approx(70e9)
    assert found.capacity_bytes_per_s.obtained == "measured"
    node = Node(count=1, topology="package:1 l2:2 core:2 pu:1")
    read = loads(dumps(Machine(MACHINE_SCHEMA, "test", node, [link(1e9)], [found])))
    assert read.resources == [found]
    # THEN sets that only memory holds say nothing of the cache
    slow = [table({1: [10e9] * 3, 2: [12e9] * 3}, "L2", size) for size in (CACHED, STREAMED)]
    assert caches(pl.concat(slow), []) == []
    # THEN the largest set that the cache holds counts, and a package is no cache
    small = table({1: [90e9] * 3, 2: [99e9] * 3}, "L2", 256 << 10)
    assert caches(pl.concat([small, *made]), [])[0].capacity_bytes_per_s.value == pytest.approx(70e9)
    only = [table({1: [60e9], 2: [70e9]}, "package", CACHED), table({1: [10e9], 2: [12e9]}, "package")]
    assert caches(pl.concat(only), []) == []


def test_without_company_or_without_one_alone_nothing_is_said():
    assert memory(table({}), []) == []
    assert memory(table({1: [10e9] * 3}), []) == []
    assert memory(table({2: [10e9] * 3, 4: [10e9] * 3}), []) == []
    assert memory(table({1: [0.0], 2: [0.0]}), []) == []


@given(
    st.dictionaries(st.integers(1, 8), st.lists(st.floats(1e6, 1e12), min_size=1, max_size=4), min_size=2),
    st.floats(1e6, 1e12),
)
def test_whatever_was_measured_the_machine_file_can_be_read(rates, bandwidth):
    resources = memory(table(rates), [link(bandwidth)])
    assert len(resources) == (1 in rates)
    assert caches(pl.concat([table(rates, "L2"), table(rates, "L2", CACHED)]), [link(bandwidth)]) == []
    assert written(resources).resources == resources
