# SPDX-License-Identifier: BSD-3-Clause
"""The messages of a workload, counted without running it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from rankwise.workloads.program import CALLS, ROOTED, Collective, Kind, program
from rankwise.workloads.size import MOST_MESSAGES, MOST_PAIRS, check_size


@dataclass(frozen=True)
class Communication:
    """What a program sends: point-to-point messages as counts, collectives as calls.

    Rows of the four arrays are distinct in source, destination and bytes, and sorted by them. Messages of a rank to
    itself are among them.

    Attributes:
        ranks: Number of ranks.
        source: Sending world rank.
        destination: Receiving world rank.
        bytes: Size of each of the row's messages.
        messages: How many of them.
        collectives: Collective calls; `MPI_Comm_split` and `MPI_Comm_dup` are not among them.
    """

    ranks: int
    source: np.ndarray
    destination: np.ndarray
    bytes: np.ndarray
    messages: np.ndarray
    collectives: tuple[Collective, ...]


@dataclass
class Groups:
    """Communicators made by splits and copies, while their members are being met one after the other."""

    members: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rank: int, events: dict[str, np.ndarray]) -> dict[int, int]:
        """Enter a rank; returns the color it has in each split, 0 in each copy."""
        splits = np.flatnonzero(np.isin(events["kind"], (Kind.SPLIT, Kind.DUP)))
        colors = {}
        for group, color, key in zip(
            *(events[c][splits].tolist() for c in ("group", "peer", "tag")), strict=True
        ):
            self.members[group, color].append((key, rank))
            colors[group] = color
        return colors

    def ranks(self, group: int, color: int, world: int) -> tuple[int, ...]:
        """World ranks in rank order: by key, then by world rank."""
        return (
            tuple(range(world))
            if group == 0
            else tuple(rank for _, rank in sorted(self.members[group, color]))
        )


@dataclass
class Blocks:
    """What is sent in calls whose blocks differ, while their ranks are being met one after the other."""

    sent: dict[tuple[int, int], dict[int, list[tuple[int, bytes]]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, rank: int, events: dict[str, np.ndarray], colors: dict[int, int]) -> None:
        """Enter a rank's calls; `colors` as of `Groups.add`."""
        own: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
        for at in np.flatnonzero(events["kind"] == Kind.ALLTOALLV).tolist():
            group, first, members, each = (int(events[c][at]) for c in ("group", "n", "m", "type_bytes"))
            blocks = events["counts"][first : first + members] * each
            own[group, colors.get(group, 0)].append((each, blocks.tobytes()))
        for key, calls in own.items():
            self.sent[key][rank] = calls

    def joined(self, groups: Groups, world: int) -> Iterator[Collective]:
        """The calls of each communicator; those whose blocks are all equal are one row."""
        for (group, color), of_ranks in sorted(self.sent.items()):
            members = groups.ranks(group, color, world)
            calls = (of_ranks[member] for member in members)
            for call, times in Counter(zip(*calls, strict=True)).items():
                sizes = np.stack([np.frombuffer(blocks, dtype=np.int64) for _, blocks in call])
                each = call[0][0]
                yield Collective(CALLS[Kind.ALLTOALLV], members, -1, int(sizes.sum()), each, times, sizes)


def generate(
    name: str,
    problem_class: str,
    ranks: int,
    iterations: int | None = None,
    options: Mapping[str, int | str] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Communication:
    """Count the messages of a workload, executing each rank's code in turn without data.

    Args:
        name: The workload.
        problem_class: Such as `B`; empty of workloads without classes.
        ranks: Number of ranks.
        iterations: Of the timed section; as the problem has if not given.
        options: Values by name; as usual if not given.
        progress: Called with the number of ranks that are counted.

    Raises:
        RankwiseError: The workload does not have that class or option, cannot run on that many ranks, or sends more
            than can be counted (`check_size`).
    """
    chosen = program(name, problem_class, ranks, iterations, options)
    check_size(chosen, MOST_MESSAGES, MOST_PAIRS)
    source, rows = [], []
    groups, blocks = Groups(), Blocks()
    calls: dict[tuple[int, ...], int] = defaultdict(int)
    for rank in range(ranks):
        sent, events = chosen.counts(rank)
        source.append(np.full(len(sent["bytes"]), rank))
        rows.append(np.column_stack([sent["destination"], sent["bytes"], sent["messages"]]))
        colors = groups.add(rank, events)
        for key, count in _collectives(events).items():
            calls[(key[0], colors.get(key[0], 0), *key[1:])] += count
        blocks.add(rank, events, colors)
        progress(rank + 1)
    table = np.concatenate(rows)
    collectives = (*_joined(calls, groups, ranks), *blocks.joined(groups, ranks))
    return Communication(ranks, np.concatenate(source), table[:, 0], table[:, 1], table[:, 2], collectives)


def _collectives(events: dict[str, np.ndarray]) -> dict[tuple[int, ...], int]:
    """One rank's calls: (group, kind, root, bytes, datatype_bytes) -> count."""
    chosen = np.isin(events["kind"], [kind for kind in CALLS if kind != Kind.ALLTOALLV])
    kind = events["kind"][chosen].astype(np.int64)
    root = np.where(np.isin(kind, ROOTED), events["peer"][chosen], -1)
    size = events["count"][chosen] * events["type_bytes"][chosen]
    columns = np.stack([events["group"][chosen], kind, root, size, events["type_bytes"][chosen]], axis=1)
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    return {tuple(row): count for row, count in zip(distinct.tolist(), counts.tolist(), strict=True)}


def _joined(calls: dict[tuple[int, ...], int], groups: Groups, world: int) -> tuple[Collective, ...]:
    joined = []
    for (group, color, kind, root, size, type_bytes), total in sorted(calls.items()):
        members = groups.ranks(group, color, world)
        each, rest = divmod(total, len(members))
        if rest:
            raise AssertionError(f"{CALLS[Kind(kind)]} is not called by all ranks of a communicator alike")
        joined.append(Collective(CALLS[Kind(kind)], members, root, size, type_bytes, each))
    return tuple(joined)
