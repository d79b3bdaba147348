# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that an OTF2 archive states for collectives: what Score-P states, as if all ranks exchanged directly."""

from __future__ import annotations

import numpy as np

from rankwise.recording.raw import CALL_COLLECTIVES
from rankwise.recording.traces.waits import Timeline

_OF_PAIRS = ("alltoallv", "alltoallw")


def sizes(name: str, n: int, me: int, root: int, own: int, total: int, from_others: int) -> tuple[int, int]:
    """Bytes sent and received by one member.

    Args:
        name: Of the collective, one that OTF2 has.
        n: Members.
        me: Which one it is.
        root: Which one is the root.
        own: As `bytes` of a recorded call (formats/recording.h): the buffer, a block, or this member's own blocks.
        total: What all members' blocks come to, of collectives with different ones.
        from_others: What the member gets in an alltoallv.
    """
    at_root = me == root
    if name == "barrier":
        return 0, 0
    if name in ("bcast", "scatter"):
        return n * own if at_root else 0, own
    if name in ("reduce", "gather"):
        return own, n * own if at_root else 0
    if name == "scatterv":
        return total if at_root else 0, own
    if name == "gatherv":
        return own, total if at_root else 0
    if name == "allgatherv":
        return n * own, total
    if name == "reduce_scatter":
        return total, n * own
    if name in _OF_PAIRS:
        return own, from_others
    if name == "scan":
        return (n - me) * own, (me + 1) * own
    if name == "exscan":
        return (n - me - 1) * own, me * own
    return n * own, n * own


def from_others(timeline: Timeline) -> dict[tuple[int, int], int]:
    """By rank and row of the call, what it gets in an alltoallv: only what all others send it says that."""
    calls = timeline.collectives
    of_pairs = np.isin(np.append(CALL_COLLECTIVES, ""), _OF_PAIRS)[calls.kind][calls.number]
    sums: dict[int, np.ndarray] = {}
    chosen = np.flatnonzero(of_pairs).tolist()
    for at in chosen:
        columns, given = timeline.ranks[calls.rank[at]].columns, calls.given[at]
        first, last = columns["size_offsets"][given : given + 2].tolist()
        number, blocks = int(calls.number[at]), columns["sizes"][first:last].astype(np.int64)
        sums[number] = blocks if number not in sums else sums[number] + blocks
    found = {}
    for at in chosen:
        members, got = timeline.members[calls.comm[at]], sums[int(calls.number[at])]
        if members is not None and len(members) == len(got):
            me = int(np.flatnonzero(members == calls.rank[at])[0])
            found[int(calls.rank[at]), int(calls.given[at])] = int(got[me])
    return found
