# SPDX-License-Identifier: BSD-3-Clause
"""The matrices of two runs pair by pair, for `compared.js` to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rankwise.placement.distribution import matrix_of
from rankwise.recording import Recording
from rankwise.report.data import ReportData
from rankwise.report.data.communication import CommMatrix, MatrixParts
from rankwise.report.hosts import host_of_ranks
from rankwise.report.html import distances, rounded
from rankwise.report.matrix import MOST_GROUPS, by_node, by_rank, coarser, members_by_node

MOST_PAIRS = 65_536


def in_same_groups(runs: Sequence[tuple[Recording, ReportData]]) -> list[ReportData]:
    """The reports, with matrices by rank where one is by node and the runs had other ranks on a node.

    Args:
        runs: Recordings and their reports.
    """
    reports = [report for _, report in runs]
    sizes = {recording.world_size for recording, _ in runs}
    if len(sizes) > 1 or not any(report.matrix.members for report in reports):
        return reports
    nodes = [members_by_node(host_of_ranks(recording)) for recording, _ in runs]
    if all(each == nodes[0] for each in nodes):
        return reports
    return [
        # Parts of a matrix are told by its pairs.
        msgspec.structs.replace(
            report,
            matrix=by_rank(matrix_of(recording.messages), recording.world_size),
            matrix_parts=MatrixParts([], report.matrix_parts.not_known),
        )
        for recording, report in runs
    ]


def matrices(
    before: ReportData, after: ReportData, most_pairs: int = MOST_PAIRS, most_groups: int = MOST_GROUPS
) -> dict[str, Any] | None:
    """Both in the same groups, and their differences, which are rounded by themselves: they may be small.

    Args:
        before: A run.
        after: The other one; of matrices by node in the same groups, as `in_same_groups` makes them.
        most_pairs: Of both runs, as they are: more are drawn in groups.
        most_groups: Then no more.

    Returns:
        `None` where runs on different numbers of ranks have no pairs in common, or there is no message.
    """
    found = [before.matrix, after.matrix]
    if before.program.world_size != after.program.world_size or not any(each.source for each in found):
        return None
    members = next((each.members for each in found if each.members), [])
    if members:
        ranks = before.program.world_size
        found = [each if each.members else by_node(each, members, ranks) for each in found]
    assert found[0].members == found[1].members  # see `in_same_groups`
    few = sum(len(each.source) for each in found) <= most_pairs
    sides = found if few else [coarser(each, most_groups) for each in found]
    groups = sides[0].groups
    cells = np.unique(np.concatenate([_cells(each) for each in sides]))
    amounts = {name: [_amounts(each, name, cells) for each in sides] for name in ("messages", "bytes")}
    return {
        "groups": groups,
        "ranks_per_group": sides[0].ranks_per_group,
        "members": sides[0].members,
        "cells": distances([0] * len(cells), cells.tolist(), groups),
        "before": {name: _three_digits(old) for name, (old, _) in amounts.items()},
        "after": {name: _three_digits(new) for name, (_, new) in amounts.items()},
        "difference": {name: _three_digits(new - old) for name, (old, new) in amounts.items()},
    }


def seats(before: ReportData, after: ReportData) -> dict[str, list[int]]:
    """The host of each rank, if it is the same in both runs."""
    same = (before.ranks.rank, before.ranks.host) == (after.ranks.rank, after.ranks.host)
    return {"rank": after.ranks.rank, "host": after.ranks.host} if same else {"rank": [], "host": []}


def _cells(matrix: CommMatrix) -> np.ndarray:
    return np.array(matrix.source, np.int64) * matrix.groups + np.array(matrix.destination, np.int64)


def _amounts(matrix: CommMatrix, name: str, cells: np.ndarray) -> np.ndarray:
    found = np.zeros(len(cells), np.int64)
    found[np.searchsorted(cells, _cells(matrix))] = getattr(matrix, name)
    return found


def _three_digits(values: np.ndarray) -> list[int]:
    return [int(each) for each in rounded(values.tolist())]
