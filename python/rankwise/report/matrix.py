# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix, aggregated to what can be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.report.data import communication as data

if TYPE_CHECKING:
    from rankwise.placement.distribution import CommMatrix

MOST_GROUPS = 256


def comm_matrix(messages: CommMatrix, ranks: int, most_groups: int = MOST_GROUPS) -> data.CommMatrix:
    """Messages between groups of consecutive ranks, `most_groups` at most."""
    return _grouped(messages, ranks, ranks_per_group(ranks, most_groups))


def ranks_per_group(ranks: int, most_groups: int = MOST_GROUPS) -> int:
    """How many consecutive ranks make a group, so that there are no more groups."""
    return max(1, -(-ranks // most_groups))


def detailed(messages: CommMatrix, ranks: int) -> data.CommMatrix:
    """Messages between single ranks, if no more pairs have some than a matrix of `MOST_GROUPS` can have."""
    import numpy as np

    pairs = np.unique(messages.source * ranks + messages.destination)
    few = len(pairs) <= MOST_GROUPS**2
    return _grouped(messages, ranks, 1) if few else comm_matrix(messages, ranks)


def _grouped(messages: CommMatrix, ranks: int, per_group: int) -> data.CommMatrix:
    import numpy as np

    groups = -(-ranks // per_group)
    known = messages.destination >= 0
    cell = messages.source[known] // per_group * groups + messages.destination[known] // per_group
    used, of_cell = np.unique(cell, return_inverse=True)
    counts = np.bincount(of_cell, weights=messages.messages[known], minlength=len(used))
    volumes = np.bincount(of_cell, weights=messages.bytes[known], minlength=len(used))
    some = counts > 0
    return data.CommMatrix(
        groups=groups,
        ranks_per_group=per_group,
        source=(used[some] // groups).tolist(),
        destination=(used[some] % groups).tolist(),
        messages=counts[some].astype(np.int64).tolist(),
        bytes=volumes[some].astype(np.int64).tolist(),
    )


def coarser(matrix: data.CommMatrix, most_groups: int) -> data.CommMatrix:
    """The same matrix in fewer, larger groups."""
    if matrix.groups <= most_groups:
        return matrix
    per_group = ranks_per_group(matrix.groups, most_groups)
    groups = -(-matrix.groups // per_group)
    sums: dict[tuple[int, int], tuple[int, int]] = {}
    columns = zip(matrix.source, matrix.destination, matrix.messages, matrix.bytes, strict=True)
    for source, destination, messages, size in columns:
        pair = source // per_group, destination // per_group
        before = sums.get(pair, (0, 0))
        sums[pair] = before[0] + messages, before[1] + size
    pairs = sorted(sums)
    return data.CommMatrix(
        groups=groups,
        ranks_per_group=per_group * matrix.ranks_per_group,
        source=[source for source, _ in pairs],
        destination=[destination for _, destination in pairs],
        messages=[sums[pair][0] for pair in pairs],
        bytes=[sums[pair][1] for pair in pairs],
    )
