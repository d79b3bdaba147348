# SPDX-License-Identifier: BSD-3-Clause
"""What a recorder would have counted of one rank's calls."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rankwise._core import trace

from rankwise.generated.calls import Calls
from rankwise.recording import layouts
from rankwise.recording.raw import CALLS
from rankwise.workloads.program import CALLS as COLLECTIVES
from rankwise.workloads.program import RECEIVES, ROOTED, SENDS, Kind


def totals(calls: Calls, ticks: np.ndarray) -> np.ndarray:
    """rw_call_total of each MPI function; `ticks` are inside each call."""
    found = np.zeros(len(CALLS), layouts.CALL_TOTAL)
    found["count"] = np.bincount(calls.call, minlength=len(CALLS))
    np.add.at(found["ticks"], calls.call, ticks.astype(np.uint64))
    np.maximum.at(found["max_ticks"], calls.call, ticks.astype(np.uint64))
    found["min_ticks"] = np.iinfo(np.uint64).max
    np.minimum.at(found["min_ticks"], calls.call, ticks.astype(np.uint64))
    found["min_ticks"][found["count"] == 0] = 0
    np.add.at(found["bytes"], calls.call, _own_bytes(calls).astype(np.uint64))
    return found


def _own_bytes(calls: Calls) -> np.ndarray:
    """Of each call: messages of which the peer is known, and what goes into collectives."""
    counted = np.isin(calls.kind, [*SENDS, *RECEIVES, *COLLECTIVES]) & (calls.flags == 0)
    return np.where(counted, calls.size_bytes, 0)


def peers(calls: Calls) -> np.ndarray:
    """rw_peer_entry: messages by peer, call, direction and size bin, those of alltoallv among them."""
    rows = []
    for kinds, direction in ((SENDS, 0), (RECEIVES, layouts.DIRECTION_RECEIVE)):
        at = np.isin(calls.kind, kinds)
        size = calls.size_bytes[at]
        rows.append(np.stack([calls.columns["peer"][at], calls.call[at] | direction, _bins(size), size], 1))
    rows += [_rows_of_blocks(calls)]
    return _summed(np.concatenate(rows))


def _rows_of_blocks(calls: Calls) -> np.ndarray:
    """Messages of alltoallv calls: neither empty ones nor those to itself are sent."""
    rows = [np.empty((0, 4), dtype=np.int64)]
    for at in np.flatnonzero(calls.kind == Kind.ALLTOALLV).tolist():
        members = calls.members[int(calls.columns["group"][at])]
        size = calls.blocks(at)
        sent = np.flatnonzero((size > 0) & (members != calls.rank))
        call = np.full(len(sent), calls.call[at])
        rows.append(np.stack([members[sent], call, _bins(size[sent]), size[sent]], 1))
    return np.concatenate(rows)


def _bins(size: np.ndarray) -> np.ndarray:
    distinct, of = np.unique(size, return_inverse=True)
    return np.array([trace.size_bin(each) for each in distinct.tolist()], dtype=np.int64)[of.reshape(-1)]


def _summed(rows: np.ndarray) -> np.ndarray:
    distinct, of, count = np.unique(rows[:, :3], axis=0, return_inverse=True, return_counts=True)
    found = np.zeros(len(distinct), layouts.PEER_ENTRY)
    for name, column in zip(("peer", "call", "bin"), distinct.T, strict=True):
        found[name] = column
    found["count"] = count
    np.add.at(found["bytes"], of.reshape(-1), rows[:, 3].astype(np.uint64))
    return found


def collectives(calls: Calls, ticks: np.ndarray) -> np.ndarray:
    """rw_collective_entry of calls with equal arguments."""
    at = np.flatnonzero(np.isin(calls.kind, list(COLLECTIVES)))
    root = np.where(np.isin(calls.kind[at], ROOTED), calls.columns["peer"][at], -1)
    columns = (
        calls.call[at],
        calls.flags[at],
        calls.communicator[at],
        root,
        calls.columns["type_bytes"][at],
        calls.size_bytes[at],
    )
    distinct, of, count = np.unique(np.stack(columns, 1), axis=0, return_inverse=True, return_counts=True)
    found = np.zeros(len(distinct), layouts.COLLECTIVE_ENTRY)
    for name, column in zip(
        ("call", "flags", "comm", "root", "datatype_bytes", "bytes"), distinct.T, strict=True
    ):
        found[name] = column
    found["count"] = count
    np.add.at(found["ticks"], of.reshape(-1), ticks[at].astype(np.uint64))
    return found


def histograms(calls: Calls, ticks: np.ndarray) -> np.ndarray:
    """rw_call_histogram of the functions that were called."""
    called = np.unique(calls.call)
    found = np.zeros(len(called), layouts.CALL_HISTOGRAM)
    found["call"] = called
    # The exponent of a double is exact below 2^53.
    bins = np.clip(np.frexp(np.maximum(ticks, 1).astype(np.float64))[1] - 1, 0, layouts.TICK_BINS - 1)
    np.add.at(found["bins"], (np.searchsorted(called, calls.call), bins), 1)
    return found


def communicators(calls: Calls) -> bytes:
    """A log of rw_comm: the world, the rank itself, then what splits made."""
    world, *split = [calls.members[group] for group in sorted(calls.members)]
    log = b""
    seen: dict[bytes, int] = {}
    for index, members in enumerate([world, np.array([calls.rank]), *split]):
        key = members.tobytes()
        seen[key] = seen.get(key, -1) + 1
        log += _definition(index, members, int(np.flatnonzero(members == calls.rank)[0]), seen[key])
    return log


def _definition(index: int, members: np.ndarray, own: int, instance: int) -> bytes:
    """With its members as runs of equal stride."""
    runs: list[tuple[int, int, int]] = []
    ranks = members.tolist()
    while ranks:
        stride = ranks[1] - ranks[0] if len(ranks) > 1 else 1
        count = 1
        while count < len(ranks) and ranks[count] == ranks[0] + count * stride:
            count += 1
        runs.append((ranks[0], stride, count))
        del ranks[:count]
    head = np.zeros((), layouts.COMM)
    values = {"index": index, "size": len(members), "rank": own, "runs": len(runs), "instance": instance}
    for name, value in values.items():
        head[name] = value
    head["group_hash"] = _fnv1a(members.astype("<u4").tobytes())
    return head.tobytes() + np.array(runs, layouts.RANK_RUN).tobytes()


@lru_cache(maxsize=64)
def _fnv1a(content: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
