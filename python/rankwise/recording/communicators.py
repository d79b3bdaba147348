# SPDX-License-Identifier: BSD-3-Clause
"""One communicator for what each of its members wrote down on its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankwise.recording.job import Job
from rankwise.recording.layouts import COMM, RANK_RUN


@dataclass
class Communicators:
    """The communicators of a job, numbered in order of their first appearance; 0 is MPI_COMM_WORLD.

    Attributes:
        instance: The how-many-th communicator with the same group each is.
        size: Size of each (intercommunicators: of the local group).
        members: World ranks in communicator order, `None` where no member that is left wrote them down.
        number: (host, pid) -> index in that process -> (number, this process's rank in it).
    """

    instance: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    members: list[np.ndarray | None] = field(default_factory=list)
    number: dict[tuple[str, int], dict[int, tuple[int, int]]] = field(default_factory=dict)

    def resolve(self, process: tuple[str, int], indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers, and the process's ranks in them, of a process's own indices; -1 where it wrote none down."""
        known = self.number.get(process, {})
        distinct, inverse = np.unique(indices, return_inverse=True)
        found = np.array([known.get(int(index), (-1, -1)) for index in distinct], np.int64).reshape(-1, 2)
        return found[inverse, 0], found[inverse, 1]

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """All members one list behind the other, and where each communicator's begin; unknown ones are empty."""
        lists = [np.empty(0, np.uint32) if ranks is None else ranks for ranks in self.members]
        offsets = np.cumsum([0, *(len(ranks) for ranks in lists)]).astype(np.uint64)
        return offsets, np.concatenate([*lists, np.empty(0, np.uint32)]).astype(np.uint32)


def unify(job: Job) -> Communicators:
    """Match the definitions of all processes by group and instance."""
    all_of_them = Communicators()
    numbers: dict[tuple[int, int, int, int], int] = {}
    written: dict[
        tuple[int, int], np.ndarray
    ] = {}  # an irregular group is written once, for all its communicators
    for thread in job.threads:
        mine = all_of_them.number.setdefault(thread.process, {})
        for definition, runs, _ in thread.record.communicators:
            comm = np.frombuffer(definition, COMM)[0]
            if int(comm["index"]) in mine:
                continue
            size, remote = int(comm["size"]), int(comm["remote_size"])
            key = (int(comm["group_hash"]), int(comm["instance"]), size, remote)
            number = numbers.setdefault(key, len(numbers))
            if number == len(all_of_them.size):
                all_of_them.instance.append(int(comm["instance"]))
                all_of_them.size.append(size)
                all_of_them.members.append(None)
            mine[int(comm["index"])] = (number, int(comm["rank"]))
            members = all_of_them.members[number]
            if members is None:
                members = all_of_them.members[number] = _expand(runs, size, job.world_size)
            if remote == 0 and members is not None:
                written.setdefault((key[0], size), members)
    for (group, _, size, remote), number in numbers.items():
        if remote == 0 and all_of_them.members[number] is None:
            all_of_them.members[number] = written.get((group, size))
    return all_of_them


def _expand(runs: bytes, size: int, world_size: int) -> np.ndarray | None:
    listed = np.frombuffer(runs, RANK_RUN)
    # A damaged count would ask for memory without end.
    if not len(listed) or int(listed["count"].sum(dtype=np.int64)) != size or size > world_size:
        return None
    parts = [
        int(run["first"]) + int(run["stride"]) * np.arange(int(run["count"]), dtype=np.int64)
        for run in listed
    ]
    ranks = np.concatenate(parts)
    # Members outside this MPI_COMM_WORLD (spawned processes) have no world rank here.
    return ranks.astype(np.uint32) if ranks.max() < world_size else None
