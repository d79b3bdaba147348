# SPDX-License-Identifier: BSD-3-Clause
"""A workload's events as the MPI calls that a recorder would have seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.recording.layouts import COLL_RECEIVE_SIDE
from rankwise.recording.raw import CALL_NAMES
from rankwise.workloads.program import CALLS as COLLECTIVES
from rankwise.workloads.program import ROOTED, Kind

PICOSECONDS = 1e12
_NUMBER = {name: number for number, name in enumerate(CALL_NAMES.tolist())}
_CALL = {
    Kind.SEND: "MPI_Send",
    Kind.ISEND: "MPI_Isend",
    Kind.SSEND: "MPI_Ssend",
    Kind.ISSEND: "MPI_Issend",
    Kind.RECV: "MPI_Recv",
    Kind.IRECV: "MPI_Irecv",
    Kind.IRECV_ANY: "MPI_Irecv",
    Kind.WAIT: "MPI_Wait",
    Kind.SPLIT: "MPI_Comm_split",
    Kind.DUP: "MPI_Comm_dup",
} | COLLECTIVES
WAITALL, FINALIZE = _NUMBER["MPI_Waitall"], _NUMBER["MPI_Finalize"]
_ANY_SOURCE = -2
NONBLOCKING = (Kind.ISEND, Kind.ISSEND, Kind.IRECV, Kind.IRECV_ANY)
_NO_CALL = -1


@dataclass(frozen=True)
class Calls:
    """One rank's calls in program order, MPI_Finalize the last.

    Attributes:
        call: Number of each in the call table.
        kind: `Kind` of each; that of MPI_Finalize is `TIMER`.
        columns: The workload's columns at each call, of an MPI_Waitall those of its first wait, as int64.
        size_bytes: Of the message sent or received, or the block of a collective.
        gap_ps: Computation before each call, in picoseconds.
        waits: Of each completed request the call that completes it, and the call that made it.
        counts: Blocks of the alltoallv calls, as of `Program.events`.
        rank: World rank.
        members: World ranks of the world, 0, and of each group that a split or a copy made, by its number.
    """

    rank: int
    members: dict[int, np.ndarray]
    call: np.ndarray
    kind: np.ndarray
    columns: dict[str, np.ndarray]
    size_bytes: np.ndarray
    gap_ps: np.ndarray
    waits: tuple[np.ndarray, np.ndarray]
    counts: np.ndarray

    @classmethod
    def of(
        cls,
        rank: int,
        events: dict[str, np.ndarray],
        members: dict[int, np.ndarray],
        seconds_per_operation: float,
    ) -> Calls:
        """Of one rank's `Program.events`."""
        kind = events["kind"].astype(np.int64)
        numbers = np.full(max(Kind) + 1, _NO_CALL)
        for each, name in _CALL.items():
            numbers[each] = _NUMBER[name]
        number, left = numbers[kind], events["count"]
        is_wait = kind == Kind.WAIT
        # An MPI_Waitall counts its waits down.
        goes_on = np.zeros(len(kind), dtype=bool)
        goes_on[1:] = is_wait[1:] & is_wait[:-1] & (left[1:] > 0) & (left[:-1] == left[1:] + 1)
        number = np.where(is_wait & (left > 0), WAITALL, number)
        starts = (number != _NO_CALL) & ~goes_on
        at = np.flatnonzero(starts)
        call_of = np.cumsum(starts) - 1
        gap_s = np.bincount(
            np.cumsum(starts), events["operations"] * seconds_per_operation, minlength=len(at) + 1
        )
        names = ("peer", "tag", "group", "request", "type_bytes", "count", "m", "n")
        columns = {name: np.append(events[name][at].astype(np.int64), 0) for name in names}
        posts = np.isin(kind, NONBLOCKING)
        made_by = call_of[posts][events["request"][is_wait]]
        return cls(
            rank=rank,
            members=members,
            call=np.append(number[at], FINALIZE),
            kind=np.append(kind[at], int(Kind.TIMER)),
            columns=columns,
            size_bytes=columns["count"] * columns["type_bytes"],
            gap_ps=np.rint(gap_s * PICOSECONDS).astype(np.int64),
            waits=(call_of[is_wait], made_by),
            counts=events["counts"],
        )

    @property
    def communicator(self) -> np.ndarray:
        """Index of each call's communicator, or of the one that it makes another of; 1 is the rank by itself."""
        makes = np.isin(self.kind, (Kind.SPLIT, Kind.DUP))
        group = np.where(makes, self.columns["m"], self.columns["group"])
        return np.where(group > 0, group + 1, 0)

    @property
    def flags(self) -> np.ndarray:
        """rw_collective_flag of each call: who is not the root of a broadcast contributes nothing."""
        own = np.zeros(max(self.members) + 1, dtype=np.int64)
        for group, members in self.members.items():
            own[group] = np.flatnonzero(members == self.rank)[0]
        receives = (self.kind == Kind.BCAST) & (self.columns["peer"] != own[self.columns["group"]])
        return np.where(receives, COLL_RECEIVE_SIDE, 0)

    def blocks(self, at: int) -> np.ndarray:
        """Bytes that an alltoallv sends to each rank of its group."""
        first, members, each = (int(self.columns[name][at]) for name in ("n", "m", "type_bytes"))
        found: np.ndarray = self.counts[first : first + members] * each
        return found

    def shapes(self) -> tuple[list[bytes], np.ndarray]:
        """Kind and payload of each call (formats/recording.h): the distinct ones, and which one each call has."""
        table = _Shapes(len(self.call))
        columns = self.columns
        is_wait = self.kind == Kind.WAIT
        comm = self.communicator
        rows = np.stack(
            (
                self.kind,
                self.call,
                columns["peer"],
                columns["tag"],
                comm,
                self.flags,
                columns["type_bytes"],
                self.size_bytes,
            ),
            axis=1,
        )
        simple = np.flatnonzero(~is_wait & (self.kind != Kind.ALLTOALLV))
        distinct, of = np.unique(rows[simple], axis=0, return_inverse=True)
        table.add(simple, [_payload(*row) for row in distinct.tolist()], of.reshape(-1))
        for at in np.flatnonzero(self.kind == Kind.ALLTOALLV).tolist():
            sizes = self.blocks(at).tolist()
            own = (int(self.call[at]), int(comm[at]), _z(-1), 0, int(columns["type_bytes"][at]))
            table.add([at], [_join(*own, sum(sizes), 0, len(sizes), *sizes)], [0])
        self._add_waits(table)
        return table.shapes, table.of

    def _add_waits(self, table: _Shapes) -> None:
        ended_by, made_by = self.waits
        made = np.cumsum(np.isin(self.kind, NONBLOCKING))
        receives = np.isin(self.kind[made_by], (Kind.IRECV, Kind.IRECV_ANY)).astype(np.int64)
        back = made[ended_by] - (made[made_by] - 1)
        peer, tag = self.columns["peer"][made_by], self.columns["tag"][made_by]
        rows = np.stack(
            [back, receives, peer * receives, tag * receives, self.size_bytes[made_by] * receives], 1
        )
        calls, first, count = np.unique(ended_by, return_index=True, return_counts=True)
        known: dict[bytes, int] = {}
        shapes: list[bytes] = []
        of: list[int] = []
        for call, begin, requests in zip(calls.tolist(), first.tolist(), count.tolist(), strict=True):
            own = rows[begin : begin + requests]
            key = self.call[call].tobytes() + own.tobytes()
            if key not in known:
                known[key] = len(shapes)
                shapes.append(_join(int(self.call[call]), requests, *_completions(own.tolist())))
            of.append(known[key])
        table.add(calls, shapes, of)


