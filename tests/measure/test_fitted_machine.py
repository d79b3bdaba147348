# SPDX-License-Identifier: BSD-3-Clause
"""From samples to a machine file."""

import itertools

import polars as pl
import pytest
from made_samples import Noise, Truth, samples

from rankwise.machine.channels import NETWORK
from rankwise.machine.file import dumps, loads
from rankwise.machine.nodes import Node
from rankwise.machine.topology import from_synthetic
from rankwise.measure.machine_file import find, machine
from rankwise.measure.node_text import synthetic_of
from rankwise.measure.samples import SCHEMA

FAST, SLOW = Truth(), Truth(L=3e-5, o=2e-6, o_receive=3e-6, g=2e-6, G=1 / 12.5e6, O=1e-9, limit=None)


REST = (0.0, 0.0, 0, 0, None, None, "{}")  # further values, setting, rotate_bytes, waited, others, context


def two_channels(pairs=(1, 2, 4), rate=12.5e6) -> pl.DataFrame:
    near = samples(FAST, Noise(), 1, each=9)
    far = samples(SLOW, Noise(sentinel=False, slow_share=0), 2, each=9).with_columns(
        pl.lit(NETWORK).alias("channel")
    )
    share = []
    for launch, k, size in itertools.product(range(3), pairs, (65536, 8)):
        # Together `rate` bytes/s, or 100 000 small messages/s, however many pairs there are.
        messages = rate / size if size == 65536 else 1e5
        each = (messages * size / k, messages / k, 0.2)
        share += [
            (launch, 9, "share", NETWORK, k, i, 4 + i, size, 16, 0, None, 0, 1, *each, *REST)
            for i in range(k)
        ]
    return pl.concat([near, far, pl.DataFrame(share, schema=SCHEMA, orient="row")])


def built(table, missing=(), cores_suffice=True):
    found = find(table, dict(missing))
    node = Node(count=2, topology="package:1 core:2 pu:1")
    return machine(found, "test", node, {"mpi": "none"}, "host-processed", "spin", cores_suffice)


def test_a_machine_file_is_written_and_read_back():
    made = built(two_channels(), {"node": "a node has one package"})
    again = loads(dumps(made))
    assert again == made
    assert [link.channel for link in again.link_classes] == ["package", "network"]
    assert "node: a node has one package" in again.notes


def test_every_number_says_how_it_was_obtained():
    made = built(two_channels())
    for link in made.link_classes:
        for segment in link.segments:
            for estimate in (
                segment.L_s,
                segment.o_s,
                segment.g_s,
                segment.G_s_per_byte,
                segment.o_receive_s,
            ):
                assert estimate.obtained in ("measured", "assumed")
                assert estimate.source or estimate.samples


def test_the_interface_gets_the_capacity_that_all_pairs_shared():
    made = built(two_channels())
    tx = next(r for r in made.resources if r.kind == "nic_tx")
    assert tx.capacity_bytes_per_s.value == 12.5e6
    assert tx.capacity_bytes_per_s.obtained == "measured"
    assert tx.channels == [NETWORK]
    network = made.link_class(NETWORK)
    assert network.overlap
    assert network.protocol == "host-processed"
    assert network.segments[0].L_s.value == pytest.approx(SLOW.L, rel=0.1)
    assert made.link_class("package").overlap is False


def test_message_rates_of_pairs_that_shared_cores_say_nothing_of_the_interface():
    # GIVEN a rate of small messages that does not grow with the pairs
    interface = next(r for r in built(two_channels()).resources if r.kind == "nic_tx")
    assert interface.per_message_s.value == pytest.approx(1e-5 - 8 / 12.5e6, rel=1e-3)
    # THEN it is the interface's only if each rank had a core
    interface = next(r for r in built(two_channels(), cores_suffice=False).resources if r.kind == "nic_tx")
    assert interface.per_message_s is None


def test_a_single_pair_leaves_the_capacity_assumed():
    interface = next(r for r in built(two_channels(pairs=(1,))).resources if r.kind == "nic_tx")
    assert interface.capacity_bytes_per_s.obtained == "assumed"
    assert "lower bound" in interface.capacity_bytes_per_s.source


def test_a_channel_with_too_few_samples_is_missing_and_not_made_up():
    table = two_channels().filter((pl.col("channel") != NETWORK) | (pl.col("test") == "share"))
    made = built(table)
    assert made.link_class(NETWORK) is None
    assert [r.kind for r in made.resources] == ["core"]
    assert "network: too few points" in made.notes


@pytest.mark.parametrize(
    "text",
    [
        "package:1 core:2 pu:1",
        "package:1 l3:1 core:8 pu:2",
        "package:2 l2:1 core:2 pu:1(indexes=0,2,1,3)",
        "package:2 l3:2 l2:2 core:2 pu:2",
        "package:2 numa:2 l3:1 core:4 pu:1",
    ],
)
def test_a_regular_node_has_a_synthetic_description(text):
    node = from_synthetic(text)
    assert from_synthetic(synthetic_of(node)).sha256 == node.sha256
