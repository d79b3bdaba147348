# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a generated recording where none is named: messages take no time."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK, NODE, PACKAGE, SELF
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine, Segment
from rankwise.machine.nodes import Node
from rankwise.recording.layouts import RANK

NAME = "an ideal network"
_MOST_RANKS = 64 * RANK["affinity"].shape[0]
_NOTHING = Estimate(0.0, "assumed", source="an ideal network: only waiting for other ranks takes time")


def machine(ranks: int) -> Machine:
    """One node with a core for each rank.

    Raises:
        RankwiseError: More ranks than a node of a recording can have.
    """
    if ranks > _MOST_RANKS:
        raise RankwiseError(
            f"a recording on one node has at most {_MOST_RANKS} ranks, not `{ranks}`",
            "name a machine that has nodes for them with `--machine`",
        )
    links = [
        LinkClass(
            channel,
            "shared-memory",
            "independent",
            overlap=True,
            segments=[Segment(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)],
        )
        for channel in (SELF, PACKAGE, NODE, NETWORK)
    ]
    node = Node(1, topology=f"package:1 core:{ranks} pu:1")
    return Machine("rankwise.machine/1", NAME, node, links)