class _Shapes:
    """Distinct shapes, and for each call which of them it has."""

    def __init__(self, calls: int):
        self.shapes: list[bytes] = []
        self.of = np.zeros(calls, dtype=np.uint32)

    def add(self, calls: np.ndarray | list[int], shapes: list[bytes], of: np.ndarray | list[int]) -> None:
        self.of[calls] = np.asarray(of, dtype=np.uint32) + len(self.shapes)
        self.shapes += shapes


def _payload(
    kind: int, call: int, peer: int, tag: int, comm: int, flags: int, type_bytes: int, size: int
) -> bytes:
    """Of a call that is no wait and no alltoallv."""
    match kind:
        case Kind.SEND | Kind.ISEND | Kind.SSEND | Kind.ISSEND:
            return _join(call, comm, _z(peer), _z(tag), size)
        case Kind.RECV:
            return _join(call, comm, _z(peer), _z(tag), _z(peer), _z(tag), size)
        case Kind.IRECV | Kind.IRECV_ANY:
            return _join(call, comm, _z(peer if kind == Kind.IRECV else _ANY_SOURCE), _z(tag), size)
        case Kind.SPLIT | Kind.DUP:
            return _join(call, 1 + comm, 0)
        case Kind.TIMER:
            return _join(call)
    root = peer if kind in ROOTED else -1
    return _join(call, comm, _z(root), flags, type_bytes, size, 0, 0)


def _completions(rows: list[list[int]]) -> Iterator[int]:
    for back, is_receive, peer, tag, size in rows:
        yield from (back, 1, _z(peer), _z(tag), size) if is_receive else (back, 0)


def _z(value: int) -> int:
    """The number that a zigzag varint packs."""
    return value << 1 ^ value >> 63


def _join(*numbers: int) -> bytes:
    """Varints one after the other."""
    packed = bytearray()
    for number in numbers:
        left = int(number)
        while left >= 0x80:
            packed.append(left & 0x7F | 0x80)
            left >>= 7
        packed.append(left)
    return bytes(packed)
