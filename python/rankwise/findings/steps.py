# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a run: from one collective that no rank leaves before all have come to the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.recording.traces.needs import Outside
from rankwise.recording.traces.timeline import RankEvents
from rankwise.recording.traces.waits import SYNCHRONISES, Timeline

_MOST_GROUPS = 64


@dataclass(frozen=True)
class Steps:
    """What the ranks of a group do in each step, as arrays by rank and step.

    Attributes:
        kind: By step, the kind of the call that ends it.
        useful_s: Outside MPI.
        core_s: The most of that in which the rank waited for a core; `None` where that was not sampled.
        waited_s: In the call that ends the step, for the last one.
    """

    kind: np.ndarray
    useful_s: np.ndarray
    core_s: np.ndarray | None
    waited_s: np.ndarray

    def lost_s(self) -> np.ndarray:
        """By step, what even work saves: the most useful time less the mean, and no more than the mean of waiting."""
        return _lost_s(self.useful_s, self.useful_s, self.waited_s)

    def moving_s(self, core_s: np.ndarray) -> float:
        """What even work in each step saves beyond what even work in all steps together does.

        That is imbalance which is on other ranks in other steps.

        Args:
            core_s: By rank, what it waited for a core outside MPI in the whole run, which is taken off.
        """
        lost_s = float(self.lost_s().sum())
        if core_s.any():
            # By step that is known from samples, which are longer than short steps; in all it is known well.
            by_step_s = 0.0
            if self.core_s is not None:
                least_s = np.clip(self.useful_s - self.core_s, 0, None)
                by_step_s = float(_lost_s(least_s, self.useful_s, self.waited_s).sum())
            lost_s = max(by_step_s, lost_s - float(core_s.sum()))
        of_rank_s = self.useful_s.sum(axis=1)
        return lost_s - float(of_rank_s.max() - of_rank_s.mean())


def _lost_s(least_s: np.ndarray, most_s: np.ndarray, waited_s: np.ndarray) -> np.ndarray:
    """By step, the least of the rank with most less the mean of that and the others' most."""
    top, step = least_s.argmax(axis=0), np.arange(least_s.shape[1])
    mean_s = (most_s.sum(axis=0) - most_s[top, step] + least_s[top, step]) / len(most_s)
    lost_s: np.ndarray = np.clip(least_s[top, step] - mean_s, 0, waited_s.mean(axis=0))
    return lost_s


def groups_of(timeline: Timeline) -> list[list[int]]:
    """All ranks, and the members of each communicator of some of them that has such collectives."""
    calls, world = timeline.collectives, list(range(len(timeline.ranks)))
    ends = (calls.kind >= 0) & SYNCHRONISES[calls.kind]
    found = {tuple(world)}
    for comm in np.unique(calls.comm[ends[calls.number]]).tolist():
        members = timeline.members[comm] if comm >= 0 else None
        if members is not None and len(members) > 1:
            found.add(tuple(sorted(int(member) for member in members)))
    return [list(group) for group in sorted(found, key=lambda group: (-len(group), group))[:_MOST_GROUPS]]


def steps_of(timeline: Timeline, group: Sequence[int] | None = None) -> Steps | None:
    """The steps of some ranks, between collectives that all of them are in.

    Args:
        timeline: The exact trace.
        group: World ranks, ascending; all by default. Columns of the result are theirs.

    Returns:
        `None` where there are none, or not the same on all of these ranks.
    """
    calls, chosen = timeline.collectives, range(len(timeline.ranks)) if group is None else group
    of_all = timeline.on_one_clock()
    ranks = [of_all[rank] for rank in chosen]
    ends = (calls.kind >= 0) & SYNCHRONISES[calls.kind]
    there = np.bincount(calls.number[np.isin(calls.rank, list(chosen))], minlength=len(ends))
    ends &= there == len(ranks)
    number, rows, begun_s = [], [], []
    for rank in chosen:
        mine = np.flatnonzero((calls.rank == rank) & ends[calls.number])
        mine = mine[np.argsort(calls.row[mine], kind="stable")]
        number.append(calls.number[mine])
        rows.append(calls.row[mine])
        begun_s.append(calls.begin_s[mine])
    if len(number[0]) < 2 or any(not np.array_equal(each, number[0]) for each in number):
        return None
    begin, end = (
        np.array([times[row] for times, row in zip(columns, rows, strict=True)])
        for columns in ([each.begin_s for each in ranks], [each.end_s for each in ranks])
    )
    useful = np.array(
        [
            Outside(each).between(left, came)
            for each, left, came in zip(ranks, end[:, :-1], begin[:, 1:], strict=True)
        ]
    )
    waited = np.clip(np.max(begun_s, axis=0) - begin, 0, end - begin)[:, 1:]
    core = [_core_s(each, row) for each, row in zip(ranks, rows, strict=True)]
    known = [each for each in core if each is not None]
    most_core = np.minimum(known, useful) if len(known) == len(core) else None
    return Steps(calls.kind[number[0][1:]], useful, most_core, waited)


def _core_s(events: RankEvents, rows: np.ndarray) -> np.ndarray | None:
    """By step, the waiting for a core in all samples that the step has a part in."""
    if events.core_waits is None:
        return None
    until = np.concatenate([[0.0], np.cumsum(events.core_waits.wait_s)])
    interval = events.core_waits.interval[rows]
    found: np.ndarray = until[interval[1:] + 1] - until[interval[:-1]]
    return found
