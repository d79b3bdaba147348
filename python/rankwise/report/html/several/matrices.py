# SPDX-License-Identifier: BSD-3-Clause
"""The matrices of two runs pair by pair, for `compared.js` to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.report.data import ReportData
from rankwise.report.data.communication import CommMatrix
from rankwise.report.html import distances, rounded
from rankwise.report.matrix import MOST_GROUPS, by_node, coarser

# Of both runs, of single ranks: more are drawn in groups.
_MOST_PAIRS = 65_536


def matrices(before: ReportData, after: ReportData) -> dict[str, Any] | None:
    """Both in the same groups, and their differences, which are rounded by themselves: they may be small.

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
    if found[0].members != found[1].members:
        return None  # they ran on other nodes
    few = sum(len(each.source) for each in found) <= _MOST_PAIRS
    sides = found if few else [coarser(each, MOST_GROUPS) for each in found]
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
