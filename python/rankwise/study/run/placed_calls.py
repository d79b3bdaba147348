# SPDX-License-Identifier: BSD-3-Clause
"""Which of two orders of ranks `place` chooses for a call on a full node."""

from __future__ import annotations

import polars as pl

from rankwise import _core
from rankwise.machine.topology import Topology
from rankwise.placement.place import make_search
from rankwise.study.calls import ELEMENT_BYTES
from rankwise.study.full_nodes import LIBRARY, Call, FullNodes


def order_that_is_placed(nodes: FullNodes, call: Call, present: str = "cores") -> str:
    """The order that the search of `rankwise place` ends with, of those it is given.

    Args:
        nodes: The machine.
        call: On one node.
        present: The order in which it runs: stays unless another is predicted to be faster.

    Returns:
        `present`, or `rank`, which is the search's own first placement (`blocked`).
    """
    predictor = nodes.predictor(call)
    topology = Topology((nodes.node,))
    search = make_search(predictor, _messages(call), topology)
    current = nodes.placement(present, 1, call.ranks)
    # Without what a search finds beside them: only of these orders it is known which is faster.
    chosen = search.run(predictor.predict, current, budget_s=0.0, judged=0)[-1].placement
    return present if (chosen.cores == current.cores).all() else "rank"


def _messages(call: Call) -> pl.DataFrame:
    """What the ranks send, as the table of a recording has it."""
    rows = [(rank, peer, 1, bytes) for rank in range(call.ranks) for peer, bytes in _sent(call, rank)]
    columns = dict.fromkeys(("source", "destination", "messages", "bytes"), pl.Int64)
    return pl.DataFrame(rows, schema=columns, orient="row")


def _sent(call: Call, rank: int) -> list[tuple[int, int]]:
    """Peers and bytes."""
    if call.benchmark == "sendrecv":
        return [((rank + 1) % call.ranks, call.bytes)]
    element = ELEMENT_BYTES if call.bytes % ELEMENT_BYTES == 0 else 1
    total = call.bytes * call.ranks if call.benchmark == "allgatherv" else 0
    name = _core.collectives.select(
        LIBRARY,
        call.benchmark,
        size=call.ranks,
        bytes=call.bytes,
        element_bytes=element,
        total_bytes=total,
    )
    steps = _core.collectives.steps(
        call.benchmark,
        name,
        rank=rank,
        size=call.ranks,
        bytes=call.bytes,
        element_bytes=element,
        total_bytes=total,
    )
    return [(peer, bytes) for kind, peer, _, bytes, _ in steps if kind == 0]
