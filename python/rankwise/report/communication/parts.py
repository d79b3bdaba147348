# SPDX-License-Identifier: BSD-3-Clause
"""The communication matrix by kind of call and by communicator, with times where a trace has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from rankwise.quantities import counted
from rankwise.recording import Recording
from rankwise.recording.completeness import ranks_text
from rankwise.report.communication.messages import TimedMessages
from rankwise.report.data import WITH_TRACE
from rankwise.report.data.communication import CommMatrix, MatrixKind, MatrixPart, MatrixParts
from rankwise.report.matrix import group_of

_MOST_COMMUNICATORS, _MOST_PAIRS = 8, 65_536
_COLUMNS = ("source", "destination", "messages", "bytes")


class _Family(NamedTuple):
    """Communicators of one size that have no member in common, as a split makes them."""

    size: int
    first: list[int]
    numbers: list[int]
    members: set[int]

    @property
    def name(self) -> str:
        if 0 in self.numbers:
            return "MPI_COMM_WORLD"
        if len(self.numbers) == 1:
            return f"a communicator of {ranks_text(self.first)}"
        return f"{len(self.numbers)} communicators of {counted(self.size, 'rank')}"


def matrix_parts(recording: Recording, matrix: CommMatrix, timed: TimedMessages | None) -> MatrixParts:
    """Point-to-point, collective, and by communicator where there are several.

    Args:
        recording: The run.
        matrix: All of its messages.
        timed: Those from point to point with their times; `None` without an exact trace.
    """
    whole = _Whole(matrix)
    found, not_known = [], []
    inside = recording.messages["collective"]
    by_kind: dict[MatrixKind, pl.DataFrame] = {
        "point-to-point": recording.messages.filter(~inside),
        "collective": recording.messages.filter(inside),
    }
    times = None if timed is None else whole.times(timed)
    for kind, rows in by_kind.items():
        times_of_it = times if kind == "point-to-point" else None
        if 0 < len(rows) < len(recording.messages) or (len(rows) and times_of_it is not None):
            found.append(whole.part(kind, kind, rows, times_of_it))
    if len(by_kind["point-to-point"]) and times is None:
        not_known.append(f"the time of messages: {WITH_TRACE}")
    elif len(by_kind["collective"]):
        not_known.append("the time of messages inside collectives, which the MPI library sends by itself")
    by_communicator, unknown = _by_communicator(recording, timed)
    if len(by_communicator) > 1:
        kept: list[MatrixPart] = []
        left_out = 0
        for family, rows in by_communicator:
            part = whole.part(family, "communicator", rows, None)
            pairs = sum(len(each.pairs) for each in kept) + len(part.pairs)
            if len(kept) < _MOST_COMMUNICATORS and pairs <= _MOST_PAIRS:
                kept.append(part)
            else:
                left_out += 1
        found += kept
        if left_out:
            not_known.append(f"{counted(left_out, 'communicator')} with fewer bytes, or of too many pairs")
    return MatrixParts(found, not_known + unknown)


class _Whole:
    """The pairs of a matrix, to find those of a part among them."""

    def __init__(self, matrix: CommMatrix):
        self._groups = matrix.groups
        ranks = sum(map(len, matrix.members))
        self._of = group_of(matrix.members, ranks) if matrix.members else np.arange(matrix.groups)
        ends = (np.array(column, np.int64) for column in (matrix.source, matrix.destination))
        self._cells: npt.NDArray[np.int64] = next(ends) * matrix.groups + next(ends)

    def places(self, source: np.ndarray, destination: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of pairs of ranks, which are in the matrix, and where these are."""
        cell = self._of[source] * self._groups + self._of[destination]
        at = np.minimum(np.searchsorted(self._cells, cell), max(len(self._cells) - 1, 0))
        there = (
            (destination >= 0) & (self._cells[at] == cell) if len(self._cells) else np.zeros(len(cell), bool)
        )
        return there, at[there]

    def part(self, name: str, kind: MatrixKind, rows: pl.DataFrame, times: np.ndarray | None) -> MatrixPart:
        """Some of the messages.

        Args:
            name: Of the part.
            kind: Of the part.
            rows: Their `_COLUMNS`.
            times: Of `times`.
        """
        source, destination, messages, sizes = (
            rows[column].fill_null(-1).to_numpy().astype(np.int64) for column in _COLUMNS
        )
        there, at = self.places(source, destination)
        pairs, of_pair = np.unique(at, return_inverse=True)
        counts, volumes = (
            np.bincount(of_pair, weights=column[there], minlength=len(pairs)).astype(np.int64).tolist()
            for column in (messages, sizes)
        )
        time_s = None if times is None else times[pairs].tolist()
        return MatrixPart(name, kind, pairs.tolist(), counts, volumes, time_s)

    def times(self, timed: TimedMessages) -> np.ndarray | None:
        """Of each pair the time of its messages; 0 where the clocks do not tell. `None` if they tell none."""
        there, at = self.places(timed.source, timed.destination)
        time_s, unsure_s = (
            np.bincount(at, weights=column[there], minlength=len(self._cells))
            for column in (np.nan_to_num(timed.time_s), timed.unsure_s)
        )
        found = np.where(time_s >= 2 * unsure_s, time_s, 0.0)
        return found if found.any() else None


def _by_communicator(
    recording: Recording, timed: TimedMessages | None
) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    """Name and messages of each family of communicators, the most bytes first; and what is not known of them."""
    if len(recording.communicators) <= 2:  # the world, and each rank alone
        return [], []
    rows, unknown = [recording.collective_messages()], []
    messages = recording.messages
    alone = int(messages.filter(~pl.col("collective"))["messages"].sum())
    if timed is not None:
        matched = pl.DataFrame(
            {
                "communicator": timed.comm,
                "source": timed.source,
                "destination": timed.destination,
                "messages": np.ones(len(timed.comm), np.int64),
                "bytes": timed.bytes,
            },
            schema_overrides={"bytes": pl.Int64},
        )
        rows.append(matched)
        alone -= len(matched)
    if alone > 0:
        why = WITH_TRACE if timed is None else "their two ends are not both in the trace"
        unknown.append(f"the communicator of {counted(alone, 'point-to-point message')}: {why}")
    direct = int(messages.filter(pl.col("algorithm") == "direct")["messages"].sum())
    if direct:
        unknown.append(
            f"the communicator of {counted(direct, 'message')} of collectives whose sizes only their callers know"
        )
    sent = pl.concat(rows)
    names = {number: family.name for family in _families(recording) for number in family.numbers}
    of = pl.DataFrame(
        {"communicator": list(names), "name": list(names.values())},
        schema={"communicator": pl.Int64, "name": pl.String},
    )
    named = (
        sent.join(of, on="communicator")
        .group_by("name", "source", "destination")
        .agg(pl.col("messages", "bytes").sum())
    )
    order = named.group_by("name").agg(pl.col("bytes").sum()).sort("bytes", "name", descending=[True, False])
    return [(name, named.filter(pl.col("name") == name)) for name in order["name"]], unknown


def _families(recording: Recording) -> list[_Family]:
    found: list[_Family] = []
    for number, members in _known_members(recording):
        family = next(
            (
                each
                for each in found
                if each.size == len(members) and each.members.isdisjoint(members) and 0 not in each.numbers
            ),
            None,
        )
        if family is None:
            found.append(_Family(len(members), members, [number], set(members)))
        else:
            family.numbers.append(number)
            family.members.update(members)
    return found


def _known_members(recording: Recording) -> Iterator[tuple[int, list[int]]]:
    for number, members in recording.communicators.select("communicator", "members").iter_rows():
        if members:
            yield number, members
