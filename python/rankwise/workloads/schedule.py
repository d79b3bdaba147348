# SPDX-License-Identifier: BSD-3-Clause
"""A workload as a schedule for the replay, and so as GOAL text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rankwise import _core
from rankwise.workloads.decompose import SEND as STEP_SEND
from rankwise.workloads.decompose import steps
from rankwise.workloads.generate import Groups
from rankwise.workloads.program import CALLS, Kind, Program

SEND, RECEIVE, CALC = 1, 2, 3  # kinds of `_core.schedule.Schedule.from_arrays`
COLLECTIVE_TAG = 1 << 20  # above all tags of the workloads; each communicator has its own
PICOSECONDS = 1e12


def schedule(
    program: Program, operations_per_s: float, library: str = "mpich", computation: float = 1.0
) -> _core.schedule.Schedule:
    """What each rank does, as operations and what they wait for.

    A blocking send holds up what follows it, a posted receive only what follows its wait. Collectives are expanded into
    the messages `library` sends for them by default; combining received data takes no time.

    Args:
        program: The workload.
        operations_per_s: Floating-point operations a second of a core.
        library: `mpich` or `openmpi`.
        computation: Share of the original's operations that are done (`--compute` of the program).

    Returns:
        `_core.schedule.Schedule`; its `write_goal()` is GOAL text.
    """
    groups, events = Groups(), [program.events(rank) for rank in range(program.ranks)]
    colors = [groups.add(rank, one) for rank, one in enumerate(events)]
    sequences = []
    for rank, one in enumerate(events):
        sequence = _Sequence(picoseconds_per_operation=computation / operations_per_s * PICOSECONDS)
        members = {
            group: groups.ranks(group, color, program.ranks)
            for group, color in [(0, 0), *colors[rank].items()]
        }
        _fill(sequence, one, rank, members, library)
        sequences.append(sequence)
    return _core.schedule.Schedule.from_arrays(*_joined(sequences))


@dataclass
class _Sequence:
    """One rank's operations while they are written down; numbers count from 0 in the rank."""

    picoseconds_per_operation: float
    kind: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    tag: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    earlier: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)  # what the next operation waits for
    posted: dict[int, int] = field(default_factory=dict)  # request -> operation
    computed: float = 0.0  # operations since the last one written down

    def add(self, kind: int, value: int, peer: int = 0, tag: int = 0) -> int:
        """Write an operation that waits for all in `before`."""
        number = len(self.kind)
        self.kind.append(kind)
        self.value.append(value)
        self.peer.append(peer)
        self.tag.append(tag)
        self.later.extend([number] * len(self.before))
        self.earlier.extend(self.before)
        return number

    def end_computation(self) -> None:
        """Write the computation since the last call, if it takes a picosecond at least."""
        time = round(self.computed * self.picoseconds_per_operation)
        if time > 0:
            self.before = [self.add(CALC, time)]
        self.computed = 0.0


def _fill(
    sequence: _Sequence,
    events: dict[str, np.ndarray],
    rank: int,
    members: dict[int, tuple[int, ...]],
    library: str,
) -> None:
    columns = ("kind", "peer", "tag", "group", "request", "type_bytes", "count", "operations")
    rows = zip(*(events[name].tolist() for name in columns), strict=True)
    for kind, peer, tag, group, request, type_bytes, count, operations in rows:
        if kind == Kind.COMPUTE:
            sequence.computed += operations
            continue
        sequence.end_computation()
        if kind == Kind.SEND:
            sequence.before = [sequence.add(SEND, count * type_bytes, peer, tag)]
        elif kind == Kind.IRECV:
            sequence.posted[request] = sequence.add(RECEIVE, count * type_bytes, peer, tag)
        elif kind == Kind.WAIT:
            sequence.before.append(sequence.posted.pop(request))
        elif kind in CALLS:
            root = peer if kind in (Kind.BCAST, Kind.REDUCE) else -1
            ranks = members[group]
            arguments = (ranks.index(rank), len(ranks), root, count * type_bytes, type_bytes)
            _expand(sequence, steps(library, CALLS[Kind(kind)], *arguments), ranks, COLLECTIVE_TAG + group)
    sequence.end_computation()


def _expand(
    sequence: _Sequence, all_steps: Iterable[tuple[int, int, int, int]], members: tuple[int, ...], tag: int
) -> None:
    current = 0
    of_round: list[int] = []
    for kind, peer, round_, size_bytes in all_steps:
        if round_ != current and of_round:
            sequence.before, of_round = of_round, []
        current = round_
        operation = SEND if kind == STEP_SEND else RECEIVE
        of_round.append(sequence.add(operation, size_bytes, members[peer], tag))
    if of_round:
        sequence.before = of_round


def _joined(sequences: list[_Sequence]) -> list[np.ndarray]:
    """Arguments of `Schedule.from_arrays`; operations are numbered rank after rank."""
    sizes = np.array([len(s.kind) for s in sequences], dtype=np.uint32)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def all_of(name: str, dtype: type) -> np.ndarray:
        return np.concatenate([np.array(getattr(s, name), dtype=dtype) for s in sequences])

    def edges(name: str) -> np.ndarray:
        parts = [
            np.array(getattr(s, name), dtype=np.uint32) + f for s, f in zip(sequences, first, strict=True)
        ]
        return np.concatenate(parts).astype(np.uint32)

    later = edges("later")
    values = [
        all_of("kind", np.uint8),
        all_of("value", np.uint64),
        all_of("peer", np.uint32),
        all_of("tag", np.uint32),
    ]
    return [sizes, *values, later, edges("earlier"), np.zeros(len(later), dtype=np.uint8)]
