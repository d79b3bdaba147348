# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix, aggregated to what can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rankwise.report.data import communication as data

if TYPE_CHECKING:
    import numpy as np

    from rankwise.placement.distribution import CommMatrix

MOST_GROUPS, MOST_PAIRS = 256, 400_000


def ranks_per_group(ranks: int, most_groups: int = MOST_GROUPS) -> int:
    """How many consecutive ranks make a group, so that there are no more groups."""
    return max(1, -(-ranks // most_groups))


def members_by_node(hosts: Sequence[int], most_groups: int = MOST_GROUPS) -> list[list[int]]:
    """Ranks of groups that end where nodes end: parts of nodes, nodes, or several nodes if there are more of these.

    Args:
        hosts: The host of each rank.
        most_groups: No more, or one a node and part of it.
    """
    of: dict[int, list[int]] = {}
    for rank, host in enumerate(hosts):
        of.setdefault(host, []).append(rank)
    nodes = list(of.values())
    if len(nodes) > most_groups:
        together = -(-len(nodes) // most_groups)
        return [sorted(sum(nodes[at : at + together], [])) for at in range(0, len(nodes), together)]
    parts = most_groups // max(len(nodes), 1)
    return [
        ranks[at : at + size]
        for ranks in nodes
        for size in [-(-len(ranks) // parts)]
        for at in range(0, len(ranks), size)
    ]


def group_of(members: Sequence[Sequence[int]], ranks: int) -> np.ndarray:
    """By rank, its group."""
    import numpy as np

    found = np.zeros(ranks, np.int64)
    for at, some in enumerate(members):
        found[list(some)] = at
    return found


def detailed(messages: CommMatrix, hosts: Sequence[int]) -> data.CommMatrix:
    """Messages between single ranks; between nodes, or parts of them, if more than `MOST_PAIRS` have some.

    Args:
        messages: Of the run.
        hosts: The host of each rank.
    """
    import numpy as np

    ranks = len(hosts)
    pairs = np.unique(messages.source * ranks + messages.destination)
    members = [] if len(pairs) <= MOST_PAIRS else members_by_node(hosts)
    if members:
        return _counted(messages, group_of(members, ranks), len(members), max(map(len, members)), members)
    return _counted(messages, np.arange(ranks), ranks, 1, [])


def by_rank(messages: CommMatrix, ranks: int) -> data.CommMatrix:
    """Messages between groups of consecutive ranks, wherever these were."""
    import numpy as np

    together = ranks_per_group(ranks)
    return _counted(messages, np.arange(ranks) // together, -(-ranks // together), together, [])


def _counted(
    messages: CommMatrix, of: np.ndarray, groups: int, unit: int, members: list[list[int]]
) -> data.CommMatrix:
    import numpy as np

    known = messages.destination >= 0
    cell = of[messages.source[known]] * groups + of[messages.destination[known]]
    used, of_cell = np.unique(cell, return_inverse=True)
    counts = np.bincount(of_cell, weights=messages.messages[known], minlength=len(used))
    volumes = np.bincount(of_cell, weights=messages.bytes[known], minlength=len(used))
    some = counts > 0
    return data.CommMatrix(
        groups=groups,
        ranks_per_group=unit,
        source=(used[some] // groups).tolist(),
        destination=(used[some] % groups).tolist(),
        messages=counts[some].astype(np.int64).tolist(),
        bytes=volumes[some].astype(np.int64).tolist(),
        members=members,
    )


def by_node(matrix: data.CommMatrix, members: list[list[int]], ranks: int) -> data.CommMatrix:
    """A matrix of single ranks in groups of these members."""
    return _summed(matrix, group_of(members, ranks).tolist(), len(members), members)


def coarser(matrix: data.CommMatrix, most_groups: int) -> data.CommMatrix:
    """The same matrix in fewer, larger groups, of neighbours."""
    if matrix.groups <= most_groups:
        return matrix
    together = ranks_per_group(matrix.groups, most_groups)
    groups = -(-matrix.groups // together)
    members = [sum(matrix.members[at : at + together], []) for at in range(0, matrix.groups, together)]
    larger = _summed(
        matrix, [at // together for at in range(matrix.groups)], groups, members if matrix.members else []
    )
    return msgspec.structs.replace(larger, ranks_per_group=together * matrix.ranks_per_group)


def _summed(
    matrix: data.CommMatrix, of: Sequence[int], groups: int, members: list[list[int]]
) -> data.CommMatrix:
    import numpy as np

    ends = np.array(of, np.int64)
    cells = ends[np.array(matrix.source, np.int64)] * groups + ends[np.array(matrix.destination, np.int64)]
    used, of_cell = np.unique(cells, return_inverse=True)
    messages, sizes = (np.zeros(len(used), np.int64) for _ in range(2))
    np.add.at(messages, of_cell, np.array(matrix.messages, np.int64))
    np.add.at(sizes, of_cell, np.array(matrix.bytes, np.int64))
    return data.CommMatrix(
        groups=groups,
        ranks_per_group=max(map(len, members), default=1),
        source=(used // groups).tolist(),
        destination=(used % groups).tolist(),
        messages=messages.tolist(),
        bytes=sizes.tolist(),
        members=members,
    )
