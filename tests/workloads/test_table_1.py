# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of Chai, Gao & Panda (2007) from generated counts, through topology, allocation and message distribution."""

import numpy as np
import pytest
from period_collectives import decomposed

from rankwise.machine import topology
from rankwise.placement.distribution import CommMatrix, message_distribution
from rankwise.placement.simple import allocate
from rankwise.workloads import generate

CHANNELS = ("package", "node", "network")


@pytest.mark.parametrize(
    ("name", "messages", "volumes"),
    [
        ("is", (13, 18, 69), (7, 13, 80)),
        ("ft", (9, 16, 75), (7, 13, 80)),
        ("cg", (45, 45, 10), (36, 37, 27)),
        ("mg", (32, 32, 36), (25, 25, 50)),
        ("bt", (1, 33, 66), (0, 33, 67)),
        ("sp", (1, 33, 66), (0, 33, 67)),
        ("lu", (1, 50, 49), (0, 50, 50)),
    ],
)
def test_shares_by_channel_are_the_published_ones(name, messages, volumes):
    # GIVEN class B on 16 ranks, blocked on 4 nodes, on the cores 0..3 of the kernel: 0 and 2 are on one chip
    counts = decomposed(generate(name, "B", 16))
    rows = np.array([(*key, count) for key, count in counts.items()], dtype=np.int64)
    source, destination, size, number = rows.T
    node = topology.from_synthetic("package:2 core:2(indexes=0,2,1,3)")
    placement, nodes = allocate(16, 4, 4, node, "blocked", core_order="os")
    # WHEN distributed over channels, all ranks together ("the total message distribution", section 5.2)
    columns = CommMatrix(source, destination, size, number, size * number)
    total = message_distribution(columns, placement.locations(nodes)).total
    # THEN every number is within 2 points of the table
    found = {share.channel: share for share in total.channels}
    by_count = [100 * found[channel].message_share_of_all for channel in CHANNELS]
    by_bytes = [100 * found[channel].byte_share_of_all for channel in CHANNELS]
    assert by_count == pytest.approx(messages, abs=2)
    assert by_bytes == pytest.approx(volumes, abs=2)
