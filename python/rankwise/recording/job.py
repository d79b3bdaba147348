# SPDX-License-Identifier: BSD-3-Clause
"""Which of the recorded processes belong together: one MPI job, each world rank once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankwise.errors import RankwiseError
from rankwise.recording.raw import RawRecording, Thread


@dataclass
class Job:
    """The threads of one MPI job, in order of world rank and thread.

    Attributes:
        threads: All of them.
        left_out: Other jobs in the same files: their number (in the order in which they started, from 1), name, size of
            the world, ranks.
        problems: What had to be decided, one sentence each.
    """

    threads: list[Thread]
    left_out: list[dict[str, Any]]
    problems: list[str]

    @property
    def world_size(self) -> int:
        """Size of MPI_COMM_WORLD."""
        size: int = self.threads[0].rank["world_size"]
        return size

    @cached_property
    def first_threads(self) -> list[Thread]:
        """One thread a rank: the first that called MPI."""
        firsts: dict[int, Thread] = {}
        for thread in self.threads:
            firsts.setdefault(thread.rank["world_rank"], thread)
        return list(firsts.values())

    @cached_property
    def missing_ranks(self) -> list[int]:
        """World ranks that left nothing."""
        there = {thread.rank["world_rank"] for thread in self.threads}
        return [rank for rank in range(self.world_size) if rank not in there]


def choose_job(raw: RawRecording, wanted: str | None = None) -> Job:
    """One of several jobs in one recording (a script that starts several, spawned ones).

    Args:
        raw: What the ranks left behind.
        wanted: Its number or name; `None` for the one with most ranks.

    Raises:
        RankwiseError: There is no such job.
    """
    jobs: dict[tuple[str, int], list[Thread]] = defaultdict(list)
    for thread in raw.threads:
        jobs[thread.rank["job"], thread.rank["world_size"]].append(thread)

    def ranks(key: tuple[str, int]) -> int:
        return len({thread.rank["world_rank"] for thread in jobs[key]})

    in_order = sorted(jobs, key=lambda key: min(t.rank["first_realtime_ns"] for t in jobs[key]))
    # Of equally large ones the first: it is what the user waited for.
    chosen = max(in_order, key=ranks) if wanted is None else _named(in_order, wanted)
    left_out = [
        {"number": number, "job": key[0], "world_size": key[1], "ranks": ranks(key)}
        for number, key in enumerate(in_order, 1)
        if key != chosen
    ]
    threads, problems = _each_rank_once(jobs[chosen])
    if left_out:
        which = "the largest" if wanted is None else f"number {in_order.index(chosen) + 1}"
        others = ", ".join(f"`--job {job['number']}` of {job['ranks']} ranks" for job in left_out[:4])
        problems.append(
            f"{len(jobs)} MPI jobs were recorded here; this is {which}, of {ranks(chosen)} ranks; "
            f"others: {others}{', ...' if len(left_out) > 4 else ''}"
        )
    threads.sort(key=lambda thread: (thread.rank["world_rank"], thread.rank["thread"]))
    return Job(threads, left_out, problems)


def _named(jobs: list[tuple[str, int]], wanted: str) -> tuple[str, int]:
    """By number, else by name; of several worlds with one name (spawned ones) the first."""
    if wanted.isdecimal() and 1 <= int(wanted) <= len(jobs):
        return jobs[int(wanted) - 1]
    named = [key for key in jobs if key[0] == wanted]
    if named:
        return named[0]
    known = ", ".join(f"`{number}` ({name or 'no name'})" for number, (name, _) in enumerate(jobs, 1))
    raise RankwiseError(f"no MPI job `{wanted}` was recorded here", f"the jobs are {known}")


def _each_rank_once(threads: list[Thread]) -> tuple[list[Thread], list[str]]:
    # Two runs without a job name can meet in one directory: of each rank the later process stays.
    processes: dict[int, set[tuple[int, str, int]]] = defaultdict(set)
    for thread in threads:
        started = thread.rank["first_realtime_ns"]
        processes[thread.rank["world_rank"]].add(
            (started if thread.rank["thread"] == 0 else 0, *thread.process)
        )
    latest = {rank: max(found)[1:] for rank, found in processes.items()}
    kept = [thread for thread in threads if thread.process == latest[thread.rank["world_rank"]]]
    dropped = len({thread.process for thread in threads}) - len({thread.process for thread in kept})
    if dropped:
        return kept, [f"{dropped} processes of an earlier run with the same ranks were left out"]
    return kept, []
