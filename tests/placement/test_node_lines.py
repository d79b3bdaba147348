# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are where, in words."""

from rankwise.placement.by_node import node_lines


def test_cores_that_ranks_share_are_named_as_such():
    rows = [("a", "0-3", "any of 0-1"), ("b", "4 5", "0 3"), ("c", "6", "2")]
    assert node_lines(rows, most=9, rest="") == [
        "  a: ranks 0-3 on any of cores 0-1",
        "  b: ranks 4 5 on cores 0 3",
        "  c: rank 6 on core 2",
    ]
