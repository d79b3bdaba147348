# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix, aggregated to what can be looked at."""

from __future__ import annotations

import numpy as np

from rankwise.placement.distribution import CommMatrix
from rankwise.report import data

MOST_GROUPS = 256


def comm_matrix(messages: CommMatrix, ranks: int, most_groups: int = MOST_GROUPS) -> data.CommMatrix:
    """Messages between groups of consecutive ranks; groups are single ranks if there are at most `most_groups`."""
    per_group = max(1, -(-ranks // most_groups))
    groups = -(-ranks // per_group)
    known = messages.destination >= 0
    cell = messages.source[known] // per_group * groups + messages.destination[known] // per_group
    counts = np.bincount(cell, weights=messages.messages[known], minlength=groups * groups)
    volumes = np.bincount(cell, weights=messages.bytes[known], minlength=groups * groups)
    used = np.flatnonzero(counts)
    return data.CommMatrix(
        groups=groups,
        ranks_per_group=per_group,
        source=(used // groups).tolist(),
        destination=(used % groups).tolist(),
        messages=counts[used].astype(np.int64).tolist(),
        bytes=volumes[used].astype(np.int64).tolist(),
    )


def coarser(matrix: data.CommMatrix, most_groups: int) -> data.CommMatrix:
    """The same matrix in fewer, larger groups."""
    if matrix.groups <= most_groups:
        return matrix
    columns = CommMatrix(
        source=np.array(matrix.source, dtype=np.int64),
        destination=np.array(matrix.destination, dtype=np.int64),
        bytes_up_to=np.zeros(len(matrix.source), dtype=np.int64),
        messages=np.array(matrix.messages, dtype=np.int64),
        bytes=np.array(matrix.bytes, dtype=np.int64),
    )
    joined = comm_matrix(columns, matrix.groups, most_groups)
    return data.CommMatrix(
        groups=joined.groups,
        ranks_per_group=joined.ranks_per_group * matrix.ranks_per_group,
        source=joined.source,
        destination=joined.destination,
        messages=joined.messages,
        bytes=joined.bytes,
    )
